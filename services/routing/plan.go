package routing

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/services/tracing"
)

// Plan is the candidates for a request: the model that was asked for, and its
// fallbacks.
type Plan struct {
	Trace    *tracing.Chat // of the call; nil = none
	Attempts int           // number of provider calls
	Tries    []Try         // those of them that have ended or answered
	Waited   time.Duration // duration of these calls, with the pauses between them
	Lost     []Lost        // calls that will be charged although their answer was not used
	Paid     bool          // from a budget: no retry after a call that will be charged
	// Outlasts says whether the rest of a candidate's answer is read after the client
	// has left. It may be called on any goroutine. nil = never.
	Outlasts func(*Candidate) bool
	Patience *Patience  // with upstreams that have accepted a stream and do not begin it; nil = any time
	Answered *Candidate // the one that answered; nil = none

	router     *Router
	input      Input
	unlisted   bool             // the fallbacks have not been looked up
	fallbacks  []string         // models, in their order; see list
	next       int              // the fallback that follows the prepared candidates
	others     []candidateOf    // further upstreams of the model that was prepared last
	redirect   bool             // a retired model's successor may answer
	hedgeAfter time.Duration    // 0 = never
	prepared   []prepared       // as far as they were needed
	called     []*pool.Upstream // for this request
}

// Lost is a call that its provider will probably charge for although its answer
// was lost or not used.
type Lost struct {
	Model     *catalog.Model
	Usage     *llm.Usage // nil = unknown
	MaxOutput int64      // tokens; see Candidate.MaxOutput
	Endless   bool       // it was left or took too long: its answer may have come to any length
}

// recordLost adds a call of a candidate that failed with err, if its provider will
// probably charge for it.
func (p *Plan) recordLost(ctx context.Context, c *Candidate, err error) {
	r, ok := errors.AsType[*providers.Refusal](err)
	if ok && r.Worked || !ok && ctx.Err() != nil { // or the client left
		late := ok && r.Told == http.StatusGatewayTimeout
		left := !ok && !errors.Is(context.Cause(ctx), errSlower)
		p.Lost = append(p.Lost, Lost{Model: c.Model, MaxOutput: c.MaxOutput(), Endless: late || left})
	}
}

// Candidate is a request translated for one model of the plan.
type Candidate struct {
	Model *catalog.Model

	router   *Router
	exchange providers.Exchange
	known    providers.Properties // of the exchange
	upstream *pool.Upstream
	stream   bool
	route    Route
	trace    *tracing.Chat
	outlasts func(*Candidate) bool // see Plan
	user     string                // see Input
	team     string                // likewise
	patience *Patience             // likewise
	accept   time.Duration         // timeout of a stream to be accepted; 0 = none
}

// MaxOutput is the limit of one answer's tokens that the translated request
// carries; 0 = none.
func (c *Candidate) MaxOutput() int64 { return c.known.MaxOutput }

// Body is the translated request as the upstream gets it, in pieces; nil where its prompt is the
// client's as it came.
func (c *Candidate) Body() [][]byte { return c.known.Body }

// prepared is a candidate, or the error of its preparation.
type prepared struct {
	Candidate
	err error
}

// Plan fills in the candidates of a request. A request of a kind that is not
// interchangeable, or that goes on from what a provider keeps, has one candidate, which is
// not hedged.
func (r *Router) Plan(p *Plan, input Input) {
	p.router, p.input = r, input
	if !input.Request.Kind.Interchangeable() {
		return
	}
	p.redirect = r.Redirect
	if input.Request.Kept != nil {
		return // only its provider knows it
	}
	if !input.Request.Stream {
		p.hedgeAfter = r.HedgeAfter
	}
	switch {
	case input.NoFallback:
	case len(input.Fallbacks) > 0:
		p.fallbacks = slices.DeleteFunc(slices.Clone(input.Fallbacks), func(id string) bool { return id == input.Request.Model })
	default:
		p.unlisted = len(r.Fallbacks) > 0
	}
}

