package anthropic

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers/upstream"
)

func (x *exchange) stream(ctx context.Context, key string) (llm.Stream, error) {
	events, err := x.provider.client.Events(ctx, key, messagesPath, x.body)
	if err != nil {
		return nil, err
	}
	s := &stream{ctx: ctx, client: x.provider.client, events: events, answer: newAnswer(x)}
	if err := s.readStart(); err != nil {
		events.Close()
		return nil, err
	}
	return func(yield func(*llm.Event, error) bool) {
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

// readStart reads up to message_start. In a valid stream only pings come before
// it.
func (s *stream) readStart() error {
	for {
		switch err := s.next(); {
		case errors.Is(err, io.EOF):
			return ended(s.client, s.events)
		case err != nil:
			return err
		}
		switch s.event.Type {
		case typeMessageStart:
			if err := s.event.Message.readBlocks(); err != nil {
				return s.client.Malformed(err)
			}
			return nil
		case typeBlockStart, typeBlockDelta, typeBlockStop, typeMessageDelta, typeMessageStop:
			return s.client.Malformed(errNoStart)
		}
	}
}

// next reads one event into s.event. Its error is io.EOF at the end of the body,
// otherwise one for the consumer of the stream.
func (s *stream) next() error {
	raw, err := s.events.Next()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return s.client.Broken(s.ctx, err)
	}
	// Usage is decoded over what came before: no event has all counts.
	s.event = event{Usage: &s.answer.usage}
	if err := json.Unmarshal(raw.Data, &s.event, api.Lenient); err != nil {
		if !ignorable(raw.Data) {
			return s.client.Malformed(err)
		}
		s.event = event{}
	}
	if s.event.Type == typeError {
		return s.client.Refused(s.event.Error.refusal())
	}
	return nil
}

// ended is the error for a body that ended early. A body without any event may
// be an error that came as plain JSON under status 200.
func ended(client *upstream.Client, events *upstream.Events) error {
	stray := events.Stray()
	if len(stray) == 0 {
		return client.Truncated()
	}
	var m wholeMessage
	if json.Unmarshal(stray, &m, api.Lenient) == nil && m.Type == typeError {
		return client.Refused(m.Error.refusal())
	}
	return client.Malformed(errNoEvents)
}

// run reads the events from message_start to message_stop.
func (s *stream) run(yield func(*llm.Event, error) bool) {
	alive := s.answer.start(&s.event.Message, yield)
	s.events.BeforeRead(s.answer.out.Pause)
	for alive && !s.answer.stopped {
		if err := s.next(); err != nil {
			s.end(err)
			return
		}
		alive = s.answer.apply(&s.event)
	}
	if s.answer.stopped {
		s.events.Drain()
	}
}

func (s *stream) end(err error) {
	switch {
	case errors.Is(err, io.EOF) && s.answer.ending.StopReason != "" && !s.answer.early:
		s.answer.finish() // only message_stop is missing, which adds nothing
	case errors.Is(err, io.EOF):
		s.answer.out.Fail(ended(s.client, s.events))
	default:
		s.answer.out.Fail(err)
	}
}

// ignorable reports whether an event that could not be decoded is of an unknown
// type, or adds something of an unknown type. By Anthropic's versioning policy
// clients have to ignore both.
func ignorable(data []byte) bool {
	type typed struct {
		Type string `json:"type"`
	}
	var e struct {
		Type  string         `json:"type"`
		Delta jsontext.Value `json:"delta"`
		Block jsontext.Value `json:"content_block"`
	}
	if json.Unmarshal(data, &e, api.Lenient) != nil || e.Type == "" {
		return false
	}
	var inner typed
	switch e.Type {
	case typeBlockDelta:
		return json.Unmarshal(e.Delta, &inner, api.Lenient) == nil && !knownDelta(inner.Type)
	case typeBlockStart:
		return json.Unmarshal(e.Block, &inner, api.Lenient) == nil && kindOf(inner.Type) == kindOther
	case typeMessageStart, typeBlockStop, typeMessageDelta, typeMessageStop, typeError:
		return false
	}
	return true
}
