// Package gemini is the provider for Google's Generative Language API, the one of API keys, and for
// the same models at Vertex AI.
package gemini

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// Provider translates for Gemini.
type Provider struct {
	client *upstream.Client
	prefix string // of the paths of models
	vertex bool   // it is Vertex AI, whose requests lack some members
	now    func() time.Time
}

// New makes a provider with its own connections.
func New(opts providers.Options) *Provider {
	return &Provider{now: opts.Now, prefix: "/v1beta", client: upstream.New(upstream.Options{
		Provider: cmp.Or(opts.Name, catalog.Gemini), BaseURL: opts.BaseURL,
		// The key is never sent as ?key=, which proxies would write to their logs.
		Sign: opts.Signed(providers.SignHeader("X-Goog-Api-Key")), Headers: opts.Headers, Query: opts.Query,
		Refused: readRefusal, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})}
}

// NewAtVertex makes a provider with its own connections to Vertex AI, which has the models below
// this path.
func NewAtVertex(opts providers.Options, prefix string) *Provider {
	p := New(opts)
	p.prefix, p.vertex = prefix, true
	return p
}

// Abilities are what Gemini offers beside answers.
func (p *Provider) Abilities() providers.Abilities {
	can := providers.Abilities{
		TakesMedia: p.client.Provider() == catalog.Gemini, PrepareEmbeddings: p.prepareEmbeddings, Count: p.count, Models: p.listModels,
	}
	if p.vertex { // its list does not say what can be called
		can.Models = nil
	}
	return can
}

// Prepare writes the request in Gemini's format.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	t, err := p.translate(call, keepSignatures)
	if err != nil {
		return nil, err
	}
	body, err := t.body()
	if err != nil {
		return nil, unwritable(call, err)
	}
	return &exchange{
		provider: p, call: call, body: body, ignored: call.Request.Source.Ignored(t.ignored), answerTool: t.answerTool, names: t.names,
	}, nil
}

// unwritable is the error of a request that cannot be encoded. All of it has been read
// as JSON before; only its depth can be too much.
func unwritable(call providers.Call, err error) error {
	path := call.Request.Path(llm.FieldMessages)
	return api.Invalid(api.CodeInvalidValue, path, "the %s cannot be written for %s", path, catalog.Gemini).
		WithCause(fmt.Errorf("encode request: %w", err))
}

type exchange struct {
	provider *Provider
	call     providers.Call
	body     []byte
	ignored  []string

	answerTool string // the function whose arguments are the answer's text, or empty
	names      functionNames
}

func (x *exchange) Properties() providers.Properties {
	return providers.Properties{Ignored: x.ignored, Body: [][]byte{x.body}}
}

func (x *exchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	open := x.openAnswer
	if x.call.Request.Stream {
		open = x.openStream
	}
	stream, err := open(ctx, key, x.body)
	if body := x.withoutSignatures(err); body != nil {
		return open(ctx, key, body)
	}
	return stream, err
}

// openAnswer reads a whole answer. It is a stream of one event, or of several
// where a proxy has turned it into one.
func (x *exchange) openAnswer(ctx context.Context, key string, body []byte) (llm.Stream, error) {
	text, err := x.provider.client.Post(ctx, key, x.path("generateContent"), body)
	if err != nil {
		return nil, err
	}
	s, err := x.read(ctx, &reader{whole: text})
	if err != nil {
		return nil, err
	}
	return s.run, nil
}

func (x *exchange) openStream(ctx context.Context, key string, body []byte) (llm.Stream, error) {
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
	return s.run, nil
}

func (x *exchange) path(method string) string { return x.provider.path(x.call.Model, method) }

func (p *Provider) path(m *catalog.Model, method string) string {
	return p.prefix + "/models/" + url.PathEscape(modelName(m.Upstream)) + ":" + method
}

// modelName is a model's id without the collection that Google's lists put
// before it.
func modelName(name string) string { return strings.TrimPrefix(name, "models/") }
