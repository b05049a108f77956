package inference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/internal/spelling"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/budget"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
)

// Admit checks that the requested model exists and is allowed, that the request
// can be translated, and that the caller's limits and budgets cover what it is expected
// to cost. The call must be ended if there is no error; with an error it is returned for
// its Route only.
func (s *Service) Admit(ctx context.Context, input Input) (*Call, error) {
	call := s.call(input)
	return call, call.admit(ctx)
}

func (s *Service) call(input Input) *Call {
	input.Request.Model = s.Router().Models.Meant(input.Request.Model)
	c := &Call{service: s, input: input}
	c.row.ID = input.ID
	c.row.Stream, c.row.Dialect, c.row.UserAgent = input.Request.Stream, string(input.Request.Source.Dialect()), input.UserAgent
	s.Router().Plan(&c.plan, routing.Input{
		Request: input.Request, Levels: input.Caller.Levels, Strict: input.Strict, NoFallback: input.NoFallback,
		Caller: c.payer(), UserID: input.Caller.UserID, TeamID: input.Caller.TeamID, Ignored: input.Ignored,
		Fallbacks: input.Fallbacks,
	})
	return c
}

// payer is who makes the call: all keys of a user are one caller.
func (c *Call) payer() string {
	return cmp.Or(c.input.Caller.UserID, c.input.Caller.KeyID, c.input.Caller.Address)
}

