package converse

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers/upstream"
)

// stream feeds the events of an upstream to the state machine.
type stream struct {
	ctx    context.Context
	client *upstream.Client
	events *upstream.Events
	answer *answer
	name   string // of the current event
	event  event
}

// openStream reads up to the first event behind messageStart. Until then nothing has been sent,
// and another upstream may be tried after an error.
func (x *exchange) openStream(ctx context.Context, key string) (llm.Stream, error) {
	events, err := x.api.client.Events(ctx, key, address(x.call.Model, "converse-stream"), x.body)
	if err != nil {
		return nil, err
	}
	s := &stream{ctx: ctx, client: x.api.client, events: events, answer: newAnswer(x)}
	for err = s.next(); err == nil && s.name == "messageStart"; {
		err = s.next()
	}
	if err != nil {
		events.Close()
		return nil, s.failed(err)
	}
	return s.run, nil
}

// next reads one event. Its error is io.EOF at the end of the body, otherwise one for the
// consumer of the stream.
func (s *stream) next() error {
	raw, err := s.events.Next()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return s.client.Broken(s.ctx, err)
	}
	s.name, s.event = raw.Name, event{}
	if err := json.Unmarshal(raw.Data, &s.event, api.Lenient); err != nil {
		return s.client.Malformed(err)
	}
	if s.name == "error" {
		e := &s.event.Error
		return s.client.Refused(refusal(cmp.Or(statuses[e.Type], http.StatusInternalServerError), e.Type, e.Message))
	}
	return nil
}

// failed is the error of an answer that ends with err.
func (s *stream) failed(err error) error {
	if errors.Is(err, io.EOF) {
		return s.client.Truncated()
	}
	return err
}

// run reads the events to the usage, which comes behind the end of the message.
func (s *stream) run(yield func(*llm.Event, error) bool) {
	defer s.events.Close()
	a := s.answer
	if !a.begin(yield) || !a.apply(s.name, &s.event) {
		return
	}
	s.events.BeforeRead(a.out.Pause)
	for a.reason == "" || a.usage == nil {
		err := s.next()
		if errors.Is(err, io.EOF) && a.reason != "" {
			break // only the usage is missing
		}
		if err != nil {
			a.out.Fail(s.failed(err))
			return
		}
		if !a.apply(s.name, &s.event) {
			return
		}
	}
	a.finish()
	s.events.Drain()
}
