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
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/services/tracing"
)

// Plan is the models that may answer a request: the one that was asked for, and
// those that stand in for it.
type Plan struct {
	Trace    *tracing.Chat // of the call; nil = none
	Attempts int           // calls of providers
	Waited   time.Duration // for them, pauses included
	Lost     []Lost        // calls that a provider worked on, and that became no answer
	Paid     bool          // from a budget: what a provider has worked on is not asked for again
	Answered *Route        // who answered

	router     *Router
	ask        Ask
	others     []string          // in their order; nil where the client will have none
	hedgeAfter time.Duration     // 0 = never
	prepared   []prepared        // as far as they were needed
	room       [1]prepared       // is enough for most
	asked      []*pool.Upstream  // for this request
	alone      [1]*pool.Upstream // is enough for most
}

// Lost is a call that a provider has worked on as far as anybody can tell, and
// will charge for, though nobody has the answer.
type Lost struct {
	Model catalog.Model
	Usage *api.Usage // nil where it is not known
}

// lose notes that a call of a model ended with err, if it is to be paid for
// nevertheless.
func (p *Plan) lose(ctx context.Context, model catalog.Model, err error) {
	e, ok := errors.AsType[*api.Error](err)
	if ok && e.Worked || ctx.Err() != nil && !api.IsProviderError(err) { // or nobody waited any more
		p.Lost = append(p.Lost, Lost{Model: model})
	}
}

// prepared is a route, or why there is none.
type prepared struct {
	Route
	err error
}

// Plan fills in how a request may be answered. A model that the caller's key may
// not ask for stands in for none.
func (c *Router) Plan(p *Plan, ask Ask) {
	p.router, p.ask = c, ask
	p.prepared, p.asked = p.room[:0], p.alone[:0]
	if ask.NoFallback {
		return
	}
	p.others = c.Fallbacks[ask.Request.Model]
	if l := ask.Limits; l != nil && l.Models != "" {
		p.others = slices.DeleteFunc(slices.Clone(p.others), func(id string) bool { return !l.Allows(id) })
	}
}

// Size is how many models the plan has.
func (p *Plan) Size() int { return 1 + len(p.others) }

// again says whether a provider has been asked for this request before, whatever
// the model, and remembers that it is now.
func (p *Plan) again(u *pool.Upstream) bool {
	if slices.Contains(p.asked, u) {
		return true
	}
	p.asked = append(p.asked, u)
	return false
}

// Served is how far the model i came.
func (p *Plan) Served(i int) Served { return p.prepared[i].served }

// Route is the model i of the plan, ready to be sent. It is asked for in order.
func (p *Plan) Route(i int) (*Route, error) {
	for len(p.prepared) <= i {
		p.prepared = append(p.prepared, p.prepare(len(p.prepared)))
	}
	r := &p.prepared[i].Route
	r.trace = p.Trace
	return r, p.prepared[i].err
}

// Drop takes the model i, which has been prepared and stands in for another, out
// of the plan. The error is one that ends nothing: those after it are still asked.
func (p *Plan) Drop(i int) {
	p.prepared[i].err = api.Invalid(api.CodeUnsupportedValue, "model", "nobody has set a price for the model")
}

func (p *Plan) prepare(i int) (made prepared) {
	asked := p.ask.Request.Model
	model, err := p.router.Models.Resolve(asked)
	if err != nil && i == 0 {
		return prepared{err: err}
	}
	made.served = Served{Provider: model.Provider, Model: asked}
	if i > 0 {
		model, err = p.router.Models.Resolve(p.others[i-1])
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
	made.err = made.prepare(p.router, p.ask, model)
	return made
}

// redirected is the successor of a model that is retired, where that is wanted
// and the caller's key may ask for it.
func (p *Plan) redirected(model catalog.Model, served *Served) catalog.Model {
	c := p.router
	if !c.Redirect || model.State(c.Now()) != catalog.Retired {
		return model
	}
	next, ok := c.Models.Successor(model)
	if !ok || !p.ask.Limits.Allows(next.ID) {
		return model
	}
	served.Provider, served.Redirected = next.Provider, next.ID
	return next
}

func (r *Route) prepare(c *Router, ask Ask, model catalog.Model) (err error) {
	r.router, r.Model, r.upstream = c, model, c.Upstreams[model.Provider]
	if r.upstream == nil {
		return notConfigured(model.Provider)
	}
	r.exchange, err = r.upstream.Prepare(providers.Call{Request: ask.Request, Model: model})
	if err != nil {
		return err
	}
	ignored := r.exchange.Ignored()
	r.served.Ignored = ignored
	if ask.Strict && len(ignored) > 0 {
		const most = 10
		return api.Invalid(api.CodeUnsupportedValue, ignored[0],
			"%s cannot honour %s with the model %s", model.Provider, api.Quoted(strings.Join(ignored[:min(most, len(ignored))], ", ")), api.Quoted(model.ID))
	}
	return nil
}

func notConfigured(provider string) *api.Error {
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: provider,
		Message:    provider + " is not configured: the gateway has no key for it",
		RetryAfter: time.Minute, Final: true,
	}
}
