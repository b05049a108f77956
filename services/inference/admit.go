package inference

import (
	"context"
	"errors"
	"net/http"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/budget"
	"modelgateway/services/metrics"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
)

// Admit lets a request in: its model is there and may be asked for, the request
// can be translated, and its caller's limits have room for the most that it can
// come to. The call, which is there beside an error as well for what Served says,
// must be ended unless there was one.
func (s *Service) Admit(ctx context.Context, ask Ask) (*Call, error) {
	call := s.call(ask)
	return call, call.admit(ctx)
}

func (s *Service) call(ask Ask) *Call {
	c := &Call{service: s, ask: ask}
	c.row.Stream = ask.Request.Stream
	s.Router.Plan(&c.plan, routing.Ask{
		Request: ask.Request, Limits: ask.Caller.Limits, Strict: ask.Strict, NoFallback: ask.NoFallback,
	})
	return c
}

func (c *Call) admit(ctx context.Context) error {
	limits := c.ask.Caller.Limits
	if asked := c.ask.Request.Model; !limits.Allows(asked) {
		model, err := c.service.Router.Models.Resolve(asked)
		if err != nil {
			return err
		}
		c.served = routing.Served{Provider: model.Provider, Model: asked}
		return notAllowed("this API key may not ask for the model " + api.Quoted(asked))
	}
	first, err := c.plan.Candidate(0)
	c.served = c.plan.Served(0)
	if err != nil && !isRefusal(err) {
		return err
	}
	budgets := c.budgets()
	c.plan.Paid = len(budgets) > 0
	most, err := c.most()
	if err != nil {
		return err
	}
	if limits != nil && (limits.TPMLimit > 0 || limits.MaxParallel > 0) {
		tokens := tokens.Usual(c.ask.Request, first.Model)
		if c.quota, err = c.service.Quotas.Take(ctx, c.ask.Caller.Account(), limits, tokens); err != nil {
			return err
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	if c.reserved, err = c.service.Budgets.Reserve(ctx, c.ask.Began, most, budgets...); err != nil {
		c.quota.End(0)
	}
	return err
}

func notAllowed(message string) *api.Error {
	return &api.Error{
		Status: http.StatusForbidden, Type: api.TypePermission, Code: api.CodeModelNotAllowed, Param: "model", Message: message, Limit: metrics.LimitModel,
	}
}

// budgets are those that the call is paid from.
func (c *Call) budgets() []budget.Budget {
	var of []budget.Budget
	if l := c.ask.Caller.Limits; l != nil && l.BudgetWindow != "" {
		of = append(of, budget.Budget{Account: models.KeyAccount(c.ask.Caller.KeyID), Window: l.BudgetWindow, Limit: l.Budget, Name: "this API key"})
	}
	if all := c.service.Budget; all != nil {
		of = append(of, *all)
	}
	return of
}

// most is the most that the call can cost, whichever model of its plan answers.
// Those that nobody knows the price of are not in the plan of a call that is
// paid from a budget.
func (c *Call) most() (int64, error) {
	if !c.plan.Paid {
		return 0, nil
	}
	if err := beyondTokens(c.ask.Request); err != nil {
		return 0, err
	}
	var most int64
	for i := 0; i < c.plan.Size(); i++ {
		r, err := c.plan.Candidate(i)
		if err != nil {
			continue // nobody will be asked
		}
		price := c.service.price(r.Model)
		if !price.Known && i == 0 {
			return 0, notAllowed("nobody has set a price for the model " + api.Quoted(r.Model.ID) + ", and this call is paid from a budget")
		}
		if !price.Known {
			c.plan.Drop(i)
			continue
		}
		most = max(most, price.MaxCost(tokens.Most(c.ask.Request, r.Model, r.MaxOutput())))
	}
	if c.service.Router.HedgeAfter > 0 && !c.ask.Request.Stream {
		most *= 2 // both may answer
	}
	return most, nil
}

// beyondTokens refuses what costs more than tokens do: its price is not known
// beforehand.
func beyondTokens(r *llm.Request) error {
	var field llm.Field
	switch {
	case r.ServiceTier == "priority" || r.ServiceTier == "scale":
		field = llm.FieldServiceTier
	case r.WebSearch != nil:
		field = llm.FieldWebSearch
	case r.Audio != nil:
		field = llm.FieldAudio
	default:
		return nil
	}
	param := r.Path(field)
	return api.Invalid(api.CodeUnsupportedValue, param, "the gateway does not know what %s costs, and this call is paid from a budget", param)
}

// isRefusal says whether a provider refused, rather than the gateway.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
}

// price is the model's own, or the operator's for models without one.
func (s *Service) price(m catalog.Model) catalog.Price {
	if !m.Price.Known {
		return s.DefaultPrice
	}
	return m.Price
}
