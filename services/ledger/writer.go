// Package ledger stores one row for each call, and reports usage.
package ledger

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"modelgateway/models"
)

const (
	ledgerEvery = 250 * time.Millisecond // the longest time that a row waits for a batch

	// ledgerBatch is the most rows in a transaction: as many as 8,000 calls a second
	// make in ledgerEvery. One transaction writes the sums of each key once, and a
	// disk that flushes in 100 ms keeps up.
	ledgerBatch = 2000

	ledgerQueued    = 50_000 // rows, some 20 MB
	ledgerLastWrite = 10 * time.Second
	ledgerMaxRetry  = 2 * time.Second // the longest pause between two tries
	ledgerLogEvery  = time.Minute     // between two log lines about the same fault
)

// Options configure a Writer.
type Options struct {
	Store     *models.Store
	Replica   string        // whose holds pay for the calls
	Retention time.Duration // of rows; their sums stay. 0: for ever
	Log       *slog.Logger
	Now       func() time.Time

	// Written receives the calls of each transaction after it. Run calls it, never twice
	// at once; the slice is used again afterwards. It may be nil.
	Written func(calls []models.Call)
}

// Writer stores one row for each call. Rows wait in a bounded queue in memory. Run
// is the only writer to the database.
type Writer struct {
	opts  Options
	queue queue
	ready chan struct{} // a full batch waits
	first chan struct{} // the first row of a batch waits

	every, pause    time.Duration // pause is the first between two tries
	lastWrite       time.Duration // how long Run may write after its ctx has ended
	sweepFirst      time.Duration // until the first sweep
	upkeepFirst     time.Duration // until sums are merged the first time
	upkeepEvery     time.Duration
	size            int  // of the next batch
	warned          bool // a failure is logged, and its end is not yet
	warnedAt        time.Time
	droppedLogged   int64 // of the dropped rows, how many are logged
	droppedLoggedAt time.Time

	mu    sync.Mutex
	stats Stats
}

// NewWriter makes a ledger. It writes while Run runs.
func NewWriter(opts Options) *Writer {
	return &Writer{
		opts: opts, queue: queue{capacity: ledgerQueued}, ready: make(chan struct{}, 1), first: make(chan struct{}, 1),
		every: ledgerEvery, pause: ledgerEvery, lastWrite: ledgerLastWrite, sweepFirst: ledgerLogEvery,
		upkeepFirst: upkeepFirst, upkeepEvery: upkeepEvery, size: ledgerBatch,
	}
}

// NewCallID makes the id of a call that begins at a time. It is empty until the schema is
// migrated: such a call gets one when it is written.
func (l *Writer) NewCallID(at time.Time) string { return l.opts.Store.NewCallID(at) }

// Add queues the row of a call that has ended. It never waits: when the queue is
// full the row is dropped and counted.
func (l *Writer) Add(call models.Call) {
	full, first := l.queue.add(&call)
	if first {
		signal(l.first)
	}
	if full {
		signal(l.ready)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has a message
	}
}

// Run writes rows until ctx ends. Then it writes those that are left, for lastWrite
// at most. It also deletes rows that are older than the retention, and keeps the sums.
func (l *Writer) Run(ctx context.Context) {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(l.lastWrite, cancel) })
	defer stop()
	var sweeping sync.WaitGroup
	sweeping.Go(func() { l.deleteOld(ctx) })
	sweeping.Go(func() { l.keepSums(ctx) })
	defer sweeping.Wait()

	tick, ticking := time.NewTicker(l.every), true
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			l.writeAll(ctx, working, true)
		case <-l.ready:
			l.writeAll(ctx, working, false)
		case <-l.first: // or of a batch that was written meanwhile
			if !ticking && !l.idle() {
				tick.Reset(l.every)
				ticking = true
			}
		case <-ctx.Done():
		}
		l.logDropped()
		if ticking && l.idle() {
			tick.Stop() // until the first row of the next batch
			ticking = false
		}
	}
	for l.Stats().Queued > 0 && working.Err() == nil {
		l.writeAll(ctx, working, true)
	}
	l.droppedLoggedAt = time.Time{} // so that the last line is logged in any case
	l.logDropped()
	if left := l.queue.close(); left > 0 {
		l.opts.Log.Error("the gateway stops: calls are not in the ledger", "calls", left)
	}
}

// writeAll writes the full batches that wait, and with partial one that is not
// full. It writes no more than one of those, or a quick database would get a
// transaction for every few rows. It stops when working ends.
func (l *Writer) writeAll(ctx, working context.Context, partial bool) {
	for working.Err() == nil {
		batch := l.queue.take(partial)
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			batch[i].Clean()
		}
		last := len(batch) < ledgerBatch
		l.write(ctx, working, batch)
		l.queue.reuse(batch)
		if last {
			return
		}
	}
}

// write writes a batch in order until it is stored or working ends. With each
// failure it writes smaller parts: the database may be too slow for more, or it
// refuses one row, which is found by halving.
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
			wait = min(2*wait, ledgerMaxRetry)
		case len(part) > 1:
			l.size = len(part) / 2
		default:
			l.opts.Log.Error("the database refuses a row of the ledger: the row is dropped", "call", part[0].ID, "error", err)
			l.count(Stats{Dropped: 1})
			l.queue.done(1)
			batch = batch[1:]
		}
	}
}

func (l *Writer) wrote(part []models.Call) {
	l.count(Stats{Written: int64(len(part))})
	l.queue.done(len(part))
	l.logDropped()
	if l.warned {
		l.warned = false
		l.opts.Log.Info("the ledger is written again")
	}
	if l.opts.Written != nil {
		l.opts.Written(part)
	}
}

// sleep waits between two tries, for a shorter time once the gateway stops.
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
