// Package responses simulates OpenAI's Responses API.
package responses

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// Names of the requests, for a check: to create a response, to compact a conversation,
// and to count its tokens.
const (
	Name       = "openai responses"
	Compacting = "openai responses/compact"
	Counting   = "openai responses/input_tokens"
)

// Service simulates the Responses API.
type Service struct {
	options wire.Options
	cache   *reply.Cache
	kept    *store
}

// New returns a service with an empty prompt cache that has kept no response.
func New(options wire.Options) *Service {
	return &Service{options: options, cache: reply.NewCache(), kept: newStore()}
}

// Create is POST /v1/responses.
func (s *Service) Create(w http.ResponseWriter, r *http.Request) *wire.Failure {
	q, p, f := s.read(w, r, Name)
	if f != nil {
		return f
	}
	a := s.answer(q, p)
	if q.Store == nil || *q.Store {
		s.kept.add(a.id, kept{a, q.items})
	}
	if !q.Stream {
		wire.WriteJSON(w, http.StatusOK, a.object())
		return nil
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	q.stream(a, p.Trigger().Fault).Send(w, r, s.options.ChunkDelay)
	return nil
}

// Compact is POST /v1/responses/compact: the messages of the user, and an item that stands
// for the conversation.
func (s *Service) Compact(w http.ResponseWriter, r *http.Request) *wire.Failure {
	q, p, f := s.read(w, r, Compacting)
	if f != nil {
		return f
	}
	q.compacts = true
	a := s.answer(q, p)
	output := []jsontext.Value{}
	for _, item := range q.items {
		if rawjson.GetString(item, "role") == "user" {
			output = append(output, item)
		}
	}
	for _, o := range a.output {
		output = append(output, rawjson.Encode(o.done))
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{
		"id", a.id, "object", "response.compaction", "created_at", a.created, "output", output, "usage", usage(a.usage),
	})
	return nil
}

// Count is POST /v1/responses/input_tokens.
func (s *Service) Count(w http.ResponseWriter, r *http.Request) *wire.Failure {
	_, p, f := s.read(w, r, Counting)
	if f != nil {
		return f
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{"object", "response.input_tokens", "input_tokens", p.Tokens()})
	return nil
}

// Upgrade is GET /v1/responses, which opens a WebSocket at OpenAI and here asks to do
// without: https://developers.openai.com/api/docs/guides/websocket-mode
func (s *Service) Upgrade(w http.ResponseWriter, r *http.Request) *wire.Failure {
	openai.SetHeader(w.Header())
	status, message := http.StatusMethodNotAllowed, "Not allowed to GET on /v1/responses"
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		status, message = http.StatusUpgradeRequired, "The simulator has no WebSockets"
	}
	return openai.Failure(status, message)
}

// read returns the request and its prompt, or an error answer, also where the prompt asks for
// one.
func (s *Service) read(w http.ResponseWriter, r *http.Request, asked string) (*Request, *reply.Prompt, *wire.Failure) {
	openai.SetHeader(w.Header())
	q, m := &Request{}, wire.Model{}
	raw, f := openai.Read(s.options, w, r, asked, func(id string) (f *wire.Failure) {
		if m, f = openai.Find(s.options, id); f != nil || m.Embeds {
			return openai.Refusal("model", "model_not_found", fmt.Sprintf("The requested model '%s' does not exist.", id))
		}
		return nil
	}, q)
	if f != nil {
		return nil, nil, f
	}
	q.raw, q.answersAs = raw, m.AnswersAs()
	if f := s.kept.fill(q); f != nil {
		return nil, nil, f
	}
	p := q.Prompt()
	if p.Tokens() > m.Context {
		return nil, nil, openai.Refusal("input", "context_length_exceeded",
			"Your input exceeds the context window of this model. Please adjust your input and try again.")
	}
	if t := p.Trigger(); t.Fault == reply.FaultError {
		return nil, nil, openai.Documented(t.Status)
	}
	return q, p, nil
}
