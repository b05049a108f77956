package routing

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/services/tracing"
)

// Plan is the candidates for a request: the model that was asked for, and its
// fallbacks.
type Plan struct {
	Trace    *tracing.Chat // of the call; nil = none
	Attempts int           // calls of providers
	Waited   time.Duration // for them, pauses included
	Lost     []Lost        // calls that a provider worked on, and that became no answer
	Paid     bool          // from a budget: what a provider has worked on is not asked for again
	Answered *Candidate    // that answered

	router     *Router
	ask        Ask
	fallbacks  []string         // models, in their order
	hedgeAfter time.Duration    // 0 = never
	prepared   []prepared       // as far as they were needed
	asked      []*pool.Upstream // for this request

	// Room for one of each, which is enough for most requests: two allocations
	// of the 52 that TestAllocationsOfARequest allows.
	onePrepared [1]prepared
	oneAsked    [1]*pool.Upstream
}

// Lost is a call that a provider has probably worked on, and will charge for,
// though its answer was lost.
type Lost struct {
	Model catalog.Model
	Usage *llm.Usage // nil where it is not known
}

// lose notes that a call of a model ended with err, if it has to be paid for
// nevertheless.
func (p *Plan) lose(ctx context.Context, model catalog.Model, err error) {
	r, ok := errors.AsType[*providers.Refusal](err)
	if ok && r.Worked || !ok && ctx.Err() != nil { // or the caller stopped waiting
		p.Lost = append(p.Lost, Lost{Model: model})
	}
}

// Candidate is one way to an answer: a request translated for a model.
type Candidate struct {
	Model catalog.Model

	router   *Router
	exchange providers.Exchange
	upstream *pool.Upstream
	stream   bool
	served   Served
	trace    *tracing.Chat
}

// MaxOutput is the bound of one answer that the provider was told, in tokens;
// 0 = none.
func (c *Candidate) MaxOutput() int64 {
	if bound, ok := c.exchange.(providers.OutputBound); ok {
		return bound.MaxOutput()
	}
	return 0
}

// prepared is a candidate, or why there is none.
type prepared struct {
	Candidate
	err error
}

// Plan fills in how a request may be answered. A model that the caller's key may
// not ask for is no fallback.
func (r *Router) Plan(p *Plan, ask Ask) {
	p.router, p.ask = r, ask
	p.prepared, p.asked = p.onePrepared[:0], p.oneAsked[:0]
	if ask.NoFallback {
		return
	}
	p.fallbacks = r.Fallbacks[ask.Request.Model]
	if l := ask.Limits; l != nil && l.Models != "" {
		p.fallbacks = slices.DeleteFunc(slices.Clone(p.fallbacks), func(id string) bool { return !l.Allows(id) })
	}
}

// Size is how many candidates the plan has.
func (p *Plan) Size() int { return 1 + len(p.fallbacks) }

// again says whether a provider has been asked for this request before, whatever
// the model, and remembers that it is now.
func (p *Plan) again(u *pool.Upstream) bool {
	if slices.Contains(p.asked, u) {
		return true
	}
	p.asked = append(p.asked, u)
	return false
}

// Served is how far the candidate i came.
func (p *Plan) Served(i int) Served { return p.prepared[i].served }

// Candidate is the candidate i of the plan, ready to be sent. Candidates are
// asked for in their order.
func (p *Plan) Candidate(i int) (*Candidate, error) {
	for len(p.prepared) <= i {
		p.prepared = append(p.prepared, p.prepare(len(p.prepared)))
	}
	c := &p.prepared[i].Candidate
	c.trace = p.Trace
	return c, p.prepared[i].err
}

// Drop takes the fallback i, which has been prepared, out of the plan. The error
// is one that ends nothing: those after it are still asked.
func (p *Plan) Drop(i int) {
	p.prepared[i].err = api.Invalid(api.CodeUnsupportedValue, "model", "the model has no price")
}

func (p *Plan) prepare(i int) (made prepared) {
	asked := p.ask.Request.Model
	model, err := p.router.Models.Resolve(asked)
	if err != nil && i == 0 {
		return prepared{err: err}
	}
	made.served = Served{Provider: model.Provider, Model: asked}
	if i > 0 {
		model, err = p.router.Models.Resolve(p.fallbacks[i-1])
		if err != nil {
			made.err = err
			return made
		}
		made.served.Provider = model.Provider
	}
	model = p.redirected(model, &made.served)
	if i > 0 {
		made.served.Fallback = model.ID
	}
	made.router, made.Model, made.stream = p.router, model, p.ask.Request.Stream
	made.err = made.prepare(p.ask)
	return made
}

// redirected is the successor of a model that is retired, where that is wanted
// and the caller's key may ask for it.
func (p *Plan) redirected(model catalog.Model, served *Served) catalog.Model {
	r := p.router
	if !r.Redirect || model.State(r.Now()) != catalog.Retired {
		return model
	}
	next, ok := r.Models.Successor(model)
	if !ok || !p.ask.Limits.Allows(next.ID) {
		return model
	}
	served.Provider, served.Redirected = next.Provider, next.ID
	return next
}

// prepare translates the request for the candidate's provider.
func (c *Candidate) prepare(ask Ask) (err error) {
	c.upstream = c.router.Upstreams[c.Model.Provider]
	if c.upstream == nil {
		return notConfigured(c.Model.Provider)
	}
	c.exchange, err = c.upstream.Prepare(providers.Call{Request: ask.Request, Model: c.Model})
	if err != nil {
		return err
	}
	ignored := c.exchange.Ignored()
	c.served.Ignored = ignored
	if ask.Strict && len(ignored) > 0 {
		const most = 10
		names := strings.Join(ignored[:min(most, len(ignored))], ", ")
		return api.Invalid(api.CodeUnsupportedValue, ignored[0],
			"%s cannot honour %s with the model %s", c.Model.Provider, api.Quoted(names), api.Quoted(c.Model.ID))
	}
	return nil
}

func notConfigured(provider string) *providers.Refusal {
	return &providers.Refusal{
		Provider: provider, Told: http.StatusServiceUnavailable, Public: provider + " is not configured: the gateway has no key for it",
		RetryAfter: time.Minute, Final: true,
	}
}
