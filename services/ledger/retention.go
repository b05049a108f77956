package ledger

import (
	"context"
	"slices"
	"time"
)

const (
	sweepEvery = time.Hour
	sweepRetry = time.Minute // after a failure
	sweepBatch = 1000        // rows that one transaction deletes

	mostSessions = 50_000 // that are deleted in sweepEvery
)

// deleteOld deletes rows that are older than the retention, until ctx ends.
func (l *Writer) deleteOld(ctx context.Context) {
	if l.opts.Retention <= 0 {
		return
	}
	var empty []int64 // sessions that had no calls at the last time
	for wait := l.sweepFirst; waited(ctx, wait); {
		wait = sweepEvery
		err := l.sweep(ctx)
		if err == nil {
			empty, err = l.deleteSessions(ctx, empty)
		}
		if err != nil && ctx.Err() == nil {
			wait, empty = sweepRetry, nil
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

// deleteSessions deletes some sessions, if they still have no calls, and returns those that have none now: these
// are deleted at the next time, which is later than models.NamesKept, see models.DeleteSessions.
func (l *Writer) deleteSessions(ctx context.Context, former []int64) (empty []int64, err error) {
	for some := range slices.Chunk(former, sweepBatch) {
		began := time.Now()
		if err := l.opts.Store.DeleteSessions(ctx, some); err != nil || !paused(ctx, began) {
			return nil, err
		}
	}
	for after, more := int64(0), true; more && len(empty) < mostSessions; {
		began := time.Now()
		var some []int64
		if some, after, err = l.opts.Store.SessionsWithoutCalls(ctx, after); err != nil {
			return nil, err
		}
		empty = append(empty, some...)
		more = after > 0 && paused(ctx, began)
	}
	return empty, nil
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
