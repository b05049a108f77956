// Package ordering puts the events of an answer into an order in which one block is open at
// a time. Some servers send the arguments of parallel calls in turns; the streams of
// Anthropic's Messages API and of OpenAI's Responses API cannot.
package ordering

import (
	"slices"

	"modelgateway/llm"
)

// Queue holds the events that come while the arguments of another call are incomplete.
type Queue struct{ held []heldEvent }

// heldEvent is an event that waits, with the text that was added to it.
type heldEvent struct {
	event llm.Event
	text  []byte
}

// Empty says whether nothing waits.
func (q *Queue) Empty() bool { return len(q.held) == 0 }

// Add keeps an event, which is valid only now. Arguments are added to their call, and text
// to the text before it.
func (q *Queue) Add(e *llm.Event) {
	last := len(q.held) - 1
	switch e.Kind {
	case llm.EventInput:
		at := slices.IndexFunc(q.held, func(h heldEvent) bool {
			return h.event.Kind == llm.EventCall && h.event.CallIndex == e.CallIndex
		})
		if at >= 0 {
			q.held[at].text = append(q.held[at].text, e.Text...)
		}
		return
	case llm.EventText:
		if last >= 0 && q.held[last].event.Kind == e.Kind && q.held[last].event.Block == e.Block && len(e.Logprobs) == 0 {
			q.held[last].text = append(q.held[last].text, e.Text...)
			return
		}
	}
	h := heldEvent{event: *e, text: []byte(e.Text)}
	h.event.Logprobs = slices.Clone(e.Logprobs)
	h.event.Thought, h.event.Media, h.event.Call = cloned(e.Thought), cloned(e.Media), cloned(e.Call)
	if call := h.event.Call; call != nil {
		call.Thought, h.text = cloned(call.Thought), []byte(call.Arguments)
	}
	q.held = append(q.held, h)
}

// Next takes the first event.
func (q *Queue) Next() *llm.Event {
	h := q.held[0]
	q.held = q.held[1:]
	if h.event.Kind == llm.EventCall {
		h.event.Call.Arguments = string(h.text)
	} else {
		h.event.Text = string(h.text)
	}
	return &h.event
}

func cloned[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}
