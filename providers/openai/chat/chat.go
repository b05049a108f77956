// Package chat is OpenAI's chat completions as an upstream.
//
// A client that uses chat completions is served natively: its bytes are sent on, and
// only what must change is rewritten (translate.go); the events of the answer are
// forwarded (events.go). Requests of another dialect are written from the common
// form (compose.go), and their answers are translated to it (translator.go). The reader
// of answers and its repairs are the same for both.
package chat

import (
	"context"
	"slices"
	"time"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/upstream"
)

// API is the API for chat completions at one upstream.
type API struct {
	client *upstream.Client
	server providers.Server
	now    func() time.Time
}

// New makes the API with the connections of its provider.
func New(client *upstream.Client, opts providers.Options) *API {
	return &API{client: client, server: opts.Server, now: opts.Now}
}

// Prepare rewrites a request for a chat completion, or writes one anew where the client speaks
// another dialect.
func (a *API) Prepare(call providers.Call) (providers.Exchange, error) {
	req, ok := call.Request.Source.(*chat.Request)
	if !ok {
		return a.compose(call)
	}
	t := translate(call, req, &a.server)
	return &exchange{
		api: a, call: call, body: t.pieces(call.Request.Raw), edited: t.history || t.tools, ignored: t.Ignored,
	}, nil
}

// OffersFunctions says whether a request for a chat completion offers functions to the model.
func OffersFunctions(r *llm.Request) bool {
	req, ok := r.Source.(*chat.Request)
	return ok && offersFunctions(req)
}

func offersFunctions(req *chat.Request) bool {
	isFunction := func(tool chat.Tool) bool { return tool.Function != nil }
	return len(req.Functions) > 0 || slices.ContainsFunc(req.Tools, isFunction)
}

type exchange struct {
	api     *API
	call    providers.Call
	body    [][]byte // in pieces, some of them the client's own
	edited  bool     // the prompt in body may differ from the client's
	ignored []string
	foreign bool // the client speaks another dialect: the answer is translated to the common form
	names   compose.ToolNames
}

// Properties are the members that the upstream does not get.
func (x *exchange) Properties() providers.Properties {
	p := providers.Properties{Ignored: x.ignored}
	if x.edited || x.foreign {
		p.Body = x.body
	}
	return p
}

const completionsPath = "/v1/chat/completions"

// Open sends the request, and reads up to what shows that the answer has begun.
func (x *exchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	if !x.call.Request.Stream {
		return x.answer(ctx, key)
	}
	events, err := x.api.client.Events(ctx, key, completionsPath, x.body...)
	if err != nil {
		return nil, err
	}
	if whole, err := events.JSON(); whole != nil || err != nil { // some compatible servers cannot stream
		events.Close()
		if err != nil {
			return nil, x.api.client.Broken(ctx, err)
		}
		return x.read(ctx, whole)
	}
	return x.events(ctx, events)
}
