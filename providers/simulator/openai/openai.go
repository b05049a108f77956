// Package openai simulates OpenAI's chat completions, embeddings and list of models.
package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// Name is the name of the provider.
const Name = "openai"

// Service simulates OpenAI.
type Service struct {
	options wire.Options
	cache   *reply.Cache
}

// New returns a service with an empty prompt cache.
func New(options wire.Options) *Service { return &Service{options: options, cache: reply.NewCache()} }

// Chat is POST /v1/chat/completions.
func (s *Service) Chat(w http.ResponseWriter, r *http.Request) *wire.Failure {
	SetHeader(w.Header())
	q, p, f := s.read(w, r)
	if f != nil {
		return f
	}
	s.answer(q, p).Write(w, r, s.options)
	return nil
}

// CheckKey refuses a request without a key.
func CheckKey(r *http.Request) *wire.Failure {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(key) != "" {
		return nil
	}
	return Failure(http.StatusUnauthorized, "You didn't provide an API key. You need to provide your API key in an Authorization header "+
		"using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).")
}

// SetHeader sets what every answer of OpenAI has in its header.
func SetHeader(h http.Header) {
	h.Set("X-Request-Id", wire.NewID("req_"))
	h.Set("Openai-Version", "2020-10-01")
	h.Set("Openai-Organization", "simulated")
	h.Set("Openai-Processing-Ms", "1")
}

// Read reads a request into q and returns its body. The check knows it as asked; find refuses a model.
func Read(
	o wire.Options, w http.ResponseWriter, r *http.Request, asked string, find func(id string) *wire.Failure, q any,
) (jsontext.Value, *wire.Failure) {
	if f := CheckKey(r); f != nil {
		return nil, f
	}
	raw, err := wire.ReadObject(w, r)
	if errors.Is(err, wire.ErrTooLarge) {
		return nil, Failure(http.StatusRequestEntityTooLarge, "Request body is too large.")
	}
	if err != nil {
		return nil, Refusal("", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't "+
			"using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
	}
	id := jsonbytes.Member(raw, "model")
	switch {
	case id == nil && asked == Name:
		return nil, Refusal("", "", "you must provide a model parameter")
	case id == nil:
		return nil, Refusal("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	}
	if f := find(jsonbytes.Text(id)); f != nil {
		return nil, f
	}
	if f := o.Refuse(asked, jsonbytes.Text(id), r.Header, raw); f != nil {
		return nil, f
	}
	if err := json.Unmarshal(raw, q); err != nil {
		return nil, Refusal("", "", err.Error())
	}
	return raw, nil
}

// read returns the request and its prompt, or an error answer, also where the prompt asks for
// one.
func (s *Service) read(w http.ResponseWriter, r *http.Request) (*Request, *reply.Prompt, *wire.Failure) {
	q, m := &Request{}, wire.Model{}
	_, f := Read(s.options, w, r, Name, func(id string) (f *wire.Failure) {
		if m, f = Find(s.options, id); m.Embeds {
			return Failure(http.StatusNotFound, "This is not a chat model and thus not supported in the v1/chat/completions endpoint. "+
				"Did you mean to use v1/completions?")
		}
		return f
	}, q)
	if f != nil {
		return nil, nil, f
	}
	q.answersAs = m.AnswersAs()
	p := q.Prompt()
	if f := q.checkModel(m, p); f != nil {
		return nil, nil, f
	}
	if t := p.Trigger(); t.Fault == reply.FaultError {
		return nil, nil, Documented(t.Status)
	}
	return q, p, nil
}

// NotFound answers on all other paths.
func (s *Service) NotFound(w http.ResponseWriter, r *http.Request) *wire.Failure {
	return Failure(http.StatusNotFound, fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path))
}
