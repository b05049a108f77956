// Package anthropic is the provider for the Anthropic Messages API.
//
// A request is translated in translate.go, which calls one file for each
// subject. An answer, whole or streamed, goes through the state machine of
// answer.go.
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// version is the value of the anthropic-version header, the only one there has
// been since 2023.
const version = "2023-06-01"

const messagesPath = "/v1/messages"

// Provider translates for one Anthropic upstream.
type Provider struct {
	client *upstream.Client
	now    func() time.Time
}

var (
	_ providers.Provider    = (*Provider)(nil)
	_ providers.Lister      = (*Provider)(nil)
	_ providers.OutputBound = (*exchange)(nil)
)

// New makes a provider with its own connections. opts.Now is the time of
// answers, which Anthropic does not send.
func New(opts providers.Options) *Provider {
	return &Provider{now: opts.Now, client: upstream.New(upstream.Options{
		Provider: cmp.Or(opts.Name, catalog.Anthropic), BaseURL: opts.BaseURL,
		Authorize: authorize, Refused: refused,
		HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})}
}

func authorize(h http.Header, key string) {
	h.Set("x-api-key", key)
	h.Set("anthropic-version", version)
}

// Prepare translates the request.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	t := &translation{req: call.Request, model: call.Model, traits: call.Model.Traits}
	if err := t.run(); err != nil {
		return nil, err
	}
	body, err := t.body()
	if err != nil {
		return nil, err
	}
	return &exchange{
		provider: p, body: body, streamed: call.Request.Stream, ignored: call.Request.Source.Ignored(t.ignored),
		model: call.Model.Upstream, answerTool: t.answerTool, maxTokens: t.out.MaxTokens,
	}, nil
}

// exchange is a translated request.
type exchange struct {
	provider *Provider
	body     []byte
	streamed bool
	ignored  []string

	model      string // the upstream's id of the model
	answerTool string // the tool whose input is the answer's content, or empty
	maxTokens  int64
}

func (x *exchange) Ignored() []string { return x.ignored }

// MaxOutput is max_tokens, which includes thinking.
func (x *exchange) MaxOutput() int64 { return x.maxTokens }

func (x *exchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	if x.streamed {
		return x.stream(ctx, key)
	}
	client := x.provider.client
	text, err := client.Post(ctx, key, messagesPath, x.body)
	if err != nil {
		return nil, err
	}
	m, err := readMessage(text)
	if err != nil {
		return nil, client.Malformed(err)
	}
	if m.Type == typeError {
		return nil, client.Refused(m.Error.refusal())
	}
	return x.replay(m), nil
}
