package responses

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/native"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/upstream"
)

var errNotBegun = errors.New("the stream does not begin with a response")

// events is the stream of an answer, which begins with an event that tells the response.
func (n *nativeExchange) events(ctx context.Context, events *upstream.Events, key string) (llm.Stream, error) {
	head := llm.Head{Model: n.model, Created: n.api.now().Unix()}
	return native.Open(ctx, n.client, events, llm.Responses, &responseReader{native: n, key: key}, head, errNotBegun)
}

// responseReader reads the events of an answer that are passed on in their bytes, but for the
// ids of responses.
type responseReader struct {
	native *nativeExchange
	key    string
	names  renames

	answered answered
	begun    bool   // an event has come that tells the response
	problem  []byte // the error that an event says
}

// Counted is the usage so far: OpenAI sends the tokens last.
func (r *responseReader) Counted() *llm.Usage { return r.answered.counted() }

// Begun says whether an event has told the response.
func (r *responseReader) Begun() bool { return r.begun }

// Renamed has the names by which the client knows responses.
func (r *responseReader) Renamed(_ *native.Stream, raw []byte) []byte { return r.names.in(raw) }

// Missing is nothing: without its last event an answer is not whole.
func (r *responseReader) Missing() (frame, data []byte) { return nil, nil }

// Failed is the error that an event has said by itself, or that of a response that failed.
func (r *responseReader) Failed(s *native.Stream, kind native.Kind, early bool) error {
	p, data := wire.ProblemOf(r.answered.problem), s.Data
	if kind == native.Problem {
		p, data = problemIn(r.problem), r.problem
	}
	if early {
		return r.native.failedEarly(p)
	}
	if kind == native.Fails {
		data = r.names.in(data)
	}
	return r.native.failedLate(p, data)
}

// Cut is the error of a stream without its last event.
func (r *responseReader) Cut(stray []byte) error {
	switch p := problemIn(stray); {
	case len(stray) == 0:
		return r.native.client.Truncated()
	case p == nil:
		return r.native.client.Malformed(errNotBegun)
	default:
		return r.native.failedEarly(p)
	}
}

// Read finds what an event says.
func (r *responseReader) Read(s *native.Stream) native.Kind {
	var kind, response, item, delta jsonbytes.Span
	for name, value := range jsonbytes.MembersAt(s.Data, 0) {
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
	name := kind.Of(s.Data)
	if len(name) < len(`""`) {
		name = []byte(`""`)
	}
	switch string(name[1 : len(name)-1]) {
	case eventCreated, eventQueued, eventInProgress, "keepalive":
		r.response(s, response.Of(s.Data), native.Opens)
		return native.Opens
	case eventCompleted, eventIncomplete:
		return r.response(s, response.Of(s.Data), native.Ends)
	case eventFailed:
		r.response(s, response.Of(s.Data), native.Fails)
		return native.Fails
	case eventError:
		r.problem = bytes.Clone(s.Data)
		return native.Problem
	case eventItemAdded:
		s.Event.Text = jsonbytes.Text(jsonbytes.Member(item.Of(s.Data), "name")) // of what it calls
	case eventItemDone:
		r.answered.item(item.Of(s.Data))
	default:
		if delta.To > 0 && s.Data[delta.From] == '"' {
			adds(s, kind, delta)
		}
	}
	return native.Other
}

// response reads the response that an event tells, and what that means for the stream.
func (r *responseReader) response(s *native.Stream, text []byte, means native.Kind) native.Kind {
	if len(text) == 0 || text[0] != '{' {
		return native.Other
	}
	told := answered{}
	told.members(jsonbytes.Members(text))
	if told.id != "" && s.Head.ID == "" {
		r.names, s.Head.ID = r.native.names(&told, r.key)
	}
	if told.model != "" {
		s.Head.Model = told.model
	}
	r.begun = true
	if means == native.Opens {
		return means
	}
	told.searches, told.tools = max(told.searches, r.answered.searches), max(told.tools, r.answered.tools)
	r.answered = told
	s.Head.ServiceTier = told.tier
	s.Event.Kind, s.Event.Usage, s.Event.Ending = llm.EventFinish, told.common(), told.ending()
	return means
}

// adds reads a piece of text. An event whose type comes after it may begin as that of another type.
func adds(s *native.Stream, kind, delta jsonbytes.Span) {
	name := jsontext.Value(kind.Of(s.Data))
	as := llm.EventText
	switch {
	case bytes.Contains(name, []byte("audio")):
		return
	case bytes.Contains(name, []byte("reasoning")):
		as = llm.EventThought
	case !bytes.Contains(name, []byte("text")) && !bytes.Contains(name, []byte("refusal")):
		as = llm.EventInput
	}
	s.Adds(as, delta, kind.From < delta.From)
}
