package openai

import (
	"context"
	"slices"
	"time"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// chatAPI is the API for chat completions at one upstream.
type chatAPI struct {
	client *upstream.Client
	server providers.Server
	now    func() time.Time
}

// newChat makes the API with the connections of its provider.
func newChat(client *upstream.Client, opts providers.Options) *chatAPI {
	return &chatAPI{client: client, server: opts.Server, now: opts.Now}
}

// Prepare rewrites a request for a chat completion, or writes one anew where the client speaks
// another dialect.
func (a *chatAPI) Prepare(call providers.Call) (providers.Exchange, error) {
	req, ok := call.Request.Source.(*chat.Request)
	if !ok {
		return a.compose(call)
	}
	t := translate(call, req, &a.server)
	return &exchange{api: a, call: call, body: t.body(call.Request.Raw), ignored: t.ignored}, nil
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
	api     *chatAPI
	call    providers.Call
	body    [][]byte // in pieces, some of them the client's own
	ignored []string
	foreign bool // the client speaks another dialect: the answer is translated to the common form
	names   toolNames
}

// Properties are the members that the upstream does not get.
func (x *exchange) Properties() providers.Properties { return providers.Properties{Ignored: x.ignored} }

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
