package inference

import (
	"modelgateway/models/llm"
	"modelgateway/services/tracing"
)

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

// booked is what was booked, as the usage of an answer; nil = nothing.
func (c *Call) booked() *llm.Usage {
	r := &c.row
	if r.InputTokens+r.OutputTokens == 0 {
		return nil
	}
	return &llm.Usage{
		Input: r.InputTokens, Output: r.OutputTokens, Total: r.InputTokens + r.OutputTokens,
		HasCache: true, Cached: r.CachedTokens, CacheWrite: r.CacheWriteTokens, HasReasoning: true, Reasoning: r.ReasoningTokens,
	}
}

// traceAnswer keeps what the span says of a whole answer.
func (c *Call) traceAnswer(answer *llm.Answer) {
	c.trace.ID, c.trace.Model = answer.ID, answer.Model
	for i := range answer.Choices {
		c.trace.FinishReasons = append(c.trace.FinishReasons, string(answer.Choices[i].Finish))
	}
}

// traceEvent keeps what the span says of a stream.
func (c *Call) traceEvent(e *llm.Event) {
	if c.trace.ID == "" && e.Head != nil {
		c.trace.ID, c.trace.Model = e.Head.ID, e.Head.Model
	}
	if e.Kind == llm.EventFinish {
		c.trace.FinishReasons = append(c.trace.FinishReasons, string(e.Finish))
	}
}
