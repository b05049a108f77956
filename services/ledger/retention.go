package ledger

import (
	"context"
	"time"
)

const (
	sweepEvery = time.Hour
	sweepRetry = time.Minute // after a failure
	sweepBatch = 1000        // rows that one transaction deletes
)

// deleteOld deletes rows that are older than the retention, until ctx ends.
func (l *Writer) deleteOld(ctx context.Context) {
	if l.opts.Retention <= 0 {
		return
	}
	for wait := l.sweepFirst; waited(ctx, wait); {
		wait = sweepEvery
		if err := l.sweep(ctx); err != nil && ctx.Err() == nil {
			wait = sweepRetry
			l.opts.Log.Warn("old rows of the ledger could not be deleted: the gateway tries again in a minute", "error", err)
		}
	}
}

// sweep deletes a few rows at a time, and pauses for four fifths of the time to
// spare the database. Several replicas may sweep at once.
func (l *Writer) sweep(ctx context.Context) error {
	before := l.opts.Now().Add(-l.opts.Retention)
	for {
		began := time.Now()
		n, err := l.opts.Store.DeleteCallsBefore(ctx, before, sweepBatch)
		if err != nil || n < sweepBatch {
			return err
		}
		if !paused(ctx, began) {
			return ctx.Err()
		}
	}
}

// paused waits four times as long as a transaction took, and reports whether ctx has not
// ended meanwhile.
func paused(ctx context.Context, began time.Time) bool {
	const pauseFactor, minPause = 4, 20 * time.Millisecond
	return waited(ctx, max(pauseFactor*time.Since(began), minPause))
}

// waited waits, and reports whether ctx has not ended meanwhile.
func waited(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
