package chat

import (
	"bytes"

	"modelgateway/dialects/chat"
	"modelgateway/internal/jsonbytes"
)

// forward is an event in the form for the client, before and after its piece of
// text.
type forward struct {
	head, tail []byte
}

// splitAt splits an event that is forwarded as it came at a part of its choices.
func splitAt(at jsonbytes.Span, text []byte, usage bool) forward {
	out, shift := asItCame(text, usage)
	return forward{head: out[:at.From+shift], tail: out[at.To+shift:]}
}

// asItCame is an event in the form for the client: the upstream's bytes without its
// padding, and with a null usage only if the client asked for usage. shift is how far its
// choices have moved.
func asItCame(text []byte, usage bool) (out []byte, shift int) {
	out = append(make([]byte, 0, len(text)+len(`,"usage":null`)), '{')
	for name, at := range jsonbytes.MembersAt(text, 0) {
		if name.Is("usage") || name.Is("obfuscation") {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, name...), ':')
		if name.Is("choices") {
			shift = len(out) - at.From
		}
		out = append(out, at.Of(text)...)
	}
	if usage {
		out = append(out, `,"usage":null`...)
	}
	return append(out, '}'), shift
}

// complete says whether the current event has all members that clients rely on, of their types
// and on one line, for one choice, and none that only the first event may have.
func (s *stream) complete(e *event) bool {
	if e.altered || !e.has.all(hasEnvelope) || e.Object != chat.ObjectChunk || len(e.Choices) != 1 || bytes.ContainsAny(s.raw, "\r\n") {
		return false
	}
	c := &e.Choices[0]
	return c.has.all(hasIndex|hasDelta|hasReason) && !c.Delta.has.any(hasRole|hasFunctionCall|hasForeignReasoning)
}

// forwardable reports whether an event adds something to its one choice and needs no repair, and
// nothing of it has to be held back.
func (s *stream) forwardable(e *event) bool {
	if !s.complete(e) || !s.sameHead(e) || e.Usage != nil {
		return false
	}
	c := &e.Choices[0]
	d := &c.Delta
	says := d.Content != nil && *d.Content != "" || d.Refusal != nil && *d.Refusal != "" || d.ReasoningContent != "" ||
		len(d.ToolCalls) > 0 || len(d.Images) > 0
	return says && c.FinishReason == "" && s.out.Begun(c.Index) && s.knownCalls(c)
}

// sameHead reports whether an event has the same head as the stream's first
// one.
func (s *stream) sameHead(e *event) bool {
	head := &s.events.head
	return e.ID == head.ID && e.Model == head.Model && e.Created == head.Created
}

// knownCalls reports whether the fragments of tool calls in a choice have the numbers that the
// client knows, and only add to arguments that have begun.
func (s *stream) knownCalls(c *eventChoice) bool {
	known := s.calls[c.Index]
	for i := range c.Delta.ToolCalls {
		f := &c.Delta.ToolCalls[i]
		if f.Index == nil || *f.Index < 0 || *f.Index >= int64(len(known)) || f.ID != "" || f.Type != "" || f.Function == nil {
			return false
		}
		if k := &known[*f.Index]; int64(k.at) != *f.Index || k.index != *f.Index || f.Function.Name != "" || f.Function.Arguments == "" ||
			!k.arguments {
			return false
		}
	}
	return true
}
