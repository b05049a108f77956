package routing

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"modelgateway/api"
	"modelgateway/providers"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
)

// Pauses between two attempts are exponential with full jitter: a random time
// below firstPause, then below twice that, and so on. A longer wait that the
// upstream asks for is kept; when it exceeds longestPause, the request is not
// retried and the client is told the time.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// Open calls the candidates until one accepts: a whole answer has come, or the
// first event of a stream. The Route is filled as far as the call came, also when
// there is an error.
func (p *Plan) Open(ctx context.Context) (*Result, Route, error) {
	got, route, err := p.failover(ctx)
	if err != nil {
		if r, ok := errors.AsType[*providers.Refusal](err); ok {
			route.RequestID = r.RequestID
		}
		return nil, route, p.router.explain(err, route)
	}
	route.RequestID, route.Headers = got.lease.Call.RequestID, got.lease.Call.Told
	p.Answered = got.candidate
	p.router.Metrics.FellBack(route.Model, route.Fallback)
	return got, route, nil
}

// failover attempts the candidates in their order until one accepts or fails
// with a terminal error. Candidates whose keys are all cooling down, or that have only failed
// lately, are attempted after the others: the limit or the outage may have ended early.
func (p *Plan) failover(ctx context.Context) (*Result, Route, error) {
	var failed failure
	var cooling []int
	for i := 0; i < p.Size(); i++ { // it may grow
		if failed.tooLong(p, i) {
			continue
		}
		got, err := p.attempt(ctx, i, false)
		switch {
		case err == nil:
			return got, got.candidate.route, nil
		case errors.Is(err, pool.ErrAllCoolingDown):
			cooling = append(cooling, i)
		case failed.add(p, i, err):
			return nil, failed.route, failed.err
		}
	}
	for _, i := range cooling {
		if failed.tooLong(p, i) {
			continue
		}
		got, err := p.attempt(ctx, i, true)
		if err == nil {
			return got, got.candidate.route, nil
		}
		if failed.add(p, i, err) {
			break
		}
	}
	return nil, failed.route, failed.err
}

// failure is the error that the client gets: that of the requested model, or of
// the first candidate that failed with an error that the client may retry.
type failure struct {
	err     error
	route   Route
	index   int   // of the candidate
	context int64 // the largest context window, in tokens, for which the request was too long
}

// add records the error of candidate i, and says whether it ends the failover.
func (f *failure) add(p *Plan, i int, err error) (ends bool) {
	if i > 0 && api.IsInvalid(err) {
		return false // a fallback's restrictions are not the client's fault
	}
	ends = verdict(err) == providers.Terminal || p.final()
	if window := p.prepared[i].Model.Context; ends && window > 0 && exceedsContext(err) && !p.final() {
		f.context, ends = max(f.context, window), false
	}
	if f.err == nil || ends && !refused(err) || p.Patience.over() || f.improves(i, err) {
		f.err, f.route, f.index = err, p.Route(i), i
	}
	return ends
}

// tooLong says whether the request is known to be too long for the model of candidate i.
func (f *failure) tooLong(p *Plan, i int) bool {
	if f.context == 0 {
		return false
	}
	c, err := p.Candidate(i)
	return err == nil && c.Model.Context <= f.context
}

// exceedsContext says whether an upstream refused a request as too long for its model.
func exceedsContext(err error) bool {
	r, ok := errors.AsType[*providers.Refusal](err)
	return ok && r.ClientError().UpstreamCode == api.CodeContextLength
}

// improves says whether err replaces the present error: an error that the client
// may retry before one that it may not, then the order of the plan, in which a
// candidate keeps its place although its keys were cooling down.
func (f *failure) improves(i int, err error) bool {
	now, before := api.AsError(err).ShouldRetry(), api.AsError(f.err).ShouldRetry()
	return now && !before || now == before && i < f.index
}

