package routing

import (
	"context"
	"time"

	"modelgateway/services/pool"
)

// race asks a second upstream when the first has not answered after a while,
// and takes the answer that comes first. The other call is cancelled.
func (a *attempts) race(ctx context.Context, l *pool.Lease) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := a.plan.router.Now()
	defer func() { a.plan.Waited += a.plan.router.Now().Sub(began) }()
	ends := make(chan racer, 2)
	start := func(c *Candidate, l *pool.Lease) {
		go func() { ends <- c.run(ctx, l) }() // waited for below
	}
	start(a.candidate, l)
	late := time.NewTimer(a.plan.hedgeAfter)
	defer late.Stop()
	var won *Result
	var failed error // how the first failed
	for running := 1; running > 0; {
		select {
		case <-late.C:
			if won != nil {
				continue
			}
			if c, second := a.second(l); second != nil {
				running++
				a.plan.Attempts++
				second.Again = a.plan.again(c.upstream)
				start(c, second)
			}
		case end := <-ends:
			running--
			if end.panicked != nil {
				cancel()
				for ; running > 0; running-- {
					(<-ends).drop()
				}
				if won != nil {
					won.Close()
				}
				panic(end.panicked)
			}
			a.lose(ctx, &end, won != nil)
			switch {
			case end.err != nil && (failed == nil || end.lease == l):
				failed = end.err
			case end.err != nil:
			case won == nil:
				won = end.got
				late.Stop()
				cancel()
			default:
				end.drop()
			}
		}
	}
	if won == nil {
		return nil, failed
	}
	return won, nil
}

// lose notes what a call that is not the answer has used: one that failed, or
// one that another was faster than.
func (a *attempts) lose(ctx context.Context, end *racer, late bool) {
	model := end.candidate.Model
	if end.err != nil {
		a.plan.lose(ctx, model, end.err)
		return
	}
	if late {
		a.plan.Lost = append(a.plan.Lost, Lost{Model: model, Usage: end.got.Answer.Usage})
	}
}

// racer is how one of the two calls ended.
type racer struct {
	candidate *Candidate
	lease     *pool.Lease
	got       *Result
	err       error
	panicked  any
}

// run calls on a goroutine of its own, where a panic would end the process.
func (c *Candidate) run(ctx context.Context, l *pool.Lease) (end racer) {
	defer func() { end.panicked = recover() }()
	end.candidate, end.lease = c, l
	end.got, end.err = c.call(ctx, l)
	return end
}

// drop gives back the key of an answer that is not used.
func (e racer) drop() {
	if e.err == nil && e.panicked == nil {
		e.got.Close()
	}
}

// second is what is asked beside the call of a lease: another key of the same
// provider, else the next fallback, else the same once more.
func (a *attempts) second(busy *pool.Lease) (*Candidate, *pool.Lease) {
	from, model := a.candidate.upstream, a.candidate.Model.ID
	if !from.Retry() {
		return nil, nil
	}
	a.plan.router.Metrics.Hedged(from.Name)
	if from.Other(busy.Key, model) {
		if l, err := from.Lease(model, busy.Key, false); err == nil {
			return a.candidate, l
		}
	}
	for i := a.at + 1; i < a.plan.Size(); i++ {
		c, err := a.plan.Candidate(i)
		if err != nil {
			continue
		}
		if l, err := c.upstream.Lease(c.Model.ID, nil, false); err == nil {
			return c, l
		}
	}
	l, err := from.Lease(model, nil, a.ignoreCooldown)
	if err != nil {
		return nil, nil
	}
	return a.candidate, l
}
