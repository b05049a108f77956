package inference

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
)

// End books the call, which has ended with err as its handler has it, or well.
// What is booked is for the log as well. A second End does nothing.
func (c *Call) End(ctx context.Context, err error) *models.Call {
	if c.ended {
		return &c.row
	}
	c.ended = true
	r := &c.row
	r.ID, r.RequestID, r.UserID, r.KeyID = ledger.NewCallID(c.ask.Began), c.ask.RequestID, c.ask.Caller.UserID, c.ask.Caller.KeyID
	r.Model, r.BeganAt, r.Holds = c.ask.Request.Model, c.ask.Began.UnixMicro(), c.reserved.Holds()
	c.conclude(ctx, err)
	c.meter()
	c.quota.End(r.InputTokens + r.OutputTokens)
	c.reserved.Settle(r.Cost)
	c.said.Drop()
	r.Attempts = c.plan.Attempts
	r.DurationUS = c.since()
	if c.service.Ledger != nil {
		c.service.Ledger.Add(*r)
	}
	c.service.Metrics.Ended(c.facts())
	c.traced()
	return r
}

// conclude finds out how the call ended.
func (c *Call) conclude(ctx context.Context, err error) {
	r := &c.row
	r.Provider, r.Served = c.served.Provider, cmp.Or(c.served.Fallback, c.served.Redirected, c.served.Model)
	r.Outcome, r.Status = models.OutcomeOK, http.StatusOK
	c.found = err
	if err == nil {
		return
	}
	reason, stopped := errors.AsType[*api.Error](context.Cause(ctx))
	if stopped {
		err = reason // the gateway itself ended the request
	}
	if errors.Is(err, ErrClientGone) || ctx.Err() != nil && pool.Gone(err) {
		r.Outcome = models.OutcomeClient
		if !c.sent {
			r.Status = StatusClientGone
		}
		return
	}
	e := api.AsError(err)
	r.ErrorCode = e.Code
	if !c.sent {
		r.Status = e.Status
	}
	switch {
	case stopped:
		r.Outcome = models.OutcomeStopped
	case e.Code != api.CodeProviderError:
		r.Outcome = models.OutcomeInternal
	case e.Status == http.StatusGatewayTimeout:
		r.Outcome = models.OutcomeTimeout
	case e.Status < http.StatusInternalServerError:
		r.Outcome = models.OutcomeRefused
	default:
		r.Outcome = models.OutcomeFailed
	}
}

// Beyond these a provider's counts are nonsense, and sums of them no numbers.
const (
	absurdTokens = 1 << 40
	absurdCost   = 1_000_000_000_000_000 // a billion dollars
)

// meter finds out what the call used and what that costs: the answer, and
// whatever providers have worked on beside it.
func (c *Call) meter() {
	if c.plan.Answered != nil {
		usage := c.usage
		if !usage.Counts() {
			usage = c.estimate()
		}
		c.charge(c.plan.Answered.Model, usage)
	} else if model, ok := c.lastModel(); ok {
		c.row.Priced = c.service.price(model).Known
	}
	for _, l := range c.plan.Lost {
		if !l.Usage.Counts() {
			c.row.Estimated = true
			l.Usage = &llm.Usage{Input: c.prompt()}
		}
		c.charge(l.Model, l.Usage)
	}
}

// charge adds what a model used.
func (c *Call) charge(model catalog.Model, usage *llm.Usage) {
	tokens := catalog.Tokens{
		Input: min(max(usage.Input, 0), absurdTokens), Output: min(max(usage.Output, 0), absurdTokens),
		CacheWriteHour: usage.CacheWriteHour,
	}
	tokens.Cached = min(max(usage.Cached, 0), tokens.Input)
	tokens.CacheWrite = min(max(usage.CacheWrite, 0), tokens.Input-tokens.Cached)
	r := &c.row
	r.InputTokens += tokens.Input
	r.CachedTokens += tokens.Cached
	r.CacheWriteTokens += tokens.CacheWrite
	r.OutputTokens += tokens.Output
	r.ReasoningTokens += min(max(usage.Reasoning, 0), tokens.Output)
	price := c.service.price(model)
	r.Priced = price.Known
	r.Cost = min(absurdCost, r.Cost+min(absurdCost, price.Cost(tokens)))
}

// prompt is about how many tokens the request has, counted once.
func (c *Call) prompt() int64 {
	if c.counted == 0 {
		var err error
		if c.counted, err = c.service.estimator.Prompt(c.ask.Request); err != nil {
			c.service.Log.Error("tokens are not estimated", "request_id", c.ask.RequestID, "error", err)
		}
	}
	return c.counted
}

// lastModel is the model that answered, or was tried last.
func (c *Call) lastModel() (catalog.Model, bool) {
	if c.plan.Answered != nil {
		return c.plan.Answered.Model, true
	}
	model, err := c.service.Router.Models.Resolve(cmp.Or(c.row.Served, c.row.Model))
	return model, err == nil
}

// estimate is what an answer used whose provider did not say, or not all of it.
func (c *Call) estimate() *llm.Usage {
	usage := new(llm.Usage)
	if c.usage != nil {
		*usage = *c.usage
	} else if c.counter != nil {
		if counted := c.counter.Counted(); counted != nil {
			*usage = *counted
		}
	}
	if usage.Input <= 0 {
		c.row.Estimated = true
		usage.Input = c.prompt()
	}
	if c.answer != nil {
		c.said.Read(c.answer)
	}
	if usage.Output <= 0 && c.said.Len() > 0 {
		c.row.Estimated = true
		var err error
		if usage.Output, err = c.service.estimator.Count(&c.said); err != nil {
			c.service.Log.Error("tokens are not estimated", "request_id", c.ask.RequestID, "error", err)
		}
	}
	return usage
}

func (c *Call) facts() metrics.CallFacts {
	r := &c.row
	facts := metrics.CallFacts{
		Provider: r.Provider, Outcome: r.Outcome, Stream: r.Stream,
		InputTokens: r.InputTokens, CachedTokens: r.CachedTokens, CacheWriteTokens: r.CacheWriteTokens,
		OutputTokens: r.OutputTokens, ReasoningTokens: r.ReasoningTokens, Estimated: r.Estimated, Priced: r.Priced, Cost: r.Cost,
		FirstToken: time.Duration(r.FirstTokenUS) * time.Microsecond, Overhead: time.Duration(r.OverheadUS) * time.Microsecond, Gaps: c.gaps,
	}
	if model, ok := c.lastModel(); ok {
		facts.Model = model.ID
	}
	return facts
}
