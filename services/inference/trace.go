package inference

import (
	"modelgateway/llm"
	"modelgateway/services/tracing"
)

// endSpan ends the span with the attributes of the booked call.
func (c *Call) endSpan() {
	if c.trace == nil {
		c.plan.Trace.End(tracing.ChatEnd{})
		return
	}
	end := *c.trace
	end.Provider, end.Fallback, end.Usage, end.Err = c.row.Provider, c.route.Fallback, c.bookedUsage(), c.err
	end.Cost, end.Priced = c.row.Cost, c.row.Priced
	c.plan.Trace.End(end)
}

// bookedUsage is the usage of the row; nil = none.
func (c *Call) bookedUsage() *llm.Usage {
	r := &c.row
	if r.InputTokens+r.OutputTokens == 0 {
		return nil
	}
	return &llm.Usage{
		Input: r.InputTokens, Output: r.OutputTokens, Total: r.InputTokens + r.OutputTokens,
		HasCache: true, Cached: r.CachedTokens, CacheWrite: r.CacheWriteTokens, HasReasoning: true, Reasoning: r.ReasoningTokens,
	}
}

// traceEvent sets the span's attributes of an answer.
func (c *Call) traceEvent(e *llm.Event) {
	head := e.Head
	if answer := e.Answer; answer != nil {
		head = &answer.Head
		for i := range answer.Choices {
			c.trace.FinishReasons = append(c.trace.FinishReasons, string(answer.Choices[i].Finish))
		}
	}
	if c.trace.ID == "" && head != nil {
		c.trace.ID, c.trace.Model = head.ID, head.Model
	}
	if e.Kind == llm.EventFinish {
		c.trace.FinishReasons = append(c.trace.FinishReasons, string(e.Finish))
	}
}
