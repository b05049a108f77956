package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/internal/scan"
)

// forward is an event in the form for the client, before and after its piece of
// text.
type forward struct {
	head, tail []byte
}

// around splits an event that is forwarded unchanged at its text, which is
// between from and to; ok is false where the event has to be encoded again.
func around(data []byte, from, to int, usage bool) (f forward, ok bool) {
	out, choices, ok := asItCame(data, usage)
	if !ok {
		return f, false
	}
	at := choices + from - bytes.Index(data, out[choices:bytes.LastIndexByte(out, ']')+1])
	end := at + to - from
	if at < 0 || end > len(out) || !bytes.Equal(out[at:end], data[from:to]) {
		return f, false
	}
	return forward{head: out[:at], tail: out[end:]}, true
}

// asItCame is an event in the form for the client: the upstream's bytes without its
// padding, and with a null usage only if the client asked for usage. It is false
// for an event that lacks members that clients rely on, has members that only the
// first event may have, or came in several lines. choices is the position of its choices.
func asItCame(data []byte, usage bool) (out []byte, choices int, ok bool) {
	if bytes.ContainsAny(data, "\r\n") {
		return nil, 0, false // a line break would end the line of the event
	}
	const needed = sawID | sawObject | sawCreated | sawModel | sawChoices
	var seen uint32
	out = append(make([]byte, 0, len(data)+len(`,"usage":null`)), '{')
	for name, value := range scan.Members(data) {
		sound := true
		switch {
		case name.Is("usage"), name.Is("obfuscation"):
			continue
		case name.Is("id"):
			seen |= sawID
		case name.Is("created"):
			seen |= sawCreated
		case name.Is("model"):
			seen |= sawModel
		case name.Is("object"):
			seen |= sawObject
			sound = string(value) == `"`+chat.ObjectChunk+`"`
		case name.Is("choices"):
			seen |= sawChoices
			sound = soundChoice(value)
		}
		if !sound {
			return nil, 0, false
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, name...), ':')
		if name.Is("choices") {
			choices = len(out)
		}
		out = append(out, value...)
	}
	if usage {
		out = append(out, `,"usage":null`...)
	}
	return append(out, '}'), choices, seen == needed
}

// soundChoice reports whether the one choice of an event has all members that
// clients rely on, and none that only the first event may have.
func soundChoice(choices jsontext.Value) bool {
	var seen uint32
	for name, value := range scan.Members(bytes.Trim(choices, "[] \t\r\n")) {
		switch {
		case name.Is("index"):
			seen |= sawIndex
		case name.Is("finish_reason"):
			seen |= sawReason
		case name.Is("delta"):
			seen |= sawDelta
			if !soundDelta(value) {
				return false
			}
		}
	}
	return seen == sawIndex|sawReason|sawDelta
}

// soundDelta reports whether a delta has no members that only the first event may
// have, and texts where clients expect them: some compatible servers send lists and
// objects.
func soundDelta(delta jsontext.Value) bool {
	for name, value := range scan.Members(delta) {
		switch {
		case name.Is("role"), name.Is("reasoning"), name.Is("function_call"):
			return false
		case name.Is("content"), name.Is("refusal"), name.Is("reasoning_content"):
			if kind := value.Kind(); kind != jsontext.KindString && kind != jsontext.KindNull {
				return false
			}
		case name.Is("tool_calls"):
			for call := range scan.Elements(value) {
				if !soundArguments(call) {
					return false
				}
			}
		}
	}
	return true
}

func soundArguments(call jsontext.Value) bool {
	for name, function := range scan.Members(call) {
		if !name.Is("function") {
			continue
		}
		for name, value := range scan.Members(function) {
			if name.Is("arguments") && value.Kind() != jsontext.KindString {
				return false
			}
		}
	}
	return true
}

// sound reports whether a decoded event adds something to its one choice and
// needs no repair, and nothing of it has to be held back.
func (s *stream) soundEvent(e *event) bool {
	if len(e.Choices) != 1 || !s.sameHead(e) || e.Usage != nil {
		return false
	}
	c := &e.Choices[0]
	d := &c.Delta
	says := d.Content != nil && *d.Content != "" || d.Refusal != nil && *d.Refusal != "" || d.ReasoningContent != "" ||
		len(d.ToolCalls) > 0 || len(d.Images) > 0
	return says && c.FinishReason == "" && s.out.Begun(c.Index) && s.soundCalls(c)
}

// sameHead reports whether an event has the same head as the stream's first
// one.
func (s *stream) sameHead(e *event) bool {
	head := &s.events.head
	return e.ID == head.ID && e.Model == head.Model && e.Created == head.Created
}

// soundCalls reports whether the fragments of tool calls in a choice have the
// numbers that the client knows. It records that their arguments have arrived.
func (s *stream) soundCalls(c *eventChoice) bool {
	known := s.calls[c.Index]
	for i := range c.Delta.ToolCalls {
		f := &c.Delta.ToolCalls[i]
		if f.Index == nil || *f.Index < 0 || *f.Index >= len(known) || f.ID != "" || f.Type != "" || f.Function == nil {
			return false
		}
		if k := &known[*f.Index]; k.at != *f.Index || k.index != *f.Index || f.Function.Name != "" || f.Function.Arguments == "" ||
			!k.arguments {
			return false
		}
	}
	return true
}
