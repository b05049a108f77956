package services

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/services/tracing"
)

// plan is the models that may answer a request: the one that was asked for, and
// those that stand in for it.
type plan struct {
	chat       *Chat
	ask        Ask
	trace      *tracing.Chat
	others     []string      // in their order; nil where the client will have none
	hedgeAfter time.Duration // 0 = never
	prepared   []prepared    // as far as they were needed
	room       [1]prepared   // is enough for most
	asked      []*Upstream   // for this request
	alone      [1]*Upstream  // is enough for most

	attempts int           // calls of providers
	waited   time.Duration // for them, pauses included
	lost     []lost        // calls that a provider worked on, and that became no answer
	paid     bool          // from a budget: what a provider has worked on is not asked for again
}

// lost is a call that a provider has worked on as far as anybody can tell, and
// will charge for, though nobody has the answer.
type lost struct {
	model catalog.Model
	usage *api.Usage // nil where it is not known
}

// lose notes that a call of a model ended with err, if it is to be paid for
// nevertheless.
func (p *plan) lose(ctx context.Context, model catalog.Model, err error) {
	e, ok := errors.AsType[*api.Error](err)
	if ok && e.Worked || ctx.Err() != nil && !api.IsProviderError(err) { // or nobody waited any more
		p.lost = append(p.lost, lost{model: model})
	}
}

// prepared is a route, or why there is none.
type prepared struct {
	route
	err error
}

// plan fills in how a request may be answered. A model that the caller's key may
// not ask for stands in for none.
func (c *Chat) plan(p *plan, ask Ask) {
	p.chat, p.ask = c, ask
	p.prepared, p.asked = p.room[:0], p.alone[:0]
	if ask.NoFallback {
		return
	}
	p.others = c.Fallbacks[ask.Request.Model]
	if l := ask.Caller.Limits; l != nil && l.Models != "" {
		p.others = slices.DeleteFunc(slices.Clone(p.others), func(id string) bool { return !l.Allows(id) })
	}
}

func (p *plan) size() int { return 1 + len(p.others) }

// again says whether a provider has been asked for this request before, whatever
// the model, and remembers that it is now.
func (p *plan) again(u *Upstream) bool {
	if slices.Contains(p.asked, u) {
		return true
	}
	p.asked = append(p.asked, u)
	return false
}

// served is how far the model i came.
func (p *plan) served(i int) Served { return p.prepared[i].served }

// route is the model i of the plan, ready to be sent. It is asked for in order.
func (p *plan) route(i int) (*route, error) {
	for len(p.prepared) <= i {
		p.prepared = append(p.prepared, p.prepare(len(p.prepared)))
	}
	r := &p.prepared[i].route
	r.trace = p.trace
	return r, p.prepared[i].err
}

// drop takes the model i, which has been prepared and stands in for another, out
// of the plan. The error is one that ends nothing: those after it are still asked.
func (p *plan) drop(i int) {
	p.prepared[i].err = api.Invalid(api.CodeUnsupportedValue, "model", "nobody has set a price for the model")
}

func (p *plan) prepare(i int) (made prepared) {
	asked := p.ask.Request.Model
	model, err := p.chat.Models.Resolve(asked)
	if err != nil && i == 0 {
		return prepared{err: err}
	}
	made.served = Served{Provider: model.Provider, Model: asked}
	if i > 0 {
		model, err = p.chat.Models.Resolve(p.others[i-1])
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
	made.err = made.prepare(p.chat, p.ask, model)
	return made
}

// redirected is the successor of a model that is retired, where that is wanted
// and the caller's key may ask for it.
func (p *plan) redirected(model catalog.Model, served *Served) catalog.Model {
	c := p.chat
	if !c.Redirect || model.State(c.Now()) != catalog.Retired {
		return model
	}
	next, ok := c.Models.Successor(model)
	if !ok || !p.ask.Caller.Limits.Allows(next.ID) {
		return model
	}
	served.Provider, served.Redirected = next.Provider, next.ID
	return next
}

func (r *route) prepare(c *Chat, ask Ask, model catalog.Model) (err error) {
	r.chat, r.model, r.upstream = c, model, c.Upstreams[model.Provider]
	if r.upstream == nil {
		return notConfigured(model.Provider)
	}
	r.exchange, err = r.upstream.provider.Prepare(providers.Call{Request: ask.Request, Model: model})
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
