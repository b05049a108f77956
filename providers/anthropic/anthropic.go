// Package anthropic speaks the Anthropic Messages API to its upstream and the
// OpenAI chat completions API to the gateway.
//
// A request is translated in translate.go, which sends each of its themes to
// the file of that name. An answer, whole or streamed, goes through the one
// state machine of answer.go.
package anthropic

import (
	"context"
	"net/http"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/chunk"
	"modelgateway/providers/upstream"
)

// version is the value of the anthropic-version header, the only one there has
// been since 2023.
const version = "2023-06-01"

const messagesPath = "/v1/messages"

// Options say where the upstream is.
type Options struct {
	BaseURL       string // without the trailing /v1
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration
	Now           func() time.Time // when an answer is made: the upstream does not say
}

// Provider translates for one Anthropic upstream.
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
		Provider: catalog.Anthropic, BaseURL: opts.BaseURL,
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
	t := newTranslation(call)
	if err := t.run(); err != nil {
		return nil, err
	}
	body, err := t.body()
	if err != nil {
		return nil, err
	}
	return &exchange{
		provider: p, body: body, ignored: t.ignored(),
		model: call.Model.Upstream, answerTool: t.answerTool, legacy: t.legacy, most: t.out.MaxTokens,
	}, nil
}

// exchange is a translated request.
type exchange struct {
	provider *Provider
	body     []byte // of a request for a whole answer
	ignored  []string

	model      string // the upstream's id of the model that was asked
	answerTool string // the tool whose input is the answer's content, or empty
	legacy     bool   // the client used the deprecated functions
	most       int64  // max_tokens
}

func (x *exchange) Ignored() []string { return x.ignored }

// MostOutput is max_tokens, which thinking counts in.
func (x *exchange) MostOutput() int64 { return x.most }

func (x *exchange) Complete(ctx context.Context, key string) (*api.ChatCompletion, error) {
	client := x.provider.client
	text, err := client.Post(ctx, key, messagesPath, x.body)
	if err != nil {
		return nil, err
	}
	m, err := readMessage(text)
	if err != nil {
		return nil, client.Nonsense(err)
	}
	if m.Type == typeError {
		return nil, m.Error.refusal().Error(catalog.Anthropic)
	}
	return chunk.Collect(x.replay(m))
}

// streamed is the body of a request for a stream, in pieces.
func (x *exchange) streamed() [][]byte {
	return [][]byte{x.body[:len(x.body)-1], []byte(`,"stream":true}`)}
}
