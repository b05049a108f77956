// Package gemini simulates Google's Gemini API: generated content and the list of
// models. Unlike Google it reads no snake_case field names, and no credential from
// the query.
package gemini

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// Name is the name of the provider.
const Name = "gemini"

const contentType = "application/json; charset=UTF-8"

// Service simulates Google.
type Service struct {
	options wire.Options
	cache   *reply.Cache
}

// New returns a service with an empty prompt cache.
func New(options wire.Options) *Service { return &Service{options: options, cache: reply.NewCache()} }

// Generate is POST /v1beta/models/{call}, where call is a model and, behind a
// colon, generateContent, streamGenerateContent, countTokens, or a method of embeddings. A stream is a JSON array
// unless the query says alt=sse.
func (s *Service) Generate(w http.ResponseWriter, r *http.Request) *wire.Failure {
	w.Header().Set("Server-Timing", "gfet4t7; dur=1")
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	if method == embedOne || method == embedBatch {
		return s.embed(w, r, model, method)
	}
	streams := method == "streamGenerateContent"
	inArray := streams && r.URL.Query().Get("alt") != "sse"
	q, p, f := s.read(w, r, model, method)
	if f != nil {
		if inArray {
			f.Body = []any{f.Body}
		}
		return f
	}
	if method == countTokens {
		w.Header().Set("Content-Type", contentType)
		wire.WriteJSON(w, http.StatusOK, count(p))
		return nil
	}
	a := answer{ModelVersion: model, ResponseID: wire.NewID("")[:22], Usage: s.usage(p)}
	if !streams {
		w.Header().Set("Content-Type", contentType)
		wire.WriteJSON(w, http.StatusOK, q.complete(a, p))
		return nil
	}
	chunks, fault := q.chunks(a, p), documented(http.StatusServiceUnavailable).Body
	stream, errorEvent := asEvents(chunks), event(rawjson.Encode(fault))
	w.Header().Set("Content-Type", "text/event-stream")
	if inArray {
		stream, errorEvent = asArray(chunks), append(append([]byte(",\r\n"), rawjson.Encode(fault)...), "]\r\n"...)
		w.Header().Set("Content-Type", contentType)
	}
	stream.Inject(p.Trigger().Fault, errorEvent).Send(w, r, s.options.ChunkDelay)
	return nil
}

// read returns the request and its prompt, or an error answer, also where the
// prompt asks for one.
func (s *Service) read(w http.ResponseWriter, r *http.Request, model, method string) (*Request, *reply.Prompt, *wire.Failure) {
	if f := checkKey(r); f != nil {
		return nil, nil, f
	}
	if method != "generateContent" && method != "streamGenerateContent" && method != countTokens {
		return nil, nil, Failure(http.StatusNotFound, "Not found")
	}
	m, f := s.find(model, method)
	if f != nil {
		return nil, nil, f
	}
	raw, err := wire.ReadObject(w, r)
	if err != nil {
		return nil, nil, Refusal("Invalid JSON payload received. %v", err)
	}
	if inner := jsonbytes.Member(raw, "generateContentRequest"); inner != nil && method == countTokens {
		raw = inner
	}
	if f := s.options.Refuse(Name, model, r.Header, raw); f != nil {
		return nil, nil, f
	}
	q := &Request{Model: model}
	if err := json.Unmarshal(raw, q); err != nil {
		return nil, nil, Refusal("Invalid JSON payload received. %v", err)
	}
	p := q.Prompt()
	if n := p.Tokens(); n > m.Context {
		return nil, nil, Refusal("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", n, m.Context)
	}
	if t := p.Trigger(); t.Fault == reply.FaultError {
		return nil, nil, documented(t.Status)
	}
	return q, p, nil
}

func checkKey(r *http.Request) *wire.Failure {
	if r.Header.Get("X-Goog-Api-Key") != "" {
		return nil
	}
	return Failure(http.StatusForbidden, "Method doesn't allow unregistered callers (callers without established identity). "+
		"Please use API Key or other form of API consumer identity to call this API.")
}

// NotFound answers on all other paths.
func (s *Service) NotFound(w http.ResponseWriter, _ *http.Request) *wire.Failure {
	return Failure(http.StatusNotFound, "Not found")
}
