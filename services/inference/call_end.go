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
		c.charge(c.plan.Answered.Model, usage, c.images)
	} else if model, ok := c.lastModel(); ok {
		c.row.Priced = c.service.price(model).Known
	}
	for _, l := range c.plan.Lost {
		images := c.usualImages()
		if !l.Usage.Counts() {
			l.Usage, images = c.lost(l)
		}
		c.charge(l.Model, l.Usage, images)
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
	r.CachedTokens, r.CacheWriteTokens, r.CacheWriteHourTokens, r.ReasoningTokens = 0, 0, 0, 0
	r.Searches, r.Requests, r.Images, r.Seconds, r.Characters = 0, 0, 0, 0, 0
}

// charge adds the usage of one model, of whose answer so many images have come, and its cost.
func (c *Call) charge(model *catalog.Model, usage *llm.Usage, images int64) {
	price, usual := c.served(c.service.price(model), usage)
	used := c.amounts(model, price, usage, images)
	r := &c.row
	r.InputTokens += used[catalog.InputTokens]
	r.CachedTokens += used[catalog.CachedTokens]
	r.CacheWriteTokens += used[catalog.CacheWriteTokens]
	r.CacheWriteHourTokens += used[catalog.CacheWriteHourTokens]
	r.OutputTokens += used[catalog.OutputTokens]
	r.ReasoningTokens += used[catalog.ReasoningTokens]
	r.Searches += used[catalog.Searches]
	r.Requests += used[catalog.Requests]
	r.Images += used[catalog.Images]
	r.Characters += used[catalog.Characters]
	usual = usual || usage.Tools > 0 || c.input.Request.Audio != nil || price.Rates[catalog.Seconds] > 0
	c.usualPrice = c.usualPrice || price.Known && (usual || used[catalog.Searches] > 0 && price.OneSearch() == 0)
	r.Priced = price.Known
	c.itemize(model, price, used)
	if usage == c.usage {
		c.observe(model, usage)
		c.remember(model, price, used)
		c.price, c.used = price, used
	}
	r.Cost = min(maxCost, r.Cost+min(maxCost, price.Cost(used)))
}

// amounts are what an answer takes of each unit that has a price, and its tokens.
func (c *Call) amounts(model *catalog.Model, price catalog.Price, usage *llm.Usage, images int64) catalog.Amounts {
	used := tokensOf(usage)
	input, cached := used[catalog.InputTokens], used[catalog.CachedTokens]
	switch {
	case usage.HasAudio:
		used[catalog.AudioTokens], used[catalog.CachedAudioTokens] = min(max(usage.Audio, 0), input), min(max(usage.CachedAudio, 0), cached)
	case price.Rates[catalog.AudioTokens] > 0 && c.input.Request.Source.Size().Sounds > 0: // all of it may be sounds
		used[catalog.AudioTokens], used[catalog.CachedAudioTokens] = input, cached
	}
	searches := usage.Searches
	if searches == 0 && (model.Traits.Searches || c.input.Request.WebSearch != nil) {
		searches = 1 // chat completions do not count them
	}
	c.addBeside(&used, price, searches, images)
	return used
}

// tokensOf are the tokens of a usage, cut to what can be.
func tokensOf(usage *llm.Usage) (used catalog.Amounts) {
	input, output := min(max(usage.Input, 0), maxTokens), min(max(usage.Output, 0), maxTokens)
	cached := min(max(usage.Cached, 0), input)
	written := min(max(usage.CacheWrite, 0), input-cached)
	used[catalog.InputTokens], used[catalog.CachedTokens] = input, cached
	used[catalog.CacheWriteTokens], used[catalog.CacheWriteHourTokens] = written, min(max(usage.CacheWriteHour, 0), written)
	used[catalog.OutputTokens], used[catalog.ReasoningTokens] = output, min(max(usage.Reasoning, 0), output)
	return used
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
	if !known || in.Rates[catalog.OutputTokens] < price.Rates[catalog.OutputTokens] {
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
