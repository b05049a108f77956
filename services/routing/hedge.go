package routing

import (
	"context"
	"time"

	"modelgateway/models/api"
	"modelgateway/services/pool"
)

// race asks a second upstream when the first has not answered after a while,
// and takes the answer that comes first. The other call is cancelled.
func (t *try[T]) race(ctx context.Context, l *pool.Lease) (answered[T], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := t.plan.router.Now()
	defer func() { t.plan.Waited += t.plan.router.Now().Sub(began) }()
	ends := make(chan ending[T], 2)
	start := func(r *Route, l *pool.Lease) {
		go func() { ends <- finish(ctx, r, l, t.ask) }() // waited for below
	}
	start(t.route, l)
	late := time.NewTimer(t.plan.hedgeAfter)
	defer late.Stop()
	var won *answered[T]
	var failed error // how the first failed
	for running := 1; running > 0; {
		select {
		case <-late.C:
			if won != nil {
				continue
			}
			if r, second := t.second(l); second != nil {
				running++
				t.plan.Attempts++
				second.Again = t.plan.again(r.upstream)
				start(r, second)
			}
		case end := <-ends:
			running--
			if end.panicked != nil {
				cancel()
				for ; running > 0; running-- {
					(<-ends).drop()
				}
				if won != nil {
					won.lease.End()
				}
				panic(end.panicked)
			}
			t.lose(ctx, &end, won != nil)
			switch {
			case end.err != nil && (failed == nil || end.got.lease == l):
				failed = end.err
			case end.err != nil:
			case won == nil:
				won = &end.got
				late.Stop()
				cancel()
			default:
				end.drop()
			}
		}
	}
	if won == nil {
		return answered[T]{}, failed
	}
	return *won, nil
}

// lose notes what a call that is not the answer has used: one that failed, or
// one that another was faster than.
func (t *try[T]) lose(ctx context.Context, end *ending[T], late bool) {
	model := end.got.route.Model
	if end.err != nil {
		t.plan.lose(ctx, model, end.err)
		return
	}
	if answer, ok := any(end.got.answer).(*api.ChatCompletion); ok && late {
		t.plan.Lost = append(t.plan.Lost, Lost{Model: model, Usage: answer.Usage})
	}
}

// ending is how one of the two ended.
type ending[T any] struct {
	got      answered[T]
	err      error
	panicked any
}

// finish calls on a goroutine of its own, where a panic would end the process.
func finish[T any](ctx context.Context, r *Route, l *pool.Lease, ask asking[T]) (end ending[T]) {
	defer func() { end.panicked = recover() }()
	end.got.lease, end.got.route = l, r
	end.got, end.err = call(ctx, r, l, ask)
	return end
}

// drop gives back what nobody needs.
func (e ending[T]) drop() {
	if e.err == nil && e.panicked == nil {
		e.got.lease.End()
	}
}

// second is who is asked beside the call of a lease: another key of the same
// provider, else the model that stands in, else the same once more.
func (t *try[T]) second(busy *pool.Lease) (*Route, *pool.Lease) {
	from, model := t.route.upstream, t.route.Model.ID
	if !from.Retry() {
		return nil, nil
	}
	t.plan.router.Metrics.Hedged(from.Name)
	if from.Other(busy.Key, model) {
		if l, err := from.Lease(model, busy.Key, false); err == nil {
			return t.route, l
		}
	}
	for i := t.at + 1; i < t.plan.Size(); i++ {
		r, err := t.plan.Route(i)
		if err != nil {
			continue
		}
		if l, err := r.upstream.Lease(r.Model.ID, nil, false); err == nil {
			return r, l
		}
	}
	l, err := from.Lease(model, nil, t.anyway)
	if err != nil {
		return nil, nil
	}
	return t.route, l
}