// list finds the fallbacks of the request, when the first of them may be needed. Those that
// the caller's key, its user or its team does not allow are left out.
func (p *Plan) list() []string {
	if p.unlisted {
		p.unlisted = false
		p.fallbacks = p.router.fallbacks(p.input.Request.Model)
		if len(p.fallbacks) > 0 && p.input.Levels.LimitedToModels() != nil {
			refused := func(id string) bool { return p.router.refused(p.input.Levels, id) }
			p.fallbacks = slices.DeleteFunc(slices.Clone(p.fallbacks), refused)
		}
	}
	return p.fallbacks
}

// fallbacks are those of a name, then those of the model that it means, then those of
// the pattern that it matches.
func (r *Router) fallbacks(name string) []string {
	model, err := r.Models.Resolve(name)
	if err != nil {
		return nil
	}
	pattern := r.matching(model)
	if model.ID == name && pattern == "" {
		return r.Fallbacks[name]
	}
	lists := [][]string{r.Fallbacks[name], r.Fallbacks[pattern]}
	if model.ID != name {
		lists = slices.Insert(lists, 1, r.Fallbacks[model.ID])
	}
	var all []string
	for _, list := range lists {
		for _, id := range list {
			if id != name && id != model.ID && !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// matching is the longest pattern of fallbacks that a model matches, such as claude-* or
// anthropic/*; empty when there is none.
func (r *Router) matching(model *catalog.Model) string {
	longest := ""
	for _, pattern := range r.Patterns {
		prefix := strings.TrimSuffix(pattern, "*")
		if len(pattern) > len(longest) && (strings.HasPrefix(model.ID, prefix) || strings.HasPrefix(model.FullName(), prefix)) {
			longest = pattern
		}
	}
	return longest
}

// Router is the one that made the plan.
func (p *Plan) Router() *Router { return p.router }

// refused says whether a caller may not request a fallback.
func (r *Router) refused(levels models.Levels, id string) bool {
	model, err := r.Models.Resolve(id)
	return err != nil || Refusing(levels, id, model) != nil
}

// Hedged says whether a second call may be made while the first one runs, so that
// both are charged.
func (p *Plan) Hedged() bool { return p.hedgeAfter > 0 }

// Size is the number of candidates, of which the first is the requested model. It grows
// when a model with several upstreams is prepared: each is a candidate.
func (p *Plan) Size() int {
	return max(len(p.prepared), 1) + len(p.others) + len(p.list()) - p.next
}

// repeated says whether the upstream has been called for this request before,
// with any model, and records the call that follows.
func (p *Plan) repeated(u *pool.Upstream) bool {
	if slices.Contains(p.called, u) {
		return true
	}
	p.called = append(p.called, u)
	return false
}

// Route is the route of candidate i, which must have been prepared.
func (p *Plan) Route(i int) Route { return p.prepared[i].route }

// Candidate prepares candidate i, and those before it, unless that has been done.
func (p *Plan) Candidate(i int) (*Candidate, error) {
	for len(p.prepared) <= i {
		made := p.prepare(len(p.prepared))
		if made.Model == nil { // its name means none
			made.Model = &catalog.Model{}
		}
		p.prepared = append(p.prepared, made)
	}
	c := &p.prepared[i].Candidate
	c.trace, c.outlasts, c.patience = p.Trace, p.Outlasts, p.Patience
	c.user, c.team = p.input.UserID, p.input.TeamID
	return c, p.prepared[i].err
}

// Drop excludes the prepared fallback i from the plan. Its error is an invalid
// request, after which failover continues with the next candidate.
func (p *Plan) Drop(i int) {
	p.prepared[i].err = api.Invalid(api.CodeUnsupportedValue, "model", "the model has no price")
}

func (p *Plan) prepare(i int) (made prepared) {
	if len(p.others) > 0 {
		of := p.others[0]
		p.others = p.others[1:]
		return p.prepareCandidate(of)
	}
	requested := p.input.Request.Model
	model, err := p.router.Models.Resolve(requested)
	if err != nil && i == 0 {
		return prepared{err: err}
	}
	of := candidateOf{route: Route{Model: requested}}
	if err == nil { // else its provider has stopped listing it since the first candidate
		of.route.Provider = model.Provider
		if model.ID != requested {
			of.route.Alias = model.ID
		}
	}
	if i > 0 {
		model, err = p.router.Models.Resolve(p.list()[p.next])
		p.next++
		if err != nil {
			made.route, made.err = of.route, err
			return made
		}
		of.route.Provider = model.Provider
	}
	of.model = p.redirected(model, &of.route)
	if i > 0 {
		of.route.Fallback = of.model.ID
	}
	switch kept := p.input.Request.Kept; {
	case kept != nil:
		at, err := p.keeping(of.model, kept)
		if err != nil {
			return prepared{Candidate: Candidate{route: of.route}, err: err}
		}
		of.model, of.route.Provider = at, at.Provider
	case len(of.model.Others) > 0:
		of = p.spread(of)
	}
	return p.prepareCandidate(of)
}

// prepareCandidate returns a candidate with the request as its provider takes it.
func (p *Plan) prepareCandidate(of candidateOf) (made prepared) {
	made.router, made.Model, made.stream, made.route = p.router, of.model, p.input.Request.Stream, of.route
	made.err = made.prepare(p.input)
	return made
}

// redirected is the successor of a retired model, if the plan redirects and the
// caller may request it; else the model itself.
func (p *Plan) redirected(model *catalog.Model, route *Route) *catalog.Model {
	r := p.router
	if !p.redirect || model.State(r.Now()) != catalog.Retired {
		return model
	}
	next, ok := r.Models.Successor(model)
	if !ok || p.input.Levels.Refusing(next.ID, next.FullName()) != nil {
		return model
	}
	route.Provider, route.Redirected = next.Provider, next.ID
	return next
}

// prepare translates the request for the candidate's provider.
func (c *Candidate) prepare(input Input) (err error) {
	call := providers.Call{Request: input.Request, Model: c.Model, Moved: c.route.moved()}
	if err := call.Check(); err != nil {
		return c.router.unsuited(err, call, input.Levels) // also where the provider is not configured: a key would not help
	}
	c.upstream = c.router.Upstreams[c.Model.Provider]
	if c.upstream == nil {
		return c.router.notConfigured(c.Model.Provider)
	}
	c.route.Native = c.upstream.Speaks(input.Request.Source.Dialect(), c.Model)
	c.exchange, err = c.upstream.Prepare(call)
	if err != nil {
		return err
	}
	c.known = c.exchange.Properties()
	ignored := c.known.Ignored
	c.route.Ignored, c.route.Decoded = ignored, c.known.Decoded
	if len(input.Ignored) > 0 {
		c.route.Ignored = slices.Concat(input.Ignored, ignored)
	}
	if input.Strict && len(ignored) > 0 {
		const maxNames = 10
		names := strings.Join(ignored[:min(maxNames, len(ignored))], ", ")
		return api.Invalid(api.CodeUnsupportedValue, ignored[0],
			"%s does not support %s with the model %s: leave it out, or send x-gateway-strict-params: false",
			c.Model.Provider, api.Quoted(names), api.Quoted(c.Model.ID))
	}
	return nil
}

func (r *Router) notConfigured(provider string) *providers.Refusal {
	what := "the key of " + provider
	if r.Models.KeySetting != nil {
		what = cmp.Or(r.Models.KeySetting(provider), what)
	}
	return &providers.Refusal{
		Provider: provider, Told: http.StatusServiceUnavailable,
		Public:     provider + " is not configured: an operator has to set " + what + r.Models.Trial,
		RetryAfter: time.Minute, Final: true,
	}
}
