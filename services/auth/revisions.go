package auth

import (
	"context"
	"sync/atomic"
	"time"

	"modelgateway/models"
)

// revisionEvery leaves room in keyLife for one question that is lost or slow.
const revisionEvery = 300 * time.Millisecond

// Revisions asks the database a few times a second whether anything has
// changed about who may call, so that nothing has to be asked about each key
// and each user. A nil one knows nothing, and everything is asked for.
//
// Why an answer may be believed for as long as the revision is the same: every
// change that could make it wrong makes the revision grow in its own
// transaction. The answer carries the revision that was known before its
// question was sent, so that a change it has not seen is not in that revision
// either. A later poll that still finds this revision proves that no such
// change was committed until the poll was sent. From then on the answer is as
// good as one that was asked for at that moment, and no better: without polls
// it ends as soon as any.
type Revisions struct {
	now    func() time.Time
	stored func(ctx context.Context) (int64, error) // the store's, but in tests
	latest atomic.Pointer[sighting]
}

// sighting is what the last poll that succeeded saw.
type sighting struct {
	n      int64 // ours: which of the times without a change this is, from 1
	stored int64 // the database's
	asOf   time.Time
}

// NewRevisions returns Revisions that know nothing until Run has asked.
func NewRevisions(store *models.Store, now func() time.Time) *Revisions {
	return &Revisions{now: now, stored: store.Revision}
}

// Run polls until ctx ends.
func (r *Revisions) Run(ctx context.Context) {
	tick := time.NewTicker(revisionEvery)
	defer tick.Stop()
	for {
		r.poll(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// poll keeps what it was told. When it is told nothing, what is known grows
// old; that the database is gone, others see and say.
func (r *Revisions) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keyLife)
	defer cancel()
	sent := r.now()
	stored, err := r.stored(ctx)
	if err != nil {
		return
	}
	next := &sighting{n: 1, stored: stored, asOf: sent}
	if last := r.latest.Load(); last != nil {
		next.n = last.n
		// A database that was restored, or that a standby took over from, can
		// have gone back, and count to the same number again with other
		// changes. So after a gap, too, the revision is another.
		if stored != last.stored || sent.Sub(last.asOf) > keyLife {
			next.n++
		}
	}
	r.latest.Store(next)
}

// Known is the revision, and a time until which it has not changed. It is 0
// as long as none is known.
func (r *Revisions) Known() (n int64, asOf time.Time) {
	if r == nil {
		return 0, time.Time{}
	}
	seen := r.latest.Load()
	if seen == nil {
		return 0, time.Time{}
	}
	return seen.n, seen.asOf
}

// goodAt is when an answer was last known to be right: when its question was
// asked, or, while the revision is still the one that was known before, when
// that was last seen.
func (r *Revisions) goodAt(asked time.Time, revision int64) time.Time {
	if n, asOf := r.Known(); n == revision && asOf.After(asked) {
		return asOf
	}
	return asked
}