func (c *Call) admit(ctx context.Context) error {
	levels, requested := c.input.Caller.Levels, c.input.Request.Model
	if levels.Refusing(requested) != nil { // else a look-up would be for nothing
		if err := c.checkAllowed(requested); err != nil {
			return err
		}
	}
	for _, name := range c.input.Fallbacks {
		if err := c.checkAllowed(name); err != nil {
			return err
		}
	}
	if c.input.Unknown != nil {
		return c.input.Unknown
	}
	first, err := c.plan.Candidate(0)
	c.route = c.plan.Route(0)
	if err != nil && !isRefusal(err) {
		return err
	}
	var all [len(models.Holds{})]budget.Budget
	budgets := c.budgets(all[:0])
	c.plan.Paid = len(budgets) > 0
	if err := c.checkMembers(); err != nil {
		return err
	}
	if err := c.estimateCost(); err != nil {
		return err
	}
	if ratelimit.HasQuota(levels) {
		tokens := tokens.Expected(c.input.Request, first.Model)
		if c.quota, err = c.service.Quotas.Take(ctx, levels, tokens); err != nil {
			return err
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	if c.reserved, err = c.service.Budgets.Reserve(ctx, c.input.Began, c.Need(), budgets...); err != nil {
		c.quota.End(0) //nolint:contextcheck // what was taken is given back, also after ctx has ended
		return err
	}
	if c.service.Ledger != nil {
		c.reserved.Running(c.running())
	}
	return nil
}

// checkAllowed refuses a name that means no model, or one that the caller may not request.
func (c *Call) checkAllowed(name string) error {
	model, err := c.plan.Router().Models.Resolve(name)
	if err != nil {
		return err
	}
	level := routing.Refusing(c.input.Caller.Levels, name, model)
	if level == nil {
		return nil
	}
	c.route = routing.Route{Provider: model.Provider, Model: c.input.Request.Model}
	return modelNotAllowed(level, name)
}

// running is what is booked of the call if this process dies.
func (c *Call) running() *models.RunningCall {
	c.identify()
	r := &models.RunningCall{Call: c.row, MaxOutput: c.most.output, MaxOutputCost: c.most.outputCost}
	r.InputTokens, r.Cost = c.most.input, c.most.inputCost
	r.Provider, r.Served = c.route.Provider, cmp.Or(c.route.Redirected, c.route.Alias, c.route.Model)
	r.TokensPerSecond = tokensPerSecond * max(c.input.Request.Choices, 1)
	return r
}

// identify sets the members of the row that say whose call it is.
func (c *Call) identify() {
	r := &c.row
	if r.BeganAt != 0 {
		return
	}
	r.RequestID = c.input.RequestID
	r.UserID, r.TeamID, r.KeyID = c.input.Caller.UserID, c.input.Caller.TeamID, c.input.Caller.KeyID
	r.Model, r.BeganAt, r.Holds = c.input.Request.Model, c.input.Began.UnixMicro(), c.reserved.Holds()
	of := &c.input.Origin
	r.Project, r.Session, r.AgentID, r.ParentAgentID, r.Agent = of.Project, of.Session, of.AgentID, of.ParentAgentID, of.Agent
}

// modelNotAllowed refuses a model that a level does not allow, and names some that it does.
func modelNotAllowed(level *models.Level, model string) *api.Error {
	const shown = 5
	allowed := strings.Split(string(level.Models), ",")
	for i, name := range allowed {
		allowed[i] = api.Quoted(name)
	}
	names := strings.Join(allowed[:min(shown, len(allowed))], ", ")
	if more := len(allowed) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return notAllowed(level.Name + " does not allow the model " + api.Quoted(model) + "; it allows " + names)
}

func notAllowed(message string) *api.Error {
	return &api.Error{
		Status: http.StatusForbidden, Type: api.TypePermission, Code: api.CodeModelNotAllowed, Param: "model", Message: message,
		Limit: metrics.LimitModel,
	}
}

// budgets adds to all those that pay for the call: of its levels, of the gateway and of its session.
func (c *Call) budgets(all []budget.Budget) []budget.Budget {
	levels := c.input.Caller.Levels
	for i := range levels {
		if l := &levels[i]; l.BudgetWindow != "" {
			all = append(all, budget.Budget{Account: l.Account, Window: l.BudgetWindow, Limit: l.BudgetAt(c.input.Began), Name: l.Name})
		}
	}
	if b := c.service.Budget; b != nil {
		all = append(all, *b)
	}
	if session := c.input.Origin.Session; session != "" {
		if l := levels.SessionBudget(); l != nil {
			owner := models.CallerAccount(c.input.Caller.UserID, c.input.Caller.KeyID)
			all = append(all, budget.Budget{
				Account: models.SessionAccount(owner, session), Window: models.Total, Limit: l.SessionBudget,
				Name: "this session", Session: l.Name,
			})
		}
	}
	return all
}

// checkHosted refuses what has no price of the tools that the provider runs.
func (c *Call) checkHosted(model *catalog.Model, price catalog.Price) error {
	r := c.input.Request
	if r.Unpriced != "" {
		return unbounded(r.Unpriced)
	}
	if r.Searches > 0 && price.OneSearch() == 0 {
		return notAllowed("the price of a web search is not known for the model " + api.Quoted(model.ID) + ", and this call is paid " +
			"from a budget: leave web search out, or let an operator set the fee in MODELS_FILE")
	}
	return nil
}

// way is how the request asks to be served, beside its service tier.
func (c *Call) way() catalog.Way {
	return catalog.Way{Speed: c.input.Request.Speed, Geo: c.input.Request.Geo}
}

// checkPrice refuses a model without a price, or without one of what the request asks for:
// a service tier, or a prompt with audio.
func (c *Call) checkPrice(model *catalog.Model, price catalog.Price, audio bool) error {
	if !price.Known {
		return notAllowed("the model " + api.Quoted(model.ID) + " has no price, and this call is paid from a budget: use another model, " +
			"or let an operator set its price in MODELS_FILE, or DEFAULT_PRICE_USD for all models without a price")
	}
	if model.Traits.Searches && price.OneSearch() == 0 {
		return notAllowed("the model " + api.Quoted(model.ID) + " searches the web with each call, the price of a search is not known, " +
			"and this call is paid from a budget: use another model, or let an operator set the fee in MODELS_FILE")
	}
	if price.Rates[catalog.Seconds] > 0 {
		return notAllowed("the model " + api.Quoted(model.ID) + " is paid by the second, how many seconds a call has is not known, " +
			"and this call is paid from a budget: use another model")
	}
	if price.Free() {
		return nil // in any way of serving
	}
	way := c.way()
	if _, known := price.In(catalog.Way{Speed: way.Speed}); !known {
		return unbounded("speed") // a member of Anthropic's API only
	}
	if _, known := price.In(catalog.Way{Geo: way.Geo}); !known {
		return unbounded("inference_geo") // likewise
	}
	if c.input.Request.ServiceTier == "priority" && price.Factors.Priority == 0 {
		return unbounded(c.input.Request.Path(llm.FieldServiceTier))
	}
	if audio && price.Rates[catalog.AudioTokens] == 0 {
		return api.Invalid(api.CodeUnsupportedValue, c.input.Request.Path(llm.FieldPart),
			"the model %s has no price for audio, and this call is paid from a budget: leave the audio out, "+
				"or let an operator set a price in MODELS_FILE", api.Quoted(model.ID))
	}
	return nil
}

// checkMembers refuses a member that is unknown, or that may choose another model or a higher
// cost, of a call whose models or cost are limited: a compatible server may obey it.
func (c *Call) checkMembers() error {
	limited := c.input.Caller.Levels.LimitedToModels()
	if !c.plan.Paid && limited == nil {
		return nil
	}
	source := c.input.Request.Source
	foreign := source.Foreign
	if c.plan.Router().Vendors(source.Dialect()) {
		foreign = source.Chooses
	}
	name := foreign()
	if name == "" {
		return nil
	}
	why := "this call is paid from a budget"
	if !c.plan.Paid {
		why = limited.Name + " is limited to some models"
	}
	return api.Invalid(api.CodeUnsupportedValue, name,
		"%s could have another model answer, or cost more, and %s: leave it out%s", api.Quoted(name), why, meant(c.input.Request, name))
}

// meant asks for the member of a request that a misspelt name may mean, or is empty.
func meant(r *llm.Request, name string) string {
	var known []string
	for field := llm.FieldModel; field <= llm.FieldParallelCalls; field++ {
		known = append(known, r.Path(field))
	}
	near := spelling.Nearest(name, known, 1)
	if len(near) == 0 || near[0] == name {
		return ""
	}
	return "; did you mean " + api.Quoted(near[0]) + "?"
}

// checkPriced refuses requests whose cost tokens do not bound: their price is not
// known beforehand.
func checkPriced(r *llm.Request) error {
	var field llm.Field
	switch {
	case !slices.Contains([]string{"", "auto", "default", "flex", "priority"}, r.ServiceTier):
		field = llm.FieldServiceTier
	case slices.Contains(r.Modalities, "audio"):
		field = llm.FieldModalities
	case r.WebSearch != nil:
		field = llm.FieldWebSearch
	case r.Audio != nil:
		field = llm.FieldAudio
	default:
		return nil
	}
	return unbounded(r.Path(field))
}

func unbounded(param string) error {
	return api.Invalid(api.CodeUnsupportedValue, param,
		"the cost of %s is not known beforehand, and this call is paid from a budget: leave it out", param)
}

// isRefusal says whether err is a provider's, not the gateway's.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
}

// PriceOf is the price of a model by its name at a time; the zero Price for an unknown one.
func (s *Service) PriceOf(name string, at time.Time) catalog.Price {
	model, err := s.Router().Models.Resolve(name)
	switch {
	case err != nil:
		return catalog.Price{}
	case !model.Price.Known:
		return s.DefaultPrice
	}
	return model.PriceAt(at)
}

// price is the model's price in the catalogue, or the default.
func (s *Service) price(m *catalog.Model) catalog.Price {
	if !m.Price.Known {
		return s.DefaultPrice
	}
	return m.PriceAt(s.Now())
}
