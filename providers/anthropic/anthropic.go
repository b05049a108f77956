// Package anthropic is the provider for the Anthropic Messages API.
//
// A client that uses the same API is served natively: its bytes are sent on, the
// upstream's come back, and a reader beside them finds what the gateway needs
// (native.go). A request of another dialect is translated in translate.go, which
// calls one file for each subject; its answer, whole or streamed, goes through the
// state machine of answer.go.
package anthropic

import (
	"cmp"
	"context"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// versionHeader says which version of the API is meant: that of the client, else the
// only one there has been since 2023.
const versionHeader, version = "Anthropic-Version", "2023-06-01"

const messagesPath = "/v1/messages"

// Provider serves one Anthropic upstream.
type Provider struct {
	client  *upstream.Client
	surface *Surface // nil = Anthropic's own API
	objects string
	lists   bool // the models that it serves
	now     func() time.Time
}

// New makes a provider with its own connections. opts.Now is the time of
// answers, which Anthropic does not send.
func New(opts providers.Options) *Provider {
	client := upstream.New(upstream.Options{
		Provider: cmp.Or(opts.Name, catalog.Anthropic), BaseURL: opts.BaseURL,
		Sign: opts.Signed(providers.SignHeader("X-Api-Key")), Headers: opts.Headers, Query: opts.Query,
		Refused: refused, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})
	return &Provider{
		now: opts.Now, objects: opts.Objects, lists: !opts.Server.ListsNone,
		client: client.With([]llm.Header{{Name: versionHeader, Value: version}}, nil),
	}
}

// Abilities are what Anthropic offers beside answers.
func (p *Provider) Abilities() providers.Abilities {
	own := p.client.Provider() == catalog.Anthropic // of another server it is not known what it has
	can := providers.Abilities{Tokens: llm.TokensClaude, RunsTools: own, TakesMedia: own, Speaks: isNative, Count: p.count}
	if p.lists {
		can.Models = p.listModels
	}
	return can
}

// isNative says that clients of the Messages API are served with their own bytes.
func isNative(d llm.Dialect, _ *catalog.Model) bool { return d == llm.Messages }

// Prepare makes the client's request the upstream's, or translates it where the
// client speaks another dialect.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	if isNative(call.Request.Source.Dialect(), call.Model) {
		return p.native(call, messagesPath)
	}
	t := p.translation(call)
	if err := t.run(); err != nil {
		return nil, err
	}
	body, err := t.body()
	client, path := p.client, messagesPath
	if p.surface != nil && err == nil {
		path = p.surface.Path(call.Model.Upstream, call.Request.Stream)
		body, err = p.fitted(call, body, false)
		if guard := p.surface.guard(call.Model); guard != nil {
			client = client.With(guard, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	return &exchange{
		provider: p, client: client, path: path, body: body, streamed: call.Request.Stream, ignored: call.Request.Source.Ignored(t.ignored),
		model: call.Model.Upstream, answerTool: t.answerTool, maxTokens: t.out.MaxTokens,
	}, nil
}

// exchange is a translated request.
type exchange struct {
	provider *Provider
	client   *upstream.Client
	path     string
	body     []byte
	streamed bool
	ignored  []string

	model      string // the upstream's id of the model
	answerTool string // the tool whose input is the answer's content, or empty
	maxTokens  int64
}

// Properties has max_tokens, which includes thinking.
func (x *exchange) Properties() providers.Properties {
	return providers.Properties{Ignored: x.ignored, MaxOutput: x.maxTokens, Body: [][]byte{x.body}}
}

func (x *exchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	if x.streamed {
		return x.stream(ctx, key)
	}
	client := x.client
	text, err := client.Post(ctx, key, x.path, x.body)
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

// Driver makes Anthropic a provider of the gateway.
var Driver = providers.Driver{
	ProviderSettings: config.ProviderSettings{
		Name: catalog.Anthropic, Title: "Anthropic", Prefix: "ANTHROPIC", Models: "claude",
		BaseURL: "https://api.anthropic.com", Version: "/v1",
	},
	Simulated: true,
	Images:    providers.Images{MaxTokens: 5_000},
	New:       func(opts providers.Options) providers.Provider { return New(opts) },
}
