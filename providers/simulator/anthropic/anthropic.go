// Package anthropic simulates Anthropic's messages and its list of models.
package anthropic

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/llm"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// Name is the name of the provider. Counting is that of its requests to count tokens, for
// a check.
const (
	Name     = "anthropic"
	Counting = "anthropic count_tokens"
)

// Service simulates Anthropic.
type Service struct {
	options wire.Options
	cache   *reply.Cache
}

// New returns a service with an empty prompt cache.
func New(options wire.Options) *Service { return &Service{options: options, cache: reply.NewCache()} }

// Addressed reports whether a request is meant for Anthropic, at a path that
// other providers have too.
func Addressed(r *http.Request) bool {
	return r.Header.Get("X-Api-Key") != "" || r.Header.Get("Anthropic-Version") != ""
}

// Messages is POST /v1/messages.
func (s *Service) Messages(w http.ResponseWriter, r *http.Request) *wire.Failure {
	w.Header().Set("Request-Id", wire.NewID("req_01"))
	w.Header().Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-000000000000")
	w.Header().Set("Anthropic-Ratelimit-Requests-Limit", "50")
	w.Header().Set("Anthropic-Ratelimit-Requests-Remaining", "49")
	w.Header().Set("Anthropic-Ratelimit-Requests-Reset", s.inTwoSeconds())
	if f := checkHeader(r); f != nil {
		return f
	}
	q, p, f := s.read(w, r, Name)
	if f != nil {
		return f
	}
	if llm.Given(q.Thread) {
		return noThreads()
	}
	s.answer(q, p).Write(w, r, s.options)
	return nil
}

func (s *Service) inTwoSeconds() string {
	return s.options.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)
}

func checkHeader(r *http.Request) *wire.Failure {
	key, bearer := r.Header.Get("X-Api-Key"), r.Header.Get("Authorization")
	switch {
	case key != "" && bearer != "":
		return failure(http.StatusUnauthorized, "x-api-key and Authorization may not both be sent")
	case key == "" && !strings.HasPrefix(bearer, "Bearer "):
		return failure(http.StatusUnauthorized, "x-api-key header is required")
	case r.Header.Get("Anthropic-Version") == "":
		return Refusal("anthropic-version: header is required")
	}
	return nil
}

// CountTokens is POST /v1/messages/count_tokens.
func (s *Service) CountTokens(w http.ResponseWriter, r *http.Request) *wire.Failure {
	w.Header().Set("Request-Id", wire.NewID("req_01"))
	if f := checkHeader(r); f != nil {
		return f
	}
	_, p, f := s.read(w, r, Counting)
	if f != nil {
		return f
	}
	wire.WriteJSON(w, http.StatusOK, struct {
		InputTokens int `json:"input_tokens"`
	}{p.Tokens()})
	return nil
}

// read returns the request and its prompt, or an error answer, also where the prompt asks for
// one.
func (s *Service) read(w http.ResponseWriter, r *http.Request, asked string) (*Request, *reply.Prompt, *wire.Failure) {
	raw, err := wire.ReadObject(w, r)
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, nil, failure(http.StatusRequestEntityTooLarge, "Request exceeds the maximum size")
	case err != nil:
		return nil, nil, Refusal("The request body is not valid JSON: %v", err)
	}
	m, f := s.find(rawjson.GetString(raw, "model"))
	if f != nil {
		return nil, nil, f
	}
	if f := s.options.Refuse(asked, rawjson.GetString(raw, "model"), r.Header, raw); f != nil {
		return nil, nil, f
	}
	q := &Request{}
	if err := json.Unmarshal(raw, q); err != nil {
		return nil, nil, Refusal("%v", err)
	}
	q.answersAs = m.AnswersAs()
	p := q.Prompt()
	switch {
	case q.MaxTokens > m.Output:
		return nil, nil, Refusal("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s",
			q.MaxTokens, m.Output, q.Model)
	case p.Tokens() > m.Context:
		return nil, nil, Refusal("prompt is too long: %d tokens > %d maximum", p.Tokens(), m.Context)
	}
	if t := p.Trigger(); t.Fault == reply.FaultError {
		return nil, nil, s.documented(t.Status)
	}
	return q, p, nil
}

// NotFound answers on all other paths.
func (s *Service) NotFound(w http.ResponseWriter, _ *http.Request) *wire.Failure {
	return failure(http.StatusNotFound, "Not found")
}
