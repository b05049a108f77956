package responses

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/upstream"
)

// createPath is where answers are made.
const createPath = "/v1/responses"

// respondingExchange is a call of the Responses API whose request was written from the
// common form, and whose answer is translated to it.
type respondingExchange struct {
	api       *API
	call      providers.Call
	body      []byte
	ignored   []string
	names     compose.ToolNames
	tools     []llm.Tool // that the client has declared
	maxOutput *int64
}

// Properties have the limit that OpenAI is sent, which can be more than the client's.
func (x *respondingExchange) Properties() providers.Properties {
	p := providers.Properties{Ignored: x.ignored, Body: [][]byte{x.body}}
	if x.maxOutput != nil {
		p.MaxOutput = *x.maxOutput
	}
	return p
}

// Open sends the request, and reads up to what shows that the answer has begun.
func (x *respondingExchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	client := x.api.client
	if !x.call.Request.Stream {
		text, err := client.Post(ctx, key, createPath, x.body)
		if err != nil {
			return nil, notFound(err)
		}
		return x.readWhole(text)
	}
	events, err := client.Events(ctx, key, createPath, x.body)
	if err != nil {
		return nil, notFound(err)
	}
	if text, err := events.JSON(); text != nil || err != nil { // an error under status 200, or a proxy that does not stream
		events.Close()
		if err != nil {
			return nil, client.Broken(ctx, err)
		}
		return x.readWhole(text)
	}
	return x.events(ctx, events)
}

// notFound gives an unknown model the status that it has in chat completions: here it is
// told with status 400.
func notFound(err error) error {
	if r, ok := errors.AsType[*providers.Refusal](err); ok && r.Code == "model_not_found" && r.Status == http.StatusBadRequest {
		r.Status = http.StatusNotFound
	}
	return err
}

// events reads up to the first event that adds something, and returns a stream that begins
// with it: OpenAI tells errors of the request after it has begun an answer.
func (x *respondingExchange) events(ctx context.Context, events *upstream.Events) (llm.Stream, error) {
	s := &responseStream{ctx: ctx, exchange: x, client: x.api.client, upstream: events}
	if err := s.first(); err != nil {
		events.Close()
		return nil, err
	}
	return s.all, nil
}

// responseStream reads the events of one answer.
type responseStream struct {
	ctx      context.Context
	exchange *respondingExchange
	client   *upstream.Client
	upstream *upstream.Events

	event responseEvent // the current one
	head  response      // what the events before the first one said
}

// first reads up to the first event that is neither an error nor one that only says that
// an answer has begun.
func (s *responseStream) first() error {
	for {
		switch err := s.next(); {
		case errors.Is(err, io.EOF):
			return s.client.Truncated()
		case err != nil:
			return err
		}
		if r := s.event.Response; r != nil {
			s.head = *r
		}
		switch s.event.Type {
		case eventCreated, eventQueued, eventInProgress:
		default:
			return nil
		}
	}
}

// next reads one event that is known. Its error is io.EOF at the end of the body,
// otherwise one for the consumer of the stream.
func (s *responseStream) next() error {
	for {
		raw, err := s.upstream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s.stray()
		case err != nil:
			return s.client.Broken(s.ctx, err)
		}
		known, err := s.event.decode(raw.Name, raw.Data)
		switch {
		case err != nil:
			return s.client.Malformed(err)
		case known:
			return s.refused()
		}
	}
}

// refused is the error that the current event says, nil where it says none.
func (s *responseStream) refused() error {
	switch e := &s.event; e.Type {
	case eventError:
		return s.client.Refused(inStream(e.problem()))
	case eventFailed:
		return s.client.Refused(inStream(e.Response.problem()))
	}
	return nil
}

// stray is the end of the body, or the error that stands there as plain JSON.
func (s *responseStream) stray() error {
	text := s.upstream.Stray()
	p := wire.ProblemOf(text)
	if p == nil {
		return io.EOF
	}
	var r response
	if json.Unmarshal(text, &r, wire.Lenient) == nil && r.Error != nil && r.Error.Message != "" {
		p = r.Error
	}
	return s.client.Refused(inStream(p))
}

func (s *responseStream) all(yield func(*llm.Event, error) bool) {
	defer s.upstream.Close()
	a := s.exchange.answer(yield, &s.head)
	s.upstream.BeforeRead(a.out.Pause)
	alive := a.out.Begin(0) && a.apply(&s.event)
	for alive && !a.ended {
		if err := s.next(); err != nil {
			if errors.Is(err, io.EOF) {
				err = s.client.Truncated()
			}
			a.fail(err)
			return
		}
		alive = a.apply(&s.event)
	}
	if alive && !a.stops.cut {
		s.upstream.Drain()
	}
}

var errNoCount = errors.New("the answer has no input_tokens")

const countPath = createPath + "/input_tokens"

// Count asks for the tokens of a prompt, in the client's own bytes where the client speaks the
// API.
func (a *API) Count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	if source, ok := call.Request.Source.(ofResponses); ok {
		return a.countNative(ctx, call, source.Endpoint(), key)
	}
	c, err := a.newResponding(call)
	if err != nil {
		return providers.Count{}, err
	}
	out := &c.out
	body, err := c.Encode(&countedRequest{
		Model: out.Model, Instructions: out.Instructions, Input: out.Input, Tools: out.Tools, ToolChoice: out.ToolChoice,
		ParallelToolCalls: out.ParallelToolCalls, Text: out.Text, Reasoning: out.Reasoning,
	})
	if err != nil {
		return providers.Count{}, err
	}
	text, err := a.client.Post(ctx, key, countPath, body)
	if err != nil {
		return providers.Count{}, notFound(err)
	}
	return readCounted(a.client, text)
}

func (a *API) countNative(ctx context.Context, call providers.Call, endpoint, key string) (providers.Count, error) {
	n, err := a.native(call, endpoint)
	if err != nil {
		return providers.Count{}, err
	}
	text, err := n.client.Post(ctx, key, n.path, n.body...)
	if err != nil {
		return providers.Count{}, err
	}
	counted, err := readCounted(n.client, text)
	counted.Raw, counted.Dialect = text, llm.Responses
	return counted, err
}

func readCounted(client *upstream.Client, text []byte) (providers.Count, error) {
	var answer struct {
		Input *int64 `json:"input_tokens"`
	}
	if err := json.Unmarshal(text, &answer, wire.Lenient); err != nil {
		return providers.Count{}, client.Malformed(fmt.Errorf("decode count: %w", err))
	}
	if answer.Input == nil || *answer.Input < 0 {
		return providers.Count{}, client.Malformed(errNoCount)
	}
	return providers.Count{Tokens: *answer.Input}, nil
}
