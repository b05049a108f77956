// Package converse translates for Amazon Bedrock's Converse API, which its chat models have in
// common, and for its models of embeddings, which have an API each. The form of both is that of
// the service model in aws-sdk-go-v2 (bedrock-runtime, 2026-11).
package converse

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// API is the two APIs at one address.
type API struct {
	client *upstream.Client
	now    func() time.Time
}

// New makes an API of a client whose streams are server-sent events, named as the events of
// ConverseStream are.
func New(client *upstream.Client, opts providers.Options) *API {
	return &API{client: client, now: opts.Now}
}

// Prepare translates a chat.
func (a *API) Prepare(call providers.Call) (providers.Exchange, error) {
	t, err := a.translate(call)
	if err != nil {
		return nil, err
	}
	body, err := t.encode(&t.out)
	if err != nil {
		return nil, err
	}
	return &exchange{
		api: a, call: call, body: body, ignored: call.Request.Source.Ignored(t.ignored), answerTool: t.answerTool, names: t.names,
	}, nil
}

type exchange struct {
	api     *API
	call    providers.Call
	body    []byte
	ignored []string

	answerTool string            // the tool whose input is the answer's text, or empty
	names      map[string]string // see translation
}

func (x *exchange) Properties() providers.Properties {
	return providers.Properties{Ignored: x.ignored, Body: [][]byte{x.body}}
}

func (x *exchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	if x.call.Request.Stream {
		return x.openStream(ctx, key)
	}
	text, err := x.api.client.Post(ctx, key, address(x.call.Model, "converse"), x.body)
	if err != nil {
		return nil, err
	}
	whole := new(wholeAnswer)
	if err = json.Unmarshal(text, whole, api.Lenient); err == nil && whole.StopReason == "" {
		err = errNoAnswer
	}
	if err != nil {
		return nil, x.api.client.Malformed(err)
	}
	return func(yield func(*llm.Event, error) bool) { newAnswer(x).replay(whole, yield) }, nil
}

// address is the path of an operation of a model, whose id may be an ARN.
func address(m *catalog.Model, operation string) string {
	return "/model/" + strings.ReplaceAll(url.PathEscape(m.Upstream), ":", "%3A") + "/" + operation
}