// verdict is what an error means for the next attempt. An error that is no
// Refusal is terminal: the client left, or the gateway itself failed.
func verdict(err error) providers.Verdict {
	if r, ok := errors.AsType[*providers.Refusal](err); ok {
		return r.Verdict()
	}
	return providers.Terminal
}

// final says whether no other attempt may follow: the reservation covers one charged call
// only, or the client has been told who answers.
func (p *Plan) final() bool { return p.Paid && len(p.Lost) > 0 || p.Patience.over() }

func refused(err error) bool {
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
}

// attempts are the calls of one candidate: with its keys and its retries.
type attempts struct {
	plan           *Plan
	index          int // of the candidate
	candidate      *Candidate
	ignoreCooldown bool

	retries  int
	switches int         // to other keys
	foreign  []*pool.Key // whose account cannot read what the request carries
	lastKey  *pool.Key   // of the last call
}

func (p *Plan) attempt(ctx context.Context, i int, ignoreCooldown bool) (*Result, error) {
	c, err := p.Candidate(i)
	if err != nil {
		return nil, err
	}
	c.accept = 0
	if p.Size() > i+1 && !p.Paid { // a paid call is not made again elsewhere
		c.accept = p.router.Accept
	}
	if p.Size() > i+1 && !ignoreCooldown && c.upstream.Pauses() {
		return nil, pool.ErrAllCoolingDown
	}
	a := attempts{plan: p, index: i, candidate: c, ignoreCooldown: ignoreCooldown}
	return a.run(ctx)
}

