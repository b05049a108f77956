package routing

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"modelgateway/models/api"
	"modelgateway/providers"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
)

// Between two attempts: a random time of up to firstPause, then of up to twice
// as much, so that requests that failed together do not come back together. A
// wait that the upstream asks for is kept; one longer than longestPause is left
// to the client.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// Open has the request answered by the first candidate of the plan that
// accepts: for a stream, whose first event has come. Nothing has reached the
// client before. Served is filled as far as the call came, also beside an
// error.
func (p *Plan) Open(ctx context.Context) (*Result, Served, error) {
	if !p.ask.Request.Stream {
		p.hedgeAfter = p.router.HedgeAfter
	}
	got, served, err := p.failover(ctx)
	if err != nil {
		return nil, served, p.router.explain(err, served)
	}
	p.Answered = got.candidate
	p.router.Metrics.FellBack(served.Model, served.Fallback)
	return got, served, nil
}

// failover is the one loop over the candidates, each with as many keys and
// retries as it is worth, until one accepts or refuses for good. Candidates
// whose keys are all cooling down are asked last, for a key that cools down is
// better than none.
func (p *Plan) failover(ctx context.Context) (*Result, Served, error) {
	var failed failure
	var cooling []int
	for i := range p.Size() {
		got, err := p.attempt(ctx, i, false)
		switch {
		case err == nil:
			return got, got.candidate.served, nil
		case errors.Is(err, pool.ErrAllCoolingDown):
			cooling = append(cooling, i)
		case failed.add(p, i, err):
			return nil, failed.served, failed.err
		}
	}
	for _, i := range cooling {
		got, err := p.attempt(ctx, i, true)
		if err == nil {
			return got, got.candidate.served, nil
		}
		if failed.add(p, i, err) {
			break
		}
	}
	return nil, failed.served, failed.err
}

// failure is what the client will be told: how the model failed that was asked
// for, or the first one that is worth coming back for.
type failure struct {
	err    error
	served Served
	at     int // of the plan
}

// add notes how the candidate i failed, and says whether that ends the loop.
func (f *failure) add(p *Plan, i int, err error) (ends bool) {
	if i > 0 && api.IsInvalid(err) {
		return false // the request is not judged by what another model takes
	}
	ends = verdict(err) == providers.Terminal || p.Paid && len(p.Lost) > 0
	if f.err == nil || ends && !refused(err) || f.improves(i, err) {
		f.err, f.served, f.at = err, p.Served(i), i
	}
	return ends
}

// improves says whether err tells the client more than what is there. A model
// that is asked late, because its keys cooled down, still comes before its
// fallbacks.
func (f *failure) improves(i int, err error) bool {
	now, before := api.AsError(err).ShouldRetry(), api.AsError(f.err).ShouldRetry()
	return now && !before || now == before && i < f.at
}

// verdict is what an error means for the next attempt. An error that is no
// provider's is terminal: the client has gone, or the fault is ours.
func verdict(err error) providers.Verdict {
	if r, ok := errors.AsType[*providers.Refusal](err); ok {
		return r.Verdict()
	}
	return providers.Terminal
}

func refused(err error) bool {
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
}

// attempts is what is done for one candidate.
type attempts struct {
	plan           *Plan
	at             int // of the plan
	candidate      *Candidate
	ignoreCooldown bool

	retries  int
	switches int       // to other keys
	tried    *pool.Key // the last
}

func (p *Plan) attempt(ctx context.Context, i int, ignoreCooldown bool) (*Result, error) {
	c, err := p.Candidate(i)
	if err != nil {
		return nil, err
	}
	a := attempts{plan: p, at: i, candidate: c, ignoreCooldown: ignoreCooldown}
	return a.run(ctx)
}

func (a *attempts) run(ctx context.Context) (*Result, error) {
	var last error
	for {
		l, err := a.candidate.upstream.Lease(a.candidate.Model.ID, a.tried, a.ignoreCooldown)
		if err != nil {
			if last != nil { // says more than that no key is left
				err = last
			}
			return nil, err
		}
		l.Again = a.plan.again(a.candidate.upstream)
		a.plan.Attempts++
		got, err := a.send(ctx, l)
		if err == nil {
			return got, nil
		}
		last, a.tried = err, l.Key
		if a.plan.Paid && len(a.plan.Lost) > 0 { // nothing is reserved for another attempt
			return nil, err
		}
		again, wait := a.next(err)
		if !again {
			return nil, err
		}
		if wait > 0 {
			sleep(ctx, wait)
			a.plan.Waited += wait
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// next says whether the model is asked once more after err, and when.
func (a *attempts) next(err error) (again bool, wait time.Duration) {
	v, from := verdict(err), a.candidate.upstream
	limited := v == providers.RateLimited
	if (v == providers.NextKey || limited) && a.switches < from.Size()-1 && from.Other(a.tried, a.candidate.Model.ID) {
		a.switches++ // no retry: the key cools down, and the next call spares it
		return true, 0
	}
	if v != providers.Retryable && !limited || a.retries >= a.plan.router.Retries {
		return false, 0
	}
	e := api.AsError(err)
	if e.Final || limited && a.at+1 < a.plan.Size() {
		return false, 0
	}
	if wait = backoff(a.retries, e.RetryAfter); wait > longestPause || !from.Retry() {
		return false, 0
	}
	a.retries++
	a.ignoreCooldown = a.ignoreCooldown || limited // it is the only key there is
	a.plan.router.Metrics.Retried(from.Name)
	return true, wait
}

// send asks with the lease. Afterwards the lease has been told how it went and,
// unless it went well, has ended.
func (a *attempts) send(ctx context.Context, l *pool.Lease) (*Result, error) {
	if a.plan.hedgeAfter > 0 {
		return a.race(ctx, l)
	}
	got, err := a.candidate.call(ctx, l)
	a.plan.Waited += l.Took
	if err != nil {
		a.plan.lose(ctx, a.candidate.Model, err)
	}
	return got, err
}

var errUnfinished = errors.New("the call was left by a panic")

// call sends the request with a leased key.
func (c *Candidate) call(ctx context.Context, l *pool.Lease) (got *Result, err error) {
	began := c.router.Now()
	ctx, l.Trace = c.trace.Attempt(ctx, c.Model.Provider, c.Model.Upstream)
	err = errUnfinished
	defer func() { // also after a panic: a circuit waits for the report
		l.Answered(err)
		l.Took = c.router.Now().Sub(began)
		c.router.Metrics.Called(c.Model.Provider, c.Model.ID, outcome(err), l.Took)
		if err != nil {
			l.Trace.Failed(err)
			l.End()
		}
	}()
	got, err = c.open(ctx, l)
	return got, err
}

// backoff is how long to wait before the retry after so many.
func backoff(retries int, asked time.Duration) time.Duration {
	return max(asked, time.Duration(rand.Int64N(int64(firstPause)<<retries)))
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return metrics.OK
	case pool.Gone(err):
		return metrics.Canceled
	case pool.Failed(err):
		return metrics.Failed
	default:
		return metrics.Refused
	}
}
