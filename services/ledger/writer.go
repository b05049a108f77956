// Package ledger keeps a row of each call, and says what was used.
package ledger

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"modelgateway/models"
)

const (
	ledgerEvery = 250 * time.Millisecond // how long a row waits at most for others

	// ledgerBatch is how many rows a transaction has at most: what 8,000 calls a
	// second make in ledgerEvery. The sums of many keys are written once for all of
	// them, and a disk that flushes in 100 ms keeps up with it.
	ledgerBatch = 2000

	ledgerQueued    = 50_000 // rows, some 20 MB
	ledgerLastWrite = 10 * time.Second
	ledgerLongest   = 2 * time.Second // between two tries
	ledgerTold      = time.Minute     // between two lines of the log on one matter
)

// Options are what a ledger needs.
type Options struct {
	Store     *models.Store
	Replica   string        // whose holds the calls are paid from
	Retention time.Duration // of rows; their sums stay. 0 = for ever
	Log       *slog.Logger
	Now       func() time.Time

	// Written is told what calls took off their holds, once they are in the
	// database; nil = nobody. It is called by Run, one call after the other.
	Written func(paid map[models.HoldKey]int64)
}

// Writer keeps a row of each call. Rows wait in memory, bounded, for one
// writer, which Run is.
type Writer struct {
	opts  Options
	queue queue
	ready chan struct{} // a whole batch waits

	every, pause time.Duration // pause is the first between two tries
	lastWrite    time.Duration // what Run may take when it ends
	sweepFirst   time.Duration // until old rows are first deleted
	size         int           // of the next batch
	warned       bool          // the log was told of a failure, and not yet of its end
	warnedAt     time.Time
	told         int64 // of the dropped, how many the log knows of
	toldAt       time.Time

	mu    sync.Mutex
	stats Stats
}

// NewWriter makes a ledger, which writes while Run runs.
func NewWriter(opts Options) *Writer {
	return &Writer{
		opts: opts, queue: queue{room: ledgerQueued}, ready: make(chan struct{}, 1),
		every: ledgerEvery, pause: ledgerEvery, lastWrite: ledgerLastWrite, sweepFirst: ledgerTold, size: ledgerBatch,
	}
}

// NewCallID is the id of a call that begins at this time: see models.CallID.
func NewCallID(at time.Time) string {
	var rest [13]byte // 61 bits
	n := rand.Uint64()
	for i := range rest {
		const letters = 26
		rest[i] = 'a' + byte(n%letters)
		n /= letters
	}
	return models.CallID(at, string(rest[:]))
}

// Add hands over the row of a call that has ended. It never waits: when there
// is no room the row is lost, and counted.
func (l *Writer) Add(call models.Call) {
	if !l.queue.add(&call) {
		return
	}
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// Run writes until ctx has ended and then, for some seconds at most, what is
// left. It deletes what is too old as well.
func (l *Writer) Run(ctx context.Context) {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(l.lastWrite, cancel) })
	defer stop()
	var sweeping sync.WaitGroup
	sweeping.Go(func() { l.forget(ctx) })
	defer sweeping.Wait()

	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			l.writeAll(ctx, working, true)
		case <-l.ready:
			l.writeAll(ctx, working, false)
		case <-ctx.Done():
		}
		l.tell()
	}
	for l.Stats().Queued > 0 && working.Err() == nil {
		l.writeAll(ctx, working, true)
	}
	l.toldAt = time.Time{} // whatever was told a moment ago
	l.tell()
	if left := l.queue.close(); left > 0 {
		l.opts.Log.Error("the gateway stops and calls are not in the ledger", "calls", left)
	}
}

// writeAll writes the whole batches that wait, and if it is to, what has come
// of the next: the rest of that is for the next time, or a quick database would
// get a transaction for every few rows.
func (l *Writer) writeAll(ctx, working context.Context, begun bool) {
	for working.Err() == nil {
		batch := l.queue.take(begun)
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			cleanCall(&batch[i])
		}
		last := len(batch) < ledgerBatch
		l.write(ctx, working, batch)
		l.queue.reuse(batch)
		if last {
			return
		}
	}
}

// write writes a batch in order, for as long as it takes or until working ends.
// Parts become smaller with each failure: the database may be too slow for more,
// or there is a row in it that it refuses, which in the end is alone.
func (l *Writer) write(ctx, working context.Context, batch []models.Call) {
	wait := l.pause
	for len(batch) > 0 && working.Err() == nil {
		part := batch[:min(l.size, len(batch))]
		err := l.opts.Store.WriteCalls(working, l.opts.Replica, part)
		switch {
		case err == nil:
			l.wrote(part)
			batch = batch[len(part):]
			l.size = min(2*l.size, ledgerBatch)
			wait = l.pause
		case !errors.Is(err, models.ErrRefused):
			const few = 50
			l.size = max(len(part)/2, min(few, len(part)))
			l.failed(err)
			l.sleep(ctx, working, wait)
			wait = min(2*wait, ledgerLongest)
		case len(part) > 1:
			l.size = len(part) / 2
		default:
			l.opts.Log.Error("the database refuses a row of the ledger", "call", part[0].ID, "error", err)
			l.count(Stats{Dropped: 1})
			l.queue.done(1)
			batch = batch[1:]
		}
	}
}

func (l *Writer) wrote(part []models.Call) {
	l.count(Stats{Written: int64(len(part))})
	l.queue.done(len(part))
	l.tell()
	if l.warned {
		l.warned = false
		l.opts.Log.Info("the ledger is written again")
	}
	if l.opts.Written == nil {
		return
	}
	paid := map[models.HoldKey]int64{}
	for i := range part {
		part[i].AddCost(paid)
	}
	if len(paid) > 0 {
		l.opts.Written(paid)
	}
}

// sleep waits between two tries: less once the gateway stops.
func (l *Writer) sleep(ctx, working context.Context, wait time.Duration) {
	stopping := ctx.Done()
	if ctx.Err() != nil {
		stopping, wait = nil, l.pause
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stopping:
	case <-working.Done():
	}
}
