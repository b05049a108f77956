package inference

import (
	"context"

	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
	"modelgateway/services/tracing"
)

// span begins the span of a call.
func (c *Call) span(ctx context.Context) (context.Context, *tracing.Chat) {
	if c.service.Tracer == nil {
		return ctx, nil
	}
	ctx, span := c.service.Tracer.Chat(ctx, tracing.ChatStart{
		Provider: c.served.Provider, Request: c.ask.Request, RequestID: c.ask.RequestID, KeyID: c.ask.Caller.KeyID,
	})
	if span.Recording() {
		c.trace = new(tracing.ChatEnd)
	}
	return ctx, span
}

// traced ends the span with what was booked.
func (c *Call) traced() {
	if c.trace == nil {
		c.plan.Trace.End(tracing.ChatEnd{})
		return
	}
	end := *c.trace
	end.Provider, end.Fallback, end.Usage, end.Err = c.row.Provider, c.served.Fallback, c.booked(), c.found
	end.Cost, end.Priced = c.row.Cost, c.row.Priced
	c.plan.Trace.End(end)
}

// booked is what was booked, in the words of an answer; nil = nothing.
func (c *Call) booked() *api.Usage {
	r := &c.row
	if r.InputTokens+r.OutputTokens == 0 {
		return nil
	}
	return &api.Usage{
		PromptTokens: r.InputTokens, CompletionTokens: r.OutputTokens, TotalTokens: r.InputTokens + r.OutputTokens,
		PromptTokensDetails:     &api.PromptDetails{CachedTokens: r.CachedTokens, CacheWriteTokens: r.CacheWriteTokens},
		CompletionTokensDetails: &api.CompletionDetails{ReasoningTokens: r.ReasoningTokens},
	}
}

// traceAnswer keeps what the span says of a whole answer.
func (c *Call) traceAnswer(answer *api.ChatCompletion) {
	c.trace.ID, c.trace.Model = answer.ID, answer.Model
	choices := answer.Choices
	if answer.Raw != nil {
		var read struct {
			Choices []api.Choice `json:"choices"`
		}
		_ = json.Unmarshal(answer.Raw, &read, api.Faithful) // it has been read once
		choices = read.Choices
	}
	for i := range choices {
		c.trace.FinishReasons = append(c.trace.FinishReasons, choices[i].FinishReason)
	}
}

// traceChunk keeps what the span says of a stream.
func (c *Call) traceChunk(chunk *api.ChatChunk) {
	if c.trace.ID == "" {
		c.trace.ID, c.trace.Model = chunk.ID, chunk.Model
	}
	for i := range chunk.Choices {
		if reason := chunk.Choices[i].FinishReason; reason != nil {
			c.trace.FinishReasons = append(c.trace.FinishReasons, *reason)
		}
	}
}
