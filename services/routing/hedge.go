package routing

import (
	"context"
	"time"

	"modelgateway/services/pool"
)

// race starts a second call when the first has not answered within the hedge
// delay, and takes the answer that comes first. The other call is cancelled.
func (a *attempts) race(ctx context.Context, l *pool.Lease) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errSlower)
	began := a.plan.router.Now()
	defer func() { a.plan.Waited += a.plan.router.Now().Sub(began) }()
	ends := make(chan callEnd, 2)
	start := func(c *Candidate, l *pool.Lease) {
		go func() { ends <- c.run(ctx, l) }() // the loop below receives from each
	}
	start(a.candidate, l)
	hedge := time.NewTimer(a.plan.hedgeAfter)
	defer hedge.Stop()
	var winner *Result
	var failed error // of the first call, if it failed
	for running := 1; running > 0; {
		select {
		case <-hedge.C:
			if winner != nil {
				continue
			}
			if c, second := a.hedge(l); second != nil {
				running++
				a.plan.Attempts++
				second.Repeated = a.plan.repeated(c.upstream)
				start(c, second)
			}
		case end := <-ends:
			running--
			if end.panicked != nil {
				cancel(errSlower)
				for ; running > 0; running-- {
					(<-ends).discard()
				}
				if winner != nil {
					winner.Close()
				}
				panic(end.panicked)
			}
			a.plan.tried(end.candidate, end.lease, end.err, winner != nil)
			a.recordLost(ctx, &end, winner != nil)
			switch {
			case end.err != nil && (failed == nil || end.lease == l):
				failed = end.err
			case end.err != nil:
			case winner == nil:
				winner = end.got
				hedge.Stop()
				cancel(errSlower)
			default:
				end.discard()
			}
		}
	}
	if winner == nil {
		return nil, failed
	}
	return winner, nil
}

// recordLost adds a call that will be charged but whose answer is not used: one
// that failed, or the slower of two.
func (a *attempts) recordLost(ctx context.Context, end *callEnd, slower bool) {
	if end.err != nil {
		a.plan.recordLost(ctx, end.candidate, end.err)
		return
	}
	if slower {
		a.plan.Lost = append(a.plan.Lost, Lost{Model: end.candidate.Model, Usage: end.got.Answer.Usage})
	}
}

// callEnd is the result of one of the two calls.
type callEnd struct {
	candidate *Candidate
	lease     *pool.Lease
	got       *Result
	err       error
	panicked  any
}

// run makes a call on its own goroutine, and returns its panic as a value: race
// raises it again on the caller's goroutine.
func (c *Candidate) run(ctx context.Context, l *pool.Lease) (end callEnd) {
	defer func() { end.panicked = recover() }()
	end.candidate, end.lease = c, l
	end.got, end.err = c.call(ctx, l)
	return end
}

// discard closes an answer that is not used.
func (e callEnd) discard() {
	if e.err == nil && e.panicked == nil {
		e.got.Close()
	}
}

// hedge leases a key for the second call: another key of the same provider, else
// the next fallback that has one, else the same key again.
func (a *attempts) hedge(busy *pool.Lease) (*Candidate, *pool.Lease) {
	from, model, caller := a.candidate.upstream, a.candidate.Model.ID, a.plan.input.Caller
	if !from.Retry() {
		return nil, nil
	}
	a.plan.router.Metrics.Hedged(from.Name)
	if from.Other(busy.Key, model) {
		if l, err := from.Lease(pool.Wish{Model: model, Caller: caller, Avoid: busy.Key}); err == nil {
			return a.candidate, l
		}
	}
	for i := a.index + 1; i < a.plan.Size(); i++ {
		c, err := a.plan.Candidate(i)
		if err != nil {
			continue
		}
		if l, err := c.upstream.Lease(pool.Wish{Model: c.Model.ID, Caller: caller}); err == nil {
			return c, l
		}
	}
	l, err := from.Lease(pool.Wish{Model: model, Caller: caller, IgnoreCooldown: a.ignoreCooldown})
	if err != nil {
		return nil, nil
	}
	return a.candidate, l
}
