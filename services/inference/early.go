package inference

import (
	"cmp"
	"errors"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/fault"
	"modelgateway/models/llm"
	"modelgateway/providers"
)

// CountPrompt begins to estimate the tokens of the prompt, so that PromptTokens takes no
// time once the upstream has begun to answer. It does nothing where the upstream reports
// them first.
func (c *Call) CountPrompt() {
	u := c.plan.Router().Upstreams[c.route.Provider]
	first, err := c.plan.Candidate(0)
	if err != nil || u == nil || u.CountsFirst() {
		return
	}
	model := first.Model
	c.counting = make(chan struct{})
	go func() { // End waits for it
		defer close(c.counting)
		defer func() {
			if value := recover(); value != nil {
				c.service.Log.Error("estimating tokens failed", "request_id", c.input.RequestID,
					"error", fault.Text(value), "stack", fault.Stack(value))
			}
		}()
		c.countPrompt(func() (int64, error) { return c.service.promptFor(c.input.Request, model) })
	}()
}

// promptFor estimates the tokens of a prompt for a model.
func (s *Service) promptFor(r *llm.Request, model *catalog.Model) (int64, error) {
	if model.Provider == catalog.OpenAI {
		return s.estimator.ForOpenAI(r, len(model.Traits.Thinking) > 0)
	}
	return s.estimator.Prompt(r)
}

// counted waits until an estimate that has begun is there.
func (c *Call) counted() {
	if c.counting != nil {
		<-c.counting
	}
}

// PromptTokens is an estimate of the tokens of the prompt.
func (c *Call) PromptTokens() int64 { return c.promptTokens() }

// measured is the error of a call. Where the prompt was too long it can be asked for the
// size of it.
func (c *Call) measured(err error) error {
	refusal, ok := errors.AsType[*providers.Refusal](err)
	if !ok {
		return err
	}
	e := refusal.ClientError()
	if e.UpstreamCode != api.CodeContextLength {
		return err
	}
	e.TooLong = func() (prompt, context int64) {
		r := &c.route
		if model, err := c.plan.Router().Models.Resolve(cmp.Or(r.Fallback, r.Redirected, r.Alias, r.Model)); err == nil {
			context = model.Context
		}
		return c.promptTokens(), context
	}
	return e
}
