// Package simulator is an upstream that generates its answers itself, for demos
// and tests. It has no model: every text says that it is simulated, every
// response has the header X-Simulated, and answers in OpenAI's format have the
// system_fingerprint "simulated".
//
// It runs only where it was requested, and never replaces a provider that is
// not configured.
//
// Its formats are those of OpenAI (chat completions and responses), Anthropic and Gemini: answers, streams,
// usage, error answers and lists of models, so that a gateway in front of it
// runs the code that it runs in production. Words count as tokens. It has the models
// that the providers serve at the time, as Options.Catalog and its own lists say, and
// those of the operator's file; others it refuses, and what is too long for them.
// Unless Options.Check is set it answers any other request that can be answered;
// package strict has a check that refuses what the providers refuse.
//
// The last text of the user can ask for a fault:
//
//	simulate error 529          the provider's documented error of that status (400..599)
//	simulate error midstream    the provider's error event in the middle of a stream
//	simulate truncation         the connection is closed in the middle of a stream
//
// followed by "from openai", "from anthropic" or "from gemini" to be obeyed by
// that provider only, which shows a failover.
//
// To coding agents, which are known by their tools, it answers with the calls of one task:
// to write a file that the user names, and to read it back; or to search the web.
package simulator

import (
	"net/http"
	"sync"
	"time"

	"modelgateway/catalog"
	"modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/openai/responses"
	"modelgateway/providers/simulator/wire"
)

// Options of a simulator. The zero value streams without pauses, has the real
// time and checks nothing.
type Options = wire.Options

// New serves the three formats side by side, at the providers' own paths, so that
// one address can be the base URL of all three. GET /v1/models answers as Anthropic
// to requests with x-api-key or anthropic-version, else as OpenAI. The handler
// panics with http.ErrAbortHandler to truncate a stream.
func New(opts Options) http.Handler {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Catalog == nil {
		opts.Catalog = sync.OnceValue(func() *catalog.Catalog {
			list, _ := catalog.Load("") // the program does not start without it
			return list
		})
	}
	o, rs, a, g := openai.New(opts), responses.New(opts), anthropic.New(opts), gemini.New(opts)
	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat/completions", wire.Handler(o.Chat))
	mux.Handle("POST /v1/embeddings", wire.Handler(o.Embed))
	mux.Handle("POST /v1/responses", wire.Handler(rs.Create))
	mux.Handle("POST /v1/responses/compact", wire.Handler(rs.Compact))
	mux.Handle("POST /v1/responses/input_tokens", wire.Handler(rs.Count))
	mux.Handle("GET /v1/responses", wire.Handler(rs.Upgrade))
	mux.Handle("GET /v1/responses/{id}", wire.Handler(rs.Kept))
	mux.Handle("DELETE /v1/responses/{id}", wire.Handler(rs.Kept))
	mux.Handle("GET /v1/responses/{id}/{part}", wire.Handler(rs.Kept))
	mux.Handle("POST /v1/responses/{id}/{part}", wire.Handler(rs.Kept))
	mux.Handle("POST /v1/messages", wire.Handler(a.Messages))
	mux.Handle("POST /v1/messages/count_tokens", wire.Handler(a.CountTokens))
	mux.Handle("GET /v1/models", byHeader(a.Models, o.Models))
	mux.Handle("GET /v1/models/{id}", byHeader(a.Model, o.Model))
	mux.Handle("POST /v1beta/models/{call}", wire.Handler(g.Generate))
	mux.Handle("GET /v1beta/models", wire.Handler(g.Models))
	mux.Handle("GET /v1beta/models/{id}", wire.Handler(g.Model))
	mux.Handle("/v1beta/", wire.Handler(g.NotFound))
	mux.Handle("/", byHeader(a.NotFound, o.NotFound))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Simulated", "true")
		mux.ServeHTTP(w, r)
	})
}

// byHeader serves a path that Anthropic and OpenAI share.
func byHeader(asAnthropic, asOpenAI wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) *wire.Failure {
		if anthropic.Addressed(r) {
			return asAnthropic(w, r)
		}
		return asOpenAI(w, r)
	}
}
