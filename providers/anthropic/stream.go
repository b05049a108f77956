package anthropic

import (
	"cmp"
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
	events, err := x.client.Events(ctx, key, x.path, x.body)
	if err != nil {
		return nil, err
	}
	s := &stream{ctx: ctx, client: x.client, events: events, answer: newAnswer(x)}
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
			return ended(s.client, s.events.Stray())
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

// ended is the error for a body that ended early, with stray, which is no event. A body
// without any event may be an error that came as plain JSON under status 200.
func ended(client *upstream.Client, stray []byte) error {
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
		s.answer.out.Fail(ended(s.client, s.events.Stray()))
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

// start begins the answer.
func (a *answer) start(m *answerMessage, yield func(*llm.Event, error) bool) bool {
	a.out = llm.NewEmitter(yield, llm.Head{
		ID: m.ID, Model: cmp.Or(m.Model, a.exchange.model), Created: a.exchange.provider.now().Unix(), Counter: a,
		ServiceTier: m.Usage.tier(),
	})
	a.out.Malformed = a.exchange.provider.client.Malformed
	a.id, a.usage = m.ID, m.Usage // which the first event may be asked for
	return a.out.Begin(0) && a.message(m)
}

// message takes what a message holds already.
func (a *answer) message(m *answerMessage) bool {
	a.usage = m.Usage
	for i := range m.blocks {
		if !a.startBlock(i, &m.blocks[i]) || !a.stopBlock(i) {
			return false
		}
	}
	a.setEnding(&m.ending)
	return true
}

// setEnding takes what is said of the ending.
func (a *answer) setEnding(e *ending) {
	if e.StopReason != "" {
		a.ending.StopReason, a.early = e.StopReason, false
	}
	if e.StopSequence != "" {
		a.ending.StopSequence = e.StopSequence
	}
	if e.StopDetails != nil {
		a.ending.StopDetails = e.StopDetails
	}
}

// startAgain handles another message_start. Some proxies send the same one twice, or try
// another upstream before anything has been shown: then the answer starts over, but for its
// id, which has been sent. Another message inside an answer would be a mixture of two.
func (a *answer) startAgain(m *answerMessage) bool {
	if m.ID == "" || m.ID == a.id {
		return true
	}
	err := errOtherMessage
	if !a.out.Shown() {
		*a = answer{exchange: a.exchange, out: a.out, id: m.ID}
		if err = m.readBlocks(); err == nil {
			return a.message(m)
		}
	}
	a.out.Fail(a.exchange.provider.client.Malformed(err))
	return false
}
