package inference

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/budget"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
)

// Admit checks that the requested model exists and is allowed, that the request
// can be translated, and that the caller's limits and budgets cover the upper
// bound of its cost. The call must be ended if there is no error; with an error it
// is returned for its Route only.
func (s *Service) Admit(ctx context.Context, input Input) (*Call, error) {
	call := s.call(input)
	return call, call.admit(ctx)
}

func (s *Service) call(input Input) *Call {
	c := &Call{service: s, input: input}
	c.row.Stream = input.Request.Stream
	s.Router.Plan(&c.plan, routing.Input{
		Request: input.Request, Limits: input.Caller.Limits, Strict: input.Strict, NoFallback: input.NoFallback,
		Caller: cmp.Or(input.Caller.UserID, input.Caller.Address), // all keys of a user are one caller
	})
	return c
}

func (c *Call) admit(ctx context.Context) error {
	limits := c.input.Caller.Limits
	if requested := c.input.Request.Model; !limits.Allows(requested) {
		model, err := c.service.Router.Models.Resolve(requested)
		if err != nil {
			return err
		}
		c.route = routing.Route{Provider: model.Provider, Model: requested}
		return notAllowed("this API key does not allow the model " + api.Quoted(requested))
	}
	first, err := c.plan.Candidate(0)
	c.route = c.plan.Route(0)
	if err != nil && !isRefusal(err) {
		return err
	}
	budgets := c.budgets()
	c.plan.Paid = len(budgets) > 0
	if err := c.checkMembers(); err != nil {
		return err
	}
	maxCost, err := c.maxCost()
	if err != nil {
		return err
	}
	if limits != nil && (limits.TPMLimit > 0 || limits.MaxParallel > 0) {
		tokens := tokens.Expected(c.input.Request, first.Model)
		if c.quota, err = c.service.Quotas.Take(ctx, c.input.Caller.Account(), limits, tokens); err != nil {
			return err
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	if c.reserved, err = c.service.Budgets.Reserve(ctx, c.input.Began, maxCost, budgets...); err != nil {
		c.quota.End(0) //nolint:contextcheck // what was taken is given back, also after ctx has ended
		return err
	}
	if c.service.Ledger != nil {
		c.reserved.Running(c.running())
	}
	return nil
}

// running is what is booked of the call if this process dies.
func (c *Call) running() models.RunningCall {
	c.identify()
	r := models.RunningCall{Call: c.row, MaxOutput: c.most.output, MaxOutputCost: c.most.outputCost}
	r.InputTokens, r.Cost = c.most.input, c.most.inputCost
	r.Provider, r.Served = c.route.Provider, cmp.Or(c.route.Redirected, c.route.Model)
	r.TokensPerSecond = tokensPerSecond * max(c.input.Request.Choices, 1)
	ledger.CleanCall(&r.Call)
	return r
}

// identify sets the members of the row that say whose call it is.
func (c *Call) identify() {
	r := &c.row
	if r.ID != "" {
		return
	}
	r.ID, r.RequestID, r.UserID, r.KeyID = ledger.NewCallID(c.input.Began), c.input.RequestID, c.input.Caller.UserID, c.input.Caller.KeyID
	r.Model, r.BeganAt, r.Holds = c.input.Request.Model, c.input.Began.UnixMicro(), c.reserved.Holds()
}

func notAllowed(message string) *api.Error {
	return &api.Error{
		Status: http.StatusForbidden, Type: api.TypePermission, Code: api.CodeModelNotAllowed, Param: "model", Message: message,
		Limit: metrics.LimitModel,
	}
}

// budgets are those that pay for the call.
func (c *Call) budgets() []budget.Budget {
	var of []budget.Budget
	if l := c.input.Caller.Limits; l != nil && l.BudgetWindow != "" {
		account := models.KeyAccount(c.input.Caller.KeyID)
		of = append(of, budget.Budget{Account: account, Window: l.BudgetWindow, Limit: l.Budget, Name: "this API key"})
	}
	if all := c.service.Budget; all != nil {
		of = append(of, *all)
	}
	return of
}

// maxCost is an upper bound of the call's cost in micro-dollars, over all models
// of its plan; 0 if no budget pays for it. It drops fallbacks without a price.
func (c *Call) maxCost() (int64, error) {
	if !c.plan.Paid {
		return 0, nil
	}
	if err := checkPriced(c.input.Request); err != nil {
		return 0, err
	}
	var bound int64
	size := c.input.Request.Source.Size()
	for i := 0; i < c.plan.Size(); i++ {
		r, err := c.plan.Candidate(i)
		if err != nil {
			continue // no provider will be called
		}
		price := c.service.price(r.Model)
		if err := c.checkPrice(r.Model, price, size.Sounds > 0); err != nil {
			if i == 0 {
				return 0, err
			}
			c.plan.Drop(i)
			continue
		}
		images := c.service.Images[r.Model.Provider]
		if tokens.MaySound(&size, images) {
			price = price.WithAudio()
		}
		input, output := tokens.Max(c.input.Request, r.Model, images, r.MaxOutput())
		if cost := price.MaxCost(input, output); cost > bound {
			bound = cost
			inputCost := min(price.MaxCost(input, 0), cost)
			c.most = most{input: input, inputCost: inputCost, output: output, outputCost: cost - inputCost}
		}
	}
	if c.plan.Hedged() {
		bound *= 2
	}
	return bound, nil
}

// checkPrice refuses a model without a price, or without one of sounds for a prompt that
// has some.
func (c *Call) checkPrice(model catalog.Model, price catalog.Price, sounds bool) error {
	if !price.Known {
		return notAllowed("no price is set for the model " + api.Quoted(model.ID) + ", and this call is paid from a budget")
	}
	if sounds && price.Audio == 0 {
		return api.Invalid(api.CodeUnsupportedValue, c.input.Request.Path(llm.FieldPart),
			"no price of sounds is set for the model %s, and this call is paid from a budget", api.Quoted(model.ID))
	}
	return nil
}

// checkMembers refuses members that the gateway does not know, of a call whose models or
// cost are limited: a compatible server may take them for another model, or for more.
func (c *Call) checkMembers() error {
	limits := c.input.Caller.Limits
	limited := limits != nil && limits.Models != ""
	source, ok := c.input.Request.Source.(llm.Vetted)
	if !ok || !c.plan.Paid && !limited {
		return nil
	}
	name := source.Foreign()
	if name == "" {
		return nil
	}
	why := "the API key is limited to some models"
	if c.plan.Paid {
		why = "this call is paid from a budget"
	}
	return api.Invalid(api.CodeUnsupportedValue, name,
		"the gateway does not know whether %s chooses another model or costs more, and %s", api.Quoted(name), why)
}

// checkPriced refuses requests whose cost tokens do not bound: their price is not
// known beforehand.
func checkPriced(r *llm.Request) error {
	var field llm.Field
	switch {
	case !slices.Contains([]string{"", "auto", "default", "flex"}, r.ServiceTier):
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
	param := r.Path(field)
	return api.Invalid(api.CodeUnsupportedValue, param, "the gateway does not know what %s costs, and this call is paid from a budget",
		param)
}

// isRefusal says whether err is a provider's, not the gateway's.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
}

// price is the model's price in the catalogue, or the default.
func (s *Service) price(m catalog.Model) catalog.Price {
	if !m.Price.Known {
		return s.DefaultPrice
	}
	return m.Price
}