func (a *attempts) run(ctx context.Context) (*Result, error) {
	var last error
	for {
		req := a.plan.input.Request
		l, err := a.candidate.upstream.Lease(pool.Wish{
			Model: a.candidate.Model.ID, Caller: a.plan.input.Caller, Session: cmp.Or(req.CacheKey, req.Session, req.Affinity),
			Avoid: a.lastKey, Only: a.plan.onlyKey(), First: a.firstKey(), Never: a.foreign, IgnoreCooldown: a.ignoreCooldown,
		})
		if err != nil {
			if errors.Is(err, pool.ErrNoKey) {
				err = a.plan.notKept() // its key was there when the request came
			}
			if last != nil { // the provider's own error is more useful than "no key is left"
				err = last
			}
			return nil, err
		}
		l.Repeated = a.plan.repeated(a.candidate.upstream)
		a.plan.Attempts++
		got, err := a.send(ctx, l)
		if err == nil {
			return got, nil
		}
		last, a.lastKey = err, l.Key
		if a.plan.final() {
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

// onlyKey is the fingerprint of the key that keeps what the request goes on from; nil: any
// key will do.
func (p *Plan) onlyKey() []byte {
	if kept := p.input.Request.Kept; kept != nil {
		return kept.Key
	}
	return nil
}

// firstKey is the fingerprint of the key that made what the answer is compared with; nil: none.
func (a *attempts) firstKey() []byte {
	if c := a.plan.input.Request.Compared; c != nil && c.Provider == a.candidate.Model.Provider {
		return c.Key
	}
	return nil
}

// ofAnotherAccount says whether an upstream refused a request because it carries what the
// account of another key has encrypted.
func ofAnotherAccount(err error) bool {
	r, ok := errors.AsType[*providers.Refusal](err)
	return ok && r.OfAnotherAccount()
}

// next says whether the model is called again after err, and after which pause.
func (a *attempts) next(err error) (again bool, wait time.Duration) {
	v, from := verdict(err), a.candidate.upstream
	if silent(err) {
		return false, 0
	}
	if ofAnotherAccount(err) && a.plan.onlyKey() == nil && len(a.foreign) < from.Size()-1 {
		a.foreign = append(a.foreign, a.lastKey)
		return true, 0
	}
	limited := v == providers.RateLimited
	another := a.plan.onlyKey() == nil && a.switches < from.Size()-1
	if another && (v == providers.NextKey || limited) && from.Other(a.lastKey, a.candidate.Model.ID) {
		a.switches++ // is not counted as a retry: the next call uses another key
		return true, 0
	}
	if v != providers.Retryable && !limited || a.retries >= a.plan.router.Retries {
		return false, 0
	}
	e := api.AsError(err)
	if e.Final || a.moveOn(limited, e.RetryAfter) {
		return false, 0
	}
	if wait = backoff(a.retries, e.RetryAfter); wait > longestPause || !from.Retry() {
		return false, 0
	}
	a.retries++
	a.ignoreCooldown = a.ignoreCooldown || limited // no other key is left
	a.plan.router.Metrics.Retried(from.Name)
	return true, wait
}

// silent says whether an upstream did not answer in the time that it had.
func silent(err error) bool {
	r, ok := errors.AsType[*providers.Refusal](err)
	return ok && r.Status == 0 && r.Told == http.StatusGatewayTimeout
}

// shortLimit is the longest wait for a rate limit that is better than the answer of another model.
const shortLimit = 2 * time.Second

// moveOn says whether the next candidate is called rather than this one again. So it is after a rate
// limit, unless that ends soon and the next candidate is another model; and after any other failure,
// if all calls of earlier requests have failed, too.
func (a *attempts) moveOn(limited bool, asked time.Duration) bool {
	if a.index+1 >= a.plan.Size() {
		return false
	}
	if limited {
		return asked == 0 || asked > shortLimit || a.plan.hasUpstream(a.index+1)
	}
	return a.candidate.upstream.OnlyFails(1 + a.retries + a.switches)
}

// hasUpstream says whether candidate i is another upstream of the model of the one before.
func (p *Plan) hasUpstream(i int) bool {
	if i < len(p.prepared) {
		return p.prepared[i].route.Fallback == p.prepared[i-1].route.Fallback
	}
	return len(p.others) > 0
}

// send makes one call with the lease, and a hedged one if that is configured. It
// records the result in the lease, which it ends when the call failed.
func (a *attempts) send(ctx context.Context, l *pool.Lease) (*Result, error) {
	if a.plan.Hedged() {
		return a.race(ctx, l)
	}
	got, err := a.candidate.call(ctx, l)
	a.plan.Waited += l.Took
	a.plan.tried(a.candidate, l, err, false)
	if err != nil {
		a.plan.recordLost(ctx, a.candidate, err)
	}
	return got, err
}

var errPanicked = errors.New("the call panicked")

// call sends the request with a leased key.
func (c *Candidate) call(ctx context.Context, l *pool.Lease) (got *Result, err error) {
	l.Sent = c.router.Now()
	l.Stream = c.stream
	l.Call.User, l.Call.Team = c.user, c.team
	l.Call.Context, l.Trace = c.trace.Attempt(ctx, c.Model.Provider, c.Model.Upstream)
	err = errPanicked
	defer func() { // also after a panic: the circuit breaker must get a result of each call
		l.Took = c.router.Now().Sub(l.Sent)
		l.Answered(err)
		c.router.Metrics.Called(c.Model.Provider, c.Model.ID, outcome(err), l.Took)
		if err != nil {
			l.Trace.Failed(err)
			l.End()
		}
	}()
	got, err = c.open(&l.Call, l) //nolint:contextcheck // it wraps ctx
	// A refusal without an upstream's answer may be shared, and has no id.
	if r, ok := errors.AsType[*providers.Refusal](err); ok && l.Call.RequestID != "" {
		r.RequestID = l.Call.RequestID
	}
	return got, err
}

// backoff is the pause before the next retry: at least what the upstream asked
// for.
func backoff(retries int, asked time.Duration) time.Duration {
	return max(asked, time.Duration(rand.Int64N(int64(firstPause)<<retries)))
}

// sleep waits for d or until ctx ends.
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
	case pool.Canceled(err):
		return metrics.Canceled
	case pool.Failed(err):
		return metrics.Failed
	default:
		return metrics.Refused
	}
}
