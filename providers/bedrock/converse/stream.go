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
	*answer
	ctx    context.Context
	client *upstream.Client
	events *upstream.Events
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
	s := &stream{answer: newAnswer(x), ctx: ctx, client: x.api.client, events: events}
	for err = s.next(); err == nil && s.name == "messageStart"; {
		err = s.next()
	}
	if err != nil {
		events.Close()
		return nil, err
	}
	return s.run, nil
}

// next reads one event.
func (s *stream) next() error {
	raw, err := s.events.Next()
	switch {
	case errors.Is(err, io.EOF):
		return s.client.Truncated()
	case err != nil:
		return s.client.Broken(s.ctx, err)
	}
	s.name, s.event = raw.Name, event{}
	if err := json.Unmarshal(raw.Data, &s.event, api.Lenient); err != nil {
		return s.client.Malformed(err)
	}
	if e := &s.event.Error; s.name == "error" {
		return s.client.Refused(refusal(cmp.Or(statuses[e.Type], http.StatusInternalServerError), e.Type, e.Message))
	}
	return nil
}

// run reads the events to the usage, which comes behind the end of the message. An answer whose
// upstream ends without it is whole.
func (s *stream) run(yield func(*llm.Event, error) bool) {
	defer s.events.Close()
	alive := s.begin(yield) && s.apply(s.name, &s.event)
	s.events.BeforeRead(s.out.Pause)
	for alive && (s.reason == "" || s.usage == nil) {
		err := s.next()
		if s.reason != "" && errors.Is(err, upstream.ErrTruncated) {
			break
		}
		if err != nil {
			s.out.Fail(err)
			return
		}
		alive = s.apply(s.name, &s.event)
	}
	if alive {
		s.finish()
		s.events.Drain()
	}
}
