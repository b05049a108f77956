package responses

import (
	"context"
	"strings"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/objects"
	"modelgateway/providers/upstream"
)

// nativeExchange is a request of the Responses API, which is sent in the client's bytes. Of the
// client's headers and query only what its dialect lets travel is sent.
type nativeExchange struct {
	api     *API
	client  *upstream.Client
	request *llm.Request
	path    string // with the query
	body    [][]byte
	edited  bool   // the prompt in body may differ from the client's
	name    string // of the provider
	model   string // the upstream's id of the model
	kept    string // the id of the response that the request goes on from; empty = of none
	asKept  string // how the client names it
}

// toldHeaders are the headers of an answer that clients of the API read.
var toldHeaders = []string{"Openai-Model", "Openai-Version", "X-Codex-Turn-State", "X-Models-Etag"}

// ofResponses is a source of the Responses API.
type ofResponses interface{ Endpoint() string }

func (a *API) native(call providers.Call, endpoint string) (*nativeExchange, error) {
	req := call.Request
	found := marksOf(req.Raw)
	if found.objects {
		if err := objects.RefuseInResponses(req.Raw, a.objects); err != nil {
			return nil, err
		}
	}
	if found.previous && req.Kept == nil {
		if err := refusePrevious(req.Raw); err != nil {
			return nil, err
		}
	}
	n := &nativeExchange{
		api: a, client: a.verbatim.With(req.Beside.Headers, refusedNatively), request: req,
		path: endpoint, name: call.Model.Provider, model: call.Model.Upstream,
		edited: found.seals || found.ids,
	}
	if req.Beside.Query != "" {
		n.path += "?" + req.Beside.Query
	}
	e := newNativeBody(call, found)
	n.body = e.Pieces()
	if req.Kept != nil {
		n.kept, n.asKept = req.Kept.ID, e.previous
	}
	return n, nil
}

// Properties have nothing ignored: the upstream gets all.
func (n *nativeExchange) Properties() (p providers.Properties) {
	if n.edited {
		p.Body = n.body
	}
	return p
}

// Open sends the request.
func (n *nativeExchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	if !n.request.Stream {
		text, err := n.client.Post(ctx, key, n.path, n.body...)
		if err != nil {
			return nil, n.errorForClient(err)
		}
		return n.answer(text, key)
	}
	events, err := n.client.Events(ctx, key, n.path, n.body...)
	if err != nil {
		return nil, n.errorForClient(err)
	}
	return n.events(ctx, events, key)
}

// errorForClient is an error of the upstream without the id that the request goes on from.
func (n *nativeExchange) errorForClient(err error) error {
	var names renames
	names.add(n.kept, n.asKept)
	return names.inError(err)
}

// idPrefix begins the ids of responses.
const idPrefix = "resp_"

// names are what the client knows ids of the upstream's by, and the name of a response. The
// client may use an id again only under the name that it was given, so that no other client
// can. A response that is not kept needs no name.
func (n *nativeExchange) names(a *answered, key string) (all renames, name string) {
	if name = a.id; !a.unkept && isID(a.id) {
		name = n.handle(a.id, key)
		all.add(a.id, name)
	}
	if n.kept != a.id {
		all.add(n.kept, n.asKept)
	}
	return all, name
}

// isID says whether a text is the id of a response, which can be replaced wherever it stands.
func isID(text string) bool {
	return strings.HasPrefix(text, idPrefix) && strings.Trim(text, idLetters) == ""
}

const idLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// handle is the name under which the client gets the id of a response.
func (n *nativeExchange) handle(id, key string) string {
	if n.request.Handle == nil {
		return llm.NewID(idPrefix)
	}
	return n.request.Handle(n.name, key, id)
}
