package inference

import (
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/budget"
	"modelgateway/services/history"
	"modelgateway/services/tokens"
)

// What is expected of a call while there are few to learn from: the tokens of its answer, and the
// searches of the web that its model makes where the request lets it. Most requests that allow
// searches, as each one of some agents does, make none.
const (
	usualOutput   = 4096
	usualSearches = 1
)

// most is an upper bound of what a call takes, in tokens and micro-dollars.
type most struct {
	input, inputCost, output, outputCost int64
	cost                                 int64 // of the dearest model, twice if the call may be made twice at once
}

// expected is what a call is expected to cost with one model, in micro-dollars.
type expected struct{ input, output, fee int64 }

func (e expected) cost() int64 { return e.input + e.output + e.fee }

// Need is what is reserved of the budgets that pay for the call, if any does.
func (c *Call) Need() budget.Need {
	if c.reservesMost() {
		return budget.Need{Amount: c.most.cost}
	}
	return budget.Need{Amount: min(c.expected, c.most.cost), Most: c.most.cost}
}

// reservesMost says whether the most that the call can cost is reserved: where the gateway
// wants that of all calls, or an account that pays for this one.
func (c *Call) reservesMost() bool {
	return c.service.ReserveMost || c.input.Caller.Levels.ReservingMost()
}

// estimateCost computes what the call is expected to cost, and an upper bound of it, over all
// models of its plan, if a budget pays for it. It drops fallbacks without a price.
func (c *Call) estimateCost() error {
	if !c.plan.Paid {
		return nil
	}
	if err := checkPriced(c.input.Request); err != nil {
		return err
	}
	size := c.input.Request.Source.Size()
	for i := 0; i < c.plan.Size(); i++ {
		r, err := c.plan.Candidate(i)
		if err != nil {
			continue // no provider will be called
		}
		price, hosted := c.service.price(r.Model), c.mayHost(r.Model)
		err = c.checkPrice(r.Model, price, size.Sounds > 0)
		if err == nil && hosted {
			err = c.checkHosted(r.Model, price)
		}
		if err != nil {
			if i == 0 {
				return err
			}
			c.plan.Drop(i)
			continue
		}
		bounds := c.bounds(r.Model, r.MaxOutput())
		price = c.priceFor(price)
		if tokens.MaySound(&size, bounds.Images) {
			price = price.WithAudio()
		}
		input, output := tokens.Max(c.input.Request, r.Model, bounds)
		of := catalog.Amounts{catalog.InputTokens: input}
		c.addBeside(&of, price, c.searches(r.Model, c.input.Request.Searches), maxImages*c.usualImages())
		inputCost := price.MaxCost(of)
		of[catalog.OutputTokens] = output
		if cost := price.MaxCost(of); cost > c.most.cost {
			inputCost = min(inputCost, cost)
			c.most = most{input, inputCost, output, cost - inputCost, cost}
		}
		if !c.reservesMost() {
			c.expected = max(c.expected, c.expect(r.Model, price, bounds).cost())
		}
	}
	if c.plan.Hedged() {
		c.most.cost *= 2
	}
	return nil
}

// expect is what the call is expected to cost with a model: its prompt and its searches what
// such prompts of this caller have cost, and while there are few of them what they can cost; and
// an answer that is longer than 99 of 100.
func (c *Call) expect(model *catalog.Model, price catalog.Price, bounds tokens.Bounds) expected {
	past, caller := &c.service.History, c.payer()
	size := c.input.Request.Source.Size()
	input, output := tokens.Max(c.input.Request, model, bounds)
	likely, margin := c.likelyInput(model, bounds)
	input = min(input, likely*margin/100)
	output = min(output, past.Output(caller, model.ID, usualOutput*max(c.input.Request.Choices, 1)))
	of, beside := catalog.Amounts{catalog.InputTokens: input}, catalog.Amounts{}
	fresh := price.Cost(of)
	e := expected{input: fresh}
	e.output = price.Cost(catalog.Amounts{catalog.InputTokens: input, catalog.OutputTokens: output}) - fresh
	share, learned := past.Share(caller, model.ID)
	searches := c.searches(model, min(c.input.Request.Searches, usualSearches))
	if learned {
		e.input, searches = int64(float64(fresh)*share), 0 // which are part of the share
	}
	c.addBeside(&beside, price, searches, max(c.usualImages(), c.images))
	e.fee = price.Cost(beside)
	if learned {
		return e
	}
	switch {
	case model.Traits.CacheBreakpoints: // it also caches what is not marked
		of[catalog.CacheWriteTokens] = input
	case size.Marked > 0:
		of[catalog.CacheWriteTokens] = int64(float64(input) * float64(size.Marked) / float64(max(size.Bytes, 1)))
		if size.MarkedHour {
			of[catalog.CacheWriteHourTokens] = of[catalog.CacheWriteTokens]
		}
	}
	e.input = max(fresh, price.Cost(of))
	return e
}

