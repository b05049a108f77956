package ledger

import (
	"context"
	"time"
)

const (
	sweepEvery = time.Hour
	sweepAgain = time.Minute // after a failure
	sweepBatch = 1000        // rows that one transaction deletes
)

// forget deletes rows that are older than the retention until ctx ends.
func (l *Writer) forget(ctx context.Context) {
	if l.opts.Retention <= 0 {
		return
	}
	for wait := l.sweepFirst; waited(ctx, wait); {
		wait = sweepEvery
		if err := l.sweep(ctx); err != nil && ctx.Err() == nil {
			wait = sweepAgain
			l.opts.Log.Warn("old rows of the ledger are not deleted", "error", err)
		}
	}
}

// sweep deletes a few rows at a time and leaves the database to others for
// four fifths of the time. Any number of replicas may do it at once.
func (l *Writer) sweep(ctx context.Context) error {
	before := l.opts.Now().Add(-l.opts.Retention)
	for {
		began := time.Now()
		n, err := l.opts.Store.DeleteCallsBefore(ctx, before, sweepBatch)
		if err != nil || n < sweepBatch {
			return err
		}
		const others, least = 4, 20 * time.Millisecond
		if !waited(ctx, max(others*time.Since(began), least)) {
			return ctx.Err()
		}
	}
}

// waited says whether ctx still lives when the time is over.
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
