// Package openai simulates OpenAI's chat completions, embeddings and list of models.
package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/providers/simulator/rawjson"
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
func (s *Service) Chat(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", wire.NewID("req_"))
	w.Header().Set("Openai-Version", "2020-10-01")
	w.Header().Set("Openai-Organization", "simulated")
	w.Header().Set("Openai-Processing-Ms", "1")
	if f := CheckKey(r); f != nil {
		f.Write(w)
		return
	}
	q, m, f := s.read(w, r)
	if f != nil {
		f.Write(w)
		return
	}
	p := q.Prompt()
	trigger := p.Trigger()
	if trigger.Fault == reply.FaultError {
		Documented(trigger.Status).Write(w)
		return
	}
	s.answer(q, m, p, trigger.Fault).Write(w, r, s.options)
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

func (s *Service) read(w http.ResponseWriter, r *http.Request) (*Request, wire.Model, *wire.Failure) {
	raw, err := wire.ReadObject(w, r)
	if errors.Is(err, wire.ErrTooLarge) {
		return nil, wire.Model{}, Failure(http.StatusRequestEntityTooLarge, "Request body is too large.")
	}
	if err != nil {
		return nil, wire.Model{}, Refusal("", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't "+
			"using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
	}
	id := rawjson.Get(raw, "model")
	if id == nil {
		return nil, wire.Model{}, Refusal("", "", "you must provide a model parameter")
	}
	if f := s.options.Refuse(Name, rawjson.String(id), r.Header, raw); f != nil {
		return nil, wire.Model{}, f
	}
	q := &Request{}
	if err := json.Unmarshal(raw, q); err != nil {
		return nil, wire.Model{}, Refusal("", "", err.Error())
	}
	m, known := FindModel(q.Model)
	if !known {
		return nil, m, unknownModel(q.Model)
	}
	if m.Embeds {
		return nil, m, Failure(http.StatusNotFound, "This is not a chat model and thus not supported in the v1/chat/completions endpoint. "+
			"Did you mean to use v1/completions?")
	}
	return q, m, nil
}

// NotFound answers on all other paths.
func (s *Service) NotFound(w http.ResponseWriter, r *http.Request) {
	Failure(http.StatusNotFound, fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)).Write(w)
}