// remember records what the call has cost, for what later ones are expected to cost.
func (c *Call) remember(model *catalog.Model, price catalog.Price, of catalog.Amounts) {
	absurd := price.Cost(of) > c.most.cost
	if !c.plan.Paid || c.row.Outcome != models.OutcomeOK || c.row.Estimated || absurd {
		return
	}
	likely, _ := c.likelyInput(model, c.bounds(model, 0))
	fresh := price.Cost(catalog.Amounts{catalog.InputTokens: likely, catalog.AudioTokens: min(of[catalog.AudioTokens], likely)})
	output := of[catalog.OutputTokens]
	for _, u := range []catalog.Unit{catalog.OutputTokens, catalog.Requests, catalog.Images, catalog.Characters} {
		of[u] = 0 // they are expected by themselves
	}
	c.service.History.Add(c.payer(), model.ID, history.Call{Output: output, Input: price.Cost(of), Fresh: fresh})
}

// A stream is compared with what is reserved for it after its first event, and whenever its text
// has grown by a quarter, and by a kilobyte at least.
const (
	growBytes     = 1 << 10
	growShare     = 4
	bytesPerToken = 3
)

// grow reserves more for a stream that costs more than was expected, by steps: what it has cost so
// far, and as much more of an answer as comes until it is compared again.
func (c *Call) grow() {
	written := c.output.Len()
	if c.reserved == nil || written < c.growAt || c.reserved.Amount() >= c.most.cost {
		return
	}
	step := max(written/growShare, growBytes)
	c.growAt = written + step
	model, limit := c.plan.Answered.Model, c.plan.Answered.MaxOutput()
	price := c.priceFor(c.service.price(model))
	e := c.expect(model, price, c.bounds(model, limit))
	input, output := int64(0), int64(written)/bytesPerToken
	if usage := c.reported(); usage.Counts() {
		of := tokensOf(usage)
		input, output, of[catalog.OutputTokens] = of[catalog.InputTokens], max(of[catalog.OutputTokens], output), 0
		e.input = price.Cost(of)
	}
	answer := catalog.Amounts{catalog.InputTokens: input, catalog.OutputTokens: output + int64(step)/bytesPerToken}
	e.output = price.Cost(answer) - price.Cost(catalog.Amounts{catalog.InputTokens: input})
	c.reserved.Grow(min(e.cost(), c.most.cost) - c.reserved.Amount())
}

// reported is the usage that the provider of a stream has reported so far; nil if it has not.
func (c *Call) reported() *llm.Usage {
	if c.usage == nil && c.counter != nil {
		return c.counter.Counted()
	}
	return c.usage
}

// priceFor is the price of a model in the way in which the request asks to be served. Any token of its
// answer may be reasoning.
func (c *Call) priceFor(price catalog.Price) catalog.Price {
	price, _ = c.dearer(price).In(c.way())
	return price.WithReasoning()
}

// bounds are what the provider of a model makes of the request. limit is the longest answer; 0
// = the request has no limit.
func (c *Call) bounds(model *catalog.Model, limit int64) tokens.Bounds {
	return tokens.Bounds{Images: c.plan.Router().Images(model.Provider), Hosts: c.mayHost(model), Output: limit}
}

// searches are those of the web that a call makes: one of a model that makes one with each call, and so many of
// those that the request lets the provider make.
func (c *Call) searches(model *catalog.Model, allowed int64) (n int64) {
	if model.Traits.Searches {
		n = 1
	}
	if c.mayHost(model) {
		n += allowed
	}
	return n
}

// maxImages is more than one answer has: Gemini 2.5 Flash Image, which makes most, makes ten at most
// (Vertex AI, technical specifications, 2026-11).
const maxImages = 10

// usualImages are the images that answers to the request have where their model makes any.
func (c *Call) usualImages() int64 { return max(c.input.Request.Choices, 1) }

// addBeside adds what a call takes beside tokens: searches, and of what its price is for the request
// itself, images and the characters of the prompt.
func (c *Call) addBeside(of *catalog.Amounts, price catalog.Price, searches, images int64) {
	of[catalog.Searches] = searches
	if price.Rates[catalog.Requests] > 0 {
		of[catalog.Requests] = 1
	}
	if price.Rates[catalog.Images] > 0 {
		of[catalog.Images] = images
	}
	if price.Rates[catalog.Characters] > 0 {
		if c.characters == 0 {
			c.characters = tokens.Characters(c.input.Request)
		}
		of[catalog.Characters] = c.characters
	}
}

// mayHost says whether the provider of a model runs the tools that the request lets it run:
// only one that speaks the client's dialect gets them.
func (c *Call) mayHost(model *catalog.Model) bool {
	u := c.plan.Router().Upstreams[model.Provider]
	return u != nil && u.Speaks(c.input.Request.Source.Dialect(), model)
}

// margins are by how much more tokens a prompt has, in percent, than is estimated from its bytes: 99
// of 100 recorded requests have fewer. corrected is that of models of which counts are known.
var margins = [...]int64{llm.TokensCommon: 125, llm.TokensOpenAI: 120, llm.TokensClaude: 100}

const corrected = 110

// likelyInput is how many tokens the prompt is expected to have with a model, and how many it may
// have, in percent of them.
func (c *Call) likelyInput(model *catalog.Model, of tokens.Bounds) (n, margin int64) {
	n, known := c.service.Corrections.Correct(model.ID, c.fromBytes(model))
	margin = margins[vocabulary(c.plan.Router(), model)]
	if known {
		margin = corrected
	}
	return n + tokens.Unseen(c.input.Request, n, of), margin
}
