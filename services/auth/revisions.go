package auth

import (
	"context"
	"sync/atomic"
	"time"

	"modelgateway/models"
)

// revisionInterval leaves room in keyTTL for one poll that is lost or slow.
const revisionInterval = 300 * time.Millisecond

// Revisions polls the database's revision, a counter of all changes to keys
// and users, so that cached answers about them stay fresh without a query for
// each. A nil *Revisions has no revision: every answer ends with its TTL.
//
// Why a cached answer is fresh for as long as the revision is the same: every
// change that could falsify it increments the revision in its own transaction.
// The answer carries the revision that was current before its query was sent,
// so that a change which the query did not see is not in that revision either.
// A later poll that still finds this revision proves that no such change was
// committed before the poll was sent. From then on the answer is as good as
// one that was queried at that moment, and no better: without further polls it
// ends with its TTL.
type Revisions struct {
	now    func() time.Time
	stored func(ctx context.Context) (int64, error) // tests replace the store's
	latest atomic.Pointer[pollResult]
}

// pollResult is the result of a successful poll.
type pollResult struct {
	revision int64 // ours: counts the periods without a change, from 1
	stored   int64 // the database's counter
	sentAt   time.Time
}

// NewRevisions returns Revisions without a revision until Run has polled.
func NewRevisions(store *models.Store, now func() time.Time) *Revisions {
	return &Revisions{now: now, stored: store.Revision}
}

// Run polls until ctx ends.
func (r *Revisions) Run(ctx context.Context) {
	tick := time.NewTicker(revisionInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.poll(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// poll keeps what it reads. An error is dropped: without polls the cached
// answers become stale, and the queries that follow report the same database.
func (r *Revisions) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keyTTL)
	defer cancel()
	sentAt := r.now()
	stored, err := r.stored(ctx)
	if err != nil {
		return
	}
	next := &pollResult{revision: 1, stored: stored, sentAt: sentAt}
	if last := r.latest.Load(); last != nil {
		next.revision = last.revision
		// The counter of a database that was restored, or replaced by a standby,
		// can be lower than before, and reach the same number again with other
		// changes. So a gap between polls starts a new revision as well.
		if stored != last.stored || sentAt.Sub(last.sentAt) > keyTTL {
			next.revision++
		}
	}
	r.latest.Store(next)
}

// Current returns the revision and when the last poll that found it was sent.
// It is 0 before the first poll.
func (r *Revisions) Current() (revision int64, asOf time.Time) {
	if r == nil {
		return 0, time.Time{}
	}
	last := r.latest.Load()
	if last == nil {
		return 0, time.Time{}
	}
	return last.revision, last.sentAt
}

// validatedAt returns when an answer was last known to be true: when its query
// was sent, or, while its revision is still the current one, when that was last
// polled.
func (r *Revisions) validatedAt(queriedAt time.Time, revision int64) time.Time {
	if current, asOf := r.Current(); current == revision && asOf.After(queriedAt) {
		return asOf
	}
	return queriedAt
}
