package routing

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/services/tracing"
)

// Between two tries: a random time of up to firstPause, then of up to twice as
// much, so that those who failed together do not come back together. A wait
// that the upstream asks for is kept; a longer one than longestPause is left to
// the client.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// Route is one way to an answer: a request translated for a model.
type Route struct {
	router   *Router
	exchange providers.Exchange
	upstream *pool.Upstream
	Model    catalog.Model
	served   Served
	trace    *tracing.Chat
}

// MostOutput is the bound of one answer that the provider was told; 0 = none.
func (r *Route) MostOutput() int64 {
	if bounded, ok := r.exchange.(providers.Bounded); ok {
		return bounded.MostOutput()
	}
	return 0
}

// answered is what an upstream gave, with the lease of the key that it was
// asked with.
type answered[T any] struct {
	answer T
	route  *Route
	lease  *pool.Lease
	took   time.Duration // until it was answered
}

// asking sends a route with a leased key.
type asking[T any] func(ctx context.Context, r *Route, l *pool.Lease) (T, error)

// first is the one fail-over loop, for answers and for streams: over the models
// of the plan, each with as many keys and retries as it is worth, until one
// accepts or refuses for good. Nothing has reached the client before.
func first[T any](ctx context.Context, p *Plan, ask asking[T]) (answered[T], Served, error) {
	var told told
	var rested []int
	for i := range p.Size() {
		got, err := once(ctx, p, i, ask, false)
		switch {
		case err == nil:
			return got, got.route.served, nil
		case errors.Is(err, pool.ErrAllCoolingDown):
			rested = append(rested, i)
		case told.add(p, i, err):
			return got, told.served, told.err
		}
	}
	for _, i := range rested { // a key that rests is better than none
		got, err := once(ctx, p, i, ask, true)
		if err == nil {
			return got, got.route.served, nil
		}
		if told.add(p, i, err) {
			break
		}
	}
	return answered[T]{}, told.served, told.err
}

func once[T any](ctx context.Context, p *Plan, i int, ask asking[T], anyway bool) (got answered[T], err error) {
	r, err := p.Route(i)
	if err != nil {
		return got, err
	}
	t := try[T]{plan: p, at: i, route: r, ask: ask, anyway: anyway}
	return t.run(ctx)
}

// told is what the client will be told: how the model failed that was
// asked for, or the first that is worth coming back for.
type told struct {
	err    error
	served Served
	at     int // of the plan
}

// add books how the model i of the plan failed, and says whether that ends it.
func (t *told) add(p *Plan, i int, err error) (ends bool) {
	if i > 0 && api.IsInvalid(err) {
		return false // the request is not to be judged by what another model takes
	}
	ends = verdictOf(err) == forGood || p.Paid && len(p.Lost) > 0
	if t.err == nil || ends && !api.IsProviderError(err) || t.better(i, err) {
		t.err, t.served, t.at = err, p.Served(i), i
	}
	return ends
}

// better says whether err says more than what there is. A model that is asked
// late, because its keys rested, still comes before those that stood in for it.
func (t *told) better(i int, err error) bool {
	now, before := api.AsError(err).ShouldRetry(), api.AsError(t.err).ShouldRetry()
	return now && !before || now == before && i < t.at
}

// try is what is done for one model of a plan.
type try[T any] struct {
	plan   *Plan
	at     int // of the plan
	route  *Route
	ask    asking[T]
	anyway bool // keys that rest as well

	retries  int
	switches int       // to other keys
	tried    *pool.Key // the last
}

func (t *try[T]) run(ctx context.Context) (got answered[T], err error) {
	var last error
	for {
		l, err := t.route.upstream.Lease(t.route.Model.ID, t.tried, t.anyway)
		if err != nil {
			if last != nil { // says more than that nobody is left
				err = last
			}
			return got, err
		}
		l.Again = t.plan.again(t.route.upstream)
		t.plan.Attempts++
		got, err = t.send(ctx, l)
		if err == nil {
			return got, nil
		}
		last, t.tried = err, l.Key
		if t.plan.Paid && len(t.plan.Lost) > 0 { // there is nothing reserved for another
			return got, err
		}
		again, wait := t.next(err)
		if !again {
			return got, err
		}
		if wait > 0 {
			sleep(ctx, wait)
			t.plan.Waited += wait
		}
		if ctx.Err() != nil {
			return got, context.Cause(ctx)
		}
	}
}

// next says whether the model is asked once more after err, and when.
func (t *try[T]) next(err error) (again bool, wait time.Duration) {
	verdict, from := verdictOf(err), t.route.upstream
	if (verdict == otherKey || verdict == limited) && t.switches < from.Size()-1 && from.Other(t.tried, t.route.Model.ID) {
		t.switches++ // no retry: the key rests now, and the next call spares it
		return true, 0
	}
	if verdict != anybody && verdict != limited || t.retries >= t.plan.router.Retries {
		return false, 0
	}
	if e := api.AsError(err); e.Final || verdict == limited && t.at+1 < t.plan.Size() {
		return false, 0
	} else if wait = backoff(t.retries, e.RetryAfter); wait > longestPause || !from.Retry() {
		return false, 0
	}
	t.retries++
	t.anyway = t.anyway || verdict == limited // the only key there is
	t.plan.router.Metrics.Retried(from.Name)
	return true, wait
}

// send asks with the lease, which has been reported to afterwards and, unless
// the call went well, has ended.
func (t *try[T]) send(ctx context.Context, l *pool.Lease) (answered[T], error) {
	if t.plan.hedgeAfter > 0 {
		return t.race(ctx, l)
	}
	got, err := call(ctx, t.route, l, t.ask)
	t.plan.Waited += got.took
	if err != nil {
		t.plan.lose(ctx, t.route.Model, err)
	}
	return got, err
}

var errUnfinished = errors.New("the call was left by a panic")

func call[T any](ctx context.Context, r *Route, l *pool.Lease, ask asking[T]) (got answered[T], err error) {
	c := r.router
	began := c.Now()
	ctx, l.Trace = r.trace.Attempt(ctx, r.Model.Provider, r.Model.Upstream)
	err = errUnfinished
	defer func() { // also when ask panics: a circuit waits for the word
		l.Answered(err)
		got.took = c.Now().Sub(began)
		c.Metrics.Called(r.Model.Provider, r.Model.ID, outcome(err), got.took)
		if err != nil {
			l.Trace.Failed(err)
			l.End()
		}
	}()
	got.route, got.lease = r, l
	got.answer, err = ask(ctx, r, l)
	return got, err
}

// backoff is how long to wait before the retry after so many.
func backoff(retries int, told time.Duration) time.Duration {
	return max(told, time.Duration(rand.Int64N(int64(firstPause)<<retries)))
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
