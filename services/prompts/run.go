package prompts

import (
	"context"
	"sync"
	"time"

	"modelgateway/models"
	"modelgateway/services/encryption"
)

const (
	writeEvery = 250 * time.Millisecond // the longest time that a content waits for others
	writeRetry = time.Second            // before the one further try
	lastWrite  = 5 * time.Second        // for all that waits when the gateway stops
	warnEvery  = time.Minute
)

// Run writes contents until ctx ends, and then those that wait, for lastWrite at most. It
// also erases those that have been kept for long enough, where nothing is kept any more too.
func (l *Log) Run(ctx context.Context) {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWrite, cancel) })()
	var erasing sync.WaitGroup
	erasing.Go(func() {
		encryption.EraseInTime(ctx, l.opts.Log, "requests and answers of calls", func(ctx context.Context, most int) (int64, error) {
			return l.opts.Store.DeleteContentsBefore(ctx, l.opts.Now().Add(-l.opts.For), most)
		})
	})
	defer erasing.Wait()
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	if !l.On() {
		tick.Stop() // nothing will wait
	}
	var warned time.Time
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			l.writeAll(ctx, working)
		case <-ctx.Done():
		}
		if lost := l.lost.Load(); lost > 0 && l.opts.Now().Sub(warned) >= warnEvery && l.warn(lost) {
			warned = l.opts.Now()
		}
	}
	l.writeAll(ctx, working)
	l.lost.Add(int64(len(l.queue)))
	l.warn(l.lost.Load())
}

// warn logs how many contents were lost since the last line.
func (l *Log) warn(lost int64) bool {
	more := lost - l.told
	if more <= 0 {
		return false
	}
	attrs := []any{"calls", more}
	if l.cause != nil {
		attrs = append(attrs, "error", l.cause)
	}
	l.opts.Log.Error("requests and answers of calls are lost: the queue is full, or the database did not accept them", attrs...)
	l.told, l.cause = lost, nil
	return true
}

// writeAll writes what waits, until working ends.
func (l *Log) writeAll(ctx, working context.Context) {
	for len(l.queue) > 0 && working.Err() == nil {
		var rows []models.CallContent
		var held int64
		for len(rows) < batch && len(l.queue) > 0 {
			e := <-l.queue
			held += e.bytes
			row, err := l.seal(&e)
			if err != nil {
				l.countLost(1, err)
				continue
			}
			rows = append(rows, row)
		}
		if err := l.write(ctx, working, rows); err != nil {
			l.countLost(len(rows), err)
		}
		l.held.Add(-held)
	}
}

// countLost counts contents that could not be written.
func (l *Log) countLost(contents int, cause error) {
	l.lost.Add(int64(contents))
	l.cause = cause
}

func (l *Log) write(ctx, working context.Context, rows []models.CallContent) error {
	if len(rows) == 0 {
		return nil
	}
	err := l.opts.Store.KeepContents(working, rows)
	if err == nil {
		return nil
	}
	select {
	case <-time.After(writeRetry):
	case <-ctx.Done():
	}
	return l.opts.Store.KeepContents(working, rows)
}
