package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// nativeKind is what an event of the Responses API means for the stream.
type nativeKind int

// The kinds of events.
const (
	nativeOther   nativeKind = iota
	nativeOpens              // tells nothing of the answer yet
	nativeAdds               // a piece of an item
	nativeItem               // an item begins or is whole
	nativeEnds               // the answer is whole, or as long as it may be
	nativeFails              // the answer has failed
	nativeProblem            // an error
)

// nativeKindOf is the kind of an event with a type, which is a JSON string.
func nativeKindOf(value []byte) nativeKind {
	if len(value) < len(`""`) {
		return nativeOther
	}
	switch string(value[1 : len(value)-1]) {
	case eventCreated, eventQueued, eventInProgress, "keepalive":
		return nativeOpens
	case eventItemAdded, eventItemDone:
		return nativeItem
	case eventCompleted, eventIncomplete:
		return nativeEnds
	case eventFailed:
		return nativeFails
	case eventError:
		return nativeProblem
	}
	return nativeOther
}

// adds reads an event that begins as the one before that added to an item.
func (s *nativeStream) adds() bool {
	if len(s.fragment.head) == 0 || !bytes.HasPrefix(s.data, s.fragment.head) {
		return false
	}
	s.cursor.Reset(s.data)
	s.cursor.SkipBytes(s.fragment.head)
	text := s.cursor.String()
	if s.cursor.Peek() == 0 { // no string, or nothing after it
		return false
	}
	s.event.Kind, s.event.Text = s.fragment.kind, string(text)
	return true
}

// read finds what an event says.
func (s *nativeStream) read() nativeKind {
	var kind, response, item, delta scan.Span
	for name, value := range scan.MembersAt(s.data, 0) {
		switch {
		case name.Is("type"):
			kind = value
		case name.Is("response"):
			response = value
		case name.Is("item"):
			item = value
		case name.Is("delta"):
			delta = value
		}
	}
	means := nativeKindOf(kind.Of(s.data))
	switch means {
	case nativeOpens, nativeEnds, nativeFails:
		if text := response.Of(s.data); len(text) > 0 && text[0] == '{' {
			s.response(text, means)
		}
	case nativeItem:
		s.item(item.Of(s.data), bytes.HasSuffix(kind.Of(s.data), []byte(`.done"`)))
	case nativeProblem:
		s.problem = bytes.Clone(s.data)
	case nativeOther:
		if delta.To > 0 && s.data[delta.From] == '"' && s.adding(kind, delta) {
			return nativeAdds
		}
	}
	return means
}

// response reads the response that an event tells.
func (s *nativeStream) response(text []byte, means nativeKind) {
	told := answered{}
	told.members(scan.Members(text))
	if told.id != "" && s.head.ID == "" {
		s.names, s.head.ID = s.native.names(&told, s.key)
	}
	if told.model != "" {
		s.head.Model = told.model
	}
	s.begun = true
	if means == nativeOpens {
		return
	}
	told.searches, told.tools = max(told.searches, s.answered.searches), max(told.tools, s.answered.tools)
	told.complete = means == nativeEnds
	s.answered = told
	s.head.ServiceTier = told.tier
	s.event.Kind, s.event.Usage, s.event.Ending = llm.EventFinish, told.common(), told.ending()
}

// item reads an item that begins or is whole, for metering: what it calls, and what it costs
// beside its tokens.
func (s *nativeStream) item(item []byte, whole bool) {
	if len(item) == 0 || item[0] != '{' {
		return
	}
	if whole {
		s.answered.item(item)
		return
	}
	for name, value := range scan.Members(item) {
		if name.Is("name") {
			s.event.Text = scan.Text(value)
		}
	}
}

// adding reads a piece of text, and how its event begins.
func (s *nativeStream) adding(kind, delta scan.Span) bool {
	name := kind.Of(s.data)
	as := llm.EventText
	switch {
	case bytes.Contains(name, []byte("audio")):
		return false
	case bytes.Contains(name, []byte("reasoning")):
		as = llm.EventThought
	case !bytes.Contains(name, []byte("text")) && !bytes.Contains(name, []byte("refusal")):
		as = llm.EventInput
	}
	s.event.Kind, s.event.Text = as, scan.Text(jsontext.Value(delta.Of(s.data)))
	if kind.From < delta.From { // else the same beginning may be that of another type
		s.fragment = fragment{head: append(s.fragment.head[:0], s.data[:delta.From]...), kind: as}
	}
	return true
}
