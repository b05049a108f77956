package inference

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
)

// End books the call; err is the handler's error, if it failed. The row is for the
// log as well. A second End only returns it.
func (c *Call) End(ctx context.Context, err error) *models.Call {
	if c.ended {
		return &c.row
	}
	c.ended = true
	r := &c.row
	c.identify()
	c.classify(ctx, err)
	c.meter()
	c.checkCost()
	c.quota.End(r.InputTokens + r.OutputTokens) //nolint:contextcheck // a client that left is counted as well
	if c.reserved.Settle(r.Cost) {
		c.service.Log.Warn("a call cost more than the upper bound of its cost: the bound was too low",
			"request_id", r.RequestID, "provider", r.Provider, "model", r.Served,
			"cost_micro_usd", r.Cost, "bound_micro_usd", c.most.cost)
	}
	c.output.Release()
	r.Attempts = c.plan.Attempts
	r.DurationUS = c.since()
	c.detail()
	if c.service.Ledger != nil {
		c.service.Ledger.Add(*r)
	}
	c.service.Metrics.Ended(c.labels())
	c.endSpan()
	return r
}

// classify sets the outcome, the status and the error code of the row.
func (c *Call) classify(ctx context.Context, err error) {
	r := &c.row
	r.Provider, r.Served = c.route.Provider, cmp.Or(c.route.Fallback, c.route.Redirected, c.route.Alias, c.route.Model)
	r.UpstreamRequestID = c.route.RequestID
	r.Outcome, r.Status = models.OutcomeOK, http.StatusOK
	c.err = err
	if err == nil {
		return
	}
	reason, stopped := errors.AsType[*api.Error](context.Cause(ctx))
	if stopped {
		err = reason // the gateway itself ended the request
	}
	if errors.Is(err, ErrClientGone) || ctx.Err() != nil && pool.Canceled(err) {
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
		if status := c.input.Status; status != nil {
			r.Status = status(e)
		}
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

// A provider's counts are cut to these, so that sums of them do not overflow.
const (
	maxTokens = 1 << 40
	maxCost   = 1_000_000_000_000_000 // a billion dollars
)

// meter computes the usage and the cost of the call: of its answer, and of lost
// calls that providers will charge for.
func (c *Call) meter() {
	if c.plan.Answered != nil {
		usage := c.usage
		if !usage.Counts() {
			usage = c.estimated()
		}
		c.charge(c.plan.Answered.Model, usage)
	} else if model, ok := c.lastModel(); ok {
		c.row.Priced = c.service.price(model).Known
	}
	for _, l := range c.plan.Lost {
		if !l.Usage.Counts() {
			l.Usage = c.lost(l)
		}
		c.charge(l.Model, l.Usage)
	}
}

// checkCost books the upper bound of a call whose reported usage costs more than
// twice as much: no answer to its request can, and one wrong count would use up the
// budget of a key, or of all.
func (c *Call) checkCost() {
	r := &c.row
	if c.reserved == nil || r.Cost/2 <= c.most.cost {
		return
	}
	c.service.Log.Warn("a provider reported more than twice the usage that its call can have: the most that it can have is booked",
		"request_id", r.RequestID, "provider", r.Provider, "model", r.Served,
		"input_tokens", r.InputTokens, "output_tokens", r.OutputTokens, "cost_micro_usd", r.Cost, "bound_micro_usd", c.most.cost)
	c.costs = nil
	r.InputTokens, r.OutputTokens, r.Estimated, r.Cost = c.most.input, c.most.output, true, c.most.cost
	r.CachedTokens, r.CacheWriteTokens, r.ReasoningTokens = 0, 0, 0
}

// charge adds the usage of one model and its cost.
func (c *Call) charge(model *catalog.Model, usage *llm.Usage) {
	tokens := tokensOf(usage)
	r := &c.row
	r.InputTokens += tokens.Input
	r.CachedTokens += tokens.Cached
	r.CacheWriteTokens += tokens.CacheWrite
	r.OutputTokens += tokens.Output
	r.ReasoningTokens += min(max(usage.Reasoning, 0), tokens.Output)
	price, usual := c.served(c.service.price(model), usage)
	usual = usual || usage.Tools > 0 || c.input.Request.Audio != nil
	if tokens.Searches = usage.Searches; tokens.Searches == 0 && (model.Traits.Searches || c.input.Request.WebSearch != nil) {
		tokens.Searches = 1 // chat completions do not count them
	}
	c.usualPrice = c.usualPrice || price.Known && (usual || tokens.Searches > 0 && price.Fees.OneSearch() == 0)
	r.Priced = price.Known
	switch {
	case usage.HasAudio:
		tokens.Audio, tokens.CachedAudio = min(max(usage.Audio, 0), tokens.Input), min(max(usage.CachedAudio, 0), tokens.Cached)
	case price.Audio > 0 && c.input.Request.Source.Size().Sounds > 0: // all of it may be sounds
		tokens.Audio, tokens.CachedAudio = tokens.Input, tokens.Cached
	}
	c.itemize(model, price, tokens)
	if usage == c.usage {
		c.observe(model, usage)
		c.remember(model, price, tokens)
	}
	r.Cost = min(maxCost, r.Cost+min(maxCost, price.Cost(tokens)))
}

// tokensOf are the tokens of a usage, cut to what can be.
func tokensOf(usage *llm.Usage) catalog.Tokens {
	tokens := catalog.Tokens{
		Input: min(max(usage.Input, 0), maxTokens), Output: min(max(usage.Output, 0), maxTokens),
		CacheWriteHour: usage.CacheWriteHour,
	}
	tokens.Cached = min(max(usage.Cached, 0), tokens.Input)
	tokens.CacheWrite = min(max(usage.CacheWrite, 0), tokens.Input-tokens.Cached)
	return tokens
}

// served is the price of a call in the way in which it was served. Where the answer does
// not say the tier, a call that asked for another one is charged for the dearer one.
// usual: the price of that way is not known, and price is the usual one.
func (c *Call) served(base catalog.Price, usage *llm.Usage) (price catalog.Price, usual bool) {
	if usage.Tier == "" {
		base = c.dearer(base)
	}
	price, known := base.In(catalog.Way{Tier: usage.Tier, Speed: usage.Speed, Geo: usage.Geo})
	return price, !known
}

// dearer is the price of the tier that the request asks for, or the usual price where
// that is higher: a provider may serve the call in the usual tier.
func (c *Call) dearer(price catalog.Price) catalog.Price {
	in, known := price.In(catalog.Way{Tier: c.input.Request.ServiceTier})
	if !known || in.Output < price.Output {
		return price
	}
	return in
}

// lastModel is the model that answered, or was tried last.
func (c *Call) lastModel() (*catalog.Model, bool) {
	if c.plan.Answered != nil {
		return c.plan.Answered.Model, true
	}
	model, err := c.plan.Router().Models.Resolve(cmp.Or(c.row.Served, c.row.Model))
	return model, err == nil
}

// labels are the values of the call's metrics.
func (c *Call) labels() metrics.CallFacts {
	r := &c.row
	values := metrics.CallFacts{
		Provider: r.Provider, Outcome: r.Outcome, Stream: r.Stream,
		InputTokens: r.InputTokens, CachedTokens: r.CachedTokens, CacheWriteTokens: r.CacheWriteTokens,
		OutputTokens: r.OutputTokens, ReasoningTokens: r.ReasoningTokens, Estimated: r.Estimated, Cost: r.Cost,
		Priced: r.Priced, UsualPrice: c.usualPrice,
		FirstToken: time.Duration(r.FirstTokenUS) * time.Microsecond,
		Overhead:   time.Duration(r.OverheadUS) * time.Microsecond, Gaps: c.gaps,
	}
	if model, ok := c.lastModel(); ok {
		values.Model = model.ID
	}
	return values
}
