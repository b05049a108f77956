// Package gemini speaks Google's Generative Language API, the one of API keys
// rather than of Vertex AI.
package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/chunk"
	"modelgateway/providers/upstream"
)

// Options say where the upstream is.
type Options struct {
	BaseURL       string // without the trailing /v1beta
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration
	Now           func() time.Time // for created, which Gemini does not say
}

// Provider translates for Gemini.
type Provider struct {
	client *upstream.Client
	now    func() time.Time
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Lister   = (*Provider)(nil)
)

// New makes a provider with connections of its own.
func New(opts Options) *Provider {
	return &Provider{now: opts.Now, client: upstream.New(upstream.Options{
		Provider: catalog.Gemini, BaseURL: opts.BaseURL,
		// Never ?key=, which every log on the way would keep.
		Authorize: func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) },
		Refused:   refused, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})}
}

// Prepare writes the request in Gemini's format.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	t, err := translate(call, false)
	if err != nil {
		return nil, err
	}
	body, err := t.body()
	if err != nil {
		// All of it has been read as JSON before; only its depth can be too much.
		return nil, api.Invalid(api.CodeInvalidValue, "messages", "the messages cannot be written for %s", catalog.Gemini).
			Because(fmt.Errorf("encode request: %w", err))
	}
	return &exchange{provider: p, call: call, body: body, ignored: t.ignored()}, nil
}

type exchange struct {
	provider *Provider
	call     providers.Call
	body     []byte
	ignored  []string
}

func (x *exchange) Ignored() []string { return x.ignored }

func (x *exchange) Complete(ctx context.Context, key string) (*api.ChatCompletion, error) {
	answer, err := x.complete(ctx, key, x.body)
	if body := x.unsigned(err); body != nil {
		return x.complete(ctx, key, body)
	}
	return answer, err
}

func (x *exchange) complete(ctx context.Context, key string, body []byte) (*api.ChatCompletion, error) {
	text, err := x.provider.client.Post(ctx, key, x.path("generateContent"), body)
	if err != nil {
		return nil, err
	}
	s, err := x.begin(ctx, &source{whole: text})
	if err != nil {
		return nil, err
	}
	return chunk.Collect(s.run)
}

func (x *exchange) Stream(ctx context.Context, key string) (providers.Stream, error) {
	answer, err := x.stream(ctx, key, x.body)
	if body := x.unsigned(err); body != nil {
		return x.stream(ctx, key, body)
	}
	return answer, err
}

func (x *exchange) stream(ctx context.Context, key string, body []byte) (providers.Stream, error) {
	events, err := x.provider.client.Events(ctx, key, x.path("streamGenerateContent?alt=sse"), body)
	if err != nil {
		return nil, err
	}
	s, err := x.start(ctx, events.Body())
	if err != nil {
		events.Close()
		return nil, err
	}
	s.events = events
	return func(yield func(*api.ChatChunk, error) bool) {
		defer events.Close()
		defer s.source.close()
		s.run(yield)
	}, nil
}

func (x *exchange) path(method string) string {
	return "/v1beta/models/" + url.PathEscape(modelName(x.call.Model.Upstream)) + ":" + method
}

// modelName is a model's id without the collection that Google's lists put
// before it.
func modelName(name string) string { return strings.TrimPrefix(name, "models/") }
