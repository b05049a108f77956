package inference

import (
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
)

// tokensPerSecond is more than any model writes. It bounds the estimate of an answer
// whose length is not known: an agent reserves 128,000 tokens for an answer that its
// user stops after a second.
const tokensPerSecond = 2000

// estimated is the usage of an answer whose provider reported none, or only a part:
// the missing counts are estimated. Of a paid call that did not come to its end what a
// model may have thought is estimated as well, unless the provider has counted it.
func (c *Call) estimated() *llm.Usage {
	usage := new(llm.Usage)
	if c.usage != nil {
		*usage = *c.usage
	} else if c.counter != nil {
		if counted := c.counter.Counted(); counted != nil {
			*usage = *counted
		}
	}
	by := c.plan.Answered
	if usage.Input <= 0 {
		c.row.Estimated = true
		usage.Input = c.inputTokens(by.Model)
	}
	if c.answer != nil {
		c.output.AddAnswer(c.answer)
	}
	if usage.Output <= 0 && c.output.Len() > 0 {
		c.row.Estimated = true
		var err error
		if usage.Output, err = c.service.estimator.Count(&c.output); err != nil {
			c.service.Log.Error("estimating tokens failed", "request_id", c.input.RequestID, "error", err)
		}
	}
	counted := usage.HasReasoning && usage.Output > 0
	if c.plan.Paid && c.row.Outcome != models.OutcomeOK && !counted && tokens.Reasons(c.input.Request, by.Model.Traits) {
		c.row.Estimated = true
		usage.Output = max(usage.Output, c.longest(by.Model, by.MaxOutput()))
	}
	return usage
}

// lost is the estimated usage of a lost call. What is not known of a paid call is
// assumed to have been as much as possible, so also its images.
func (c *Call) lost(l routing.Lost) (usage *llm.Usage, images int64) {
	c.row.Estimated = true
	usage = &llm.Usage{Input: c.inputTokens(l.Model)}
	hidden := !c.input.Request.Stream || tokens.Reasons(c.input.Request, l.Model.Traits)
	if c.plan.Paid && l.Endless && hidden { // else the first text would have come
		usage.Output, images = c.longest(l.Model, l.MaxOutput), maxImages*c.usualImages()
	}
	return usage, images
}

// longest is the most that the answers of a model can have come to: the upper bound
// of them, and no more than was possible in the time since the call was opened.
func (c *Call) longest(model *catalog.Model, limit int64) int64 {
	_, output := tokens.Max(c.input.Request, model, c.bounds(model, limit))
	ran := c.service.Now().Sub(c.opened).Microseconds()
	possible := (ran*tokensPerSecond + 999_999) / 1_000_000 * max(c.input.Request.Choices, 1)
	return min(output, possible)
}

// inputTokens estimates the tokens of the prompt. Pictures, sounds and files of a paid
// call have the tokens of their upper bound.
func (c *Call) inputTokens(model *catalog.Model) int64 {
	if c.plan.Paid && c.input.Request.Source.Size().Media > 0 {
		input, _ := tokens.Max(c.input.Request, model, c.bounds(model, 0))
		return input
	}
	return c.promptTokens()
}

// promptTokens estimates the tokens of the request, once.
func (c *Call) promptTokens() int64 {
	if c.prompt == 0 {
		var err error
		if c.prompt, err = c.service.estimator.Prompt(c.input.Request); err != nil {
			c.service.Log.Error("estimating tokens failed", "request_id", c.input.RequestID, "error", err)
		}
	}
	return c.prompt
}
