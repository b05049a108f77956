package anthropic

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

func (x *exchange) Stream(ctx context.Context, key string) (providers.Stream, error) {
	events, err := x.provider.client.Events(ctx, key, messagesPath, x.streamed()...)
	if err != nil {
		return nil, err
	}
	s := &stream{ctx: ctx, client: x.provider.client, events: events, answer: newAnswer(x)}
	if err := s.first(); err != nil {
		events.Close()
		return nil, err
	}
	return func(yield func(*api.ChatChunk, error) bool) {
		defer events.Close()
		s.run(yield)
	}, nil
}

// stream feeds the events of an upstream to the state machine.
type stream struct {
	ctx    context.Context
	client *upstream.Client
	events *upstream.Events
	answer *answer
	event  event
}

// first reads up to message_start. What comes before it in a sound stream are
// pings.
func (s *stream) first() error {
	for {
		switch err := s.next(); {
		case errors.Is(err, io.EOF):
			return s.ended()
		case err != nil:
			return err
		}
		switch s.event.Type {
		case typeMessageStart:
			return nil
		case typeBlockStart, typeBlockDelta, typeBlockStop, typeMessageDelta, typeMessageStop:
			return s.client.Nonsense(errNoStart)
		}
	}
}

// next reads one event into s.event; io.EOF is the end of the body, any other
// error is as the client sees it.
func (s *stream) next() error {
	raw, err := s.events.Next()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return s.client.Broken(s.ctx, err)
	}
	// Usage is decoded over what is known of it: no event has all counts.
	s.event = event{Usage: &s.answer.usage}
	s.event.Message.Usage = &s.answer.usage
	if err := json.Unmarshal(raw.Data, &s.event, lenient); err != nil {
		if !foreign(raw.Data) {
			return s.client.Nonsense(err)
		}
		s.event = event{}
	}
	if s.event.Type == typeError {
		return s.event.Error.refusal().Error(catalog.Anthropic)
	}
	return nil
}

// ended is the error for a body that ended early. One that never held an event
// may be an error that came as plain JSON under status 200.
func (s *stream) ended() error {
	stray := s.events.Stray()
	if len(stray) == 0 {
		return s.client.Truncated()
	}
	var m wholeMessage
	if json.Unmarshal(stray, &m, lenient) == nil && m.Type == typeError {
		return m.Error.refusal().Error(catalog.Anthropic)
	}
	return s.client.Nonsense(errNoEvents)
}

// run goes on from message_start to message_stop.
func (s *stream) run(yield func(*api.ChatChunk, error) bool) {
	alive := s.answer.start(&s.event.Message, yield)
	s.events.BeforeRead(s.answer.out.Pause)
	for alive && !s.answer.stopped {
		if err := s.next(); err != nil {
			s.end(err)
			return
		}
		alive = s.answer.take(&s.event)
	}
	if s.answer.stopped {
		s.events.Drain()
	}
}

func (s *stream) end(err error) {
	switch {
	case errors.Is(err, io.EOF) && s.answer.reason != "":
		s.answer.finish() // whole but for its last event, which says nothing more
	case errors.Is(err, io.EOF):
		s.answer.out.Fail(s.ended())
	default:
		s.answer.out.Fail(err)
	}
}

// foreign says whether an event that could not be decoded is of a type this
// package does not know, or adds something of such a type: both are to be
// ignored (Anthropic's versioning policy), whatever their members look like.
func foreign(data []byte) bool {
	type typed struct {
		Type string `json:"type"`
	}
	var e struct {
		Type  string         `json:"type"`
		Delta jsontext.Value `json:"delta"`
		Block jsontext.Value `json:"content_block"`
	}
	if json.Unmarshal(data, &e, lenient) != nil || e.Type == "" {
		return false
	}
	var inner typed
	switch e.Type {
	case typeBlockDelta:
		return json.Unmarshal(e.Delta, &inner, lenient) == nil && !knownDelta(inner.Type)
	case typeBlockStart:
		return json.Unmarshal(e.Block, &inner, lenient) == nil && kindOf(inner.Type) == kindOther
	case typeMessageStart, typeBlockStop, typeMessageDelta, typeMessageStop, typeError:
		return false
	}
	return true
}
