package inference

import (
	"cmp"
	"errors"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
)

// PromptTokens is an estimate of the tokens that the prompt has for the model that answers, from its
// bytes: the client is waiting for it.
func (c *Call) PromptTokens() int64 {
	by := c.plan.Answered
	if by == nil {
		by, _ = c.plan.Candidate(0)
	}
	if by == nil {
		return c.promptTokens()
	}
	n, _ := c.service.Corrections.Correct(by.Model.ID, c.fromBytes(by.Model))
	return n
}

// fromBytes is what the prompt has of tokens for a model, without corrections. It is computed once
// for each vocabulary.
func (c *Call) fromBytes(model *catalog.Model) int64 {
	v := vocabulary(c.plan.Router(), model)
	if c.prompts[v] == 0 {
		c.prompts[v] = tokens.FromBytes(c.input.Request, v, len(model.Traits.Thinking) > 0)
	}
	return c.prompts[v]
}

// vocabulary is that of a model at its provider.
func vocabulary(router *routing.Router, model *catalog.Model) llm.Vocabulary {
	return router.Models.Abilities[model.Provider].Tokens
}

// observe compares the estimate of the prompt, where there is one, with its provider's count.
func (c *Call) observe(model *catalog.Model, usage *llm.Usage) {
	size := c.input.Request.Source.Size()
	if size.Media == 0 && !size.Opaque && !size.Hosted {
		c.service.Corrections.Observe(model.ID, c.prompts[vocabulary(c.plan.Router(), model)], usage.Input)
	}
}

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
