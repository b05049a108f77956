// Package embeddings is OpenAI's API for embeddings as an upstream: the client's bytes are sent
// on, and the vectors are passed on as they come.
package embeddings

import (
	"context"
	"errors"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/upstream"
)

var errNoEmbeddings = errors.New("a request for embeddings has another source")

// ofEmbeddings is a source of the embeddings API.
type ofEmbeddings interface{ Has(member string) bool }

// API is the API for embeddings at one upstream.
type API struct {
	client *upstream.Client
	server providers.Server
}

// New makes the API with the connections of its provider.
func New(client *upstream.Client, opts providers.Options) *API {
	return &API{client: client, server: opts.Server}
}

// Prepare writes the upstream's model into the client's bytes, and takes out what
// is for other providers.
func (a *API) Prepare(call providers.Call) (providers.Exchange, error) {
	source, ok := call.Request.Source.(ofEmbeddings)
	if !ok {
		return nil, api.Internal(errNoEmbeddings)
	}
	t := wire.NewEdit(&a.server)
	t.Put("model", wire.Quote(call.Model.Upstream))
	for _, name := range []string{"task_type", "title"} {
		t.LeaveOut(name, source.Has(name))
	}
	t.Adapt(call.Request.Raw)
	return &embedding{client: a.client, body: t.Body(call.Request.Raw), ignored: t.Ignored}, nil
}

// embedding is a request for vectors.
type embedding struct {
	client  *upstream.Client
	body    [][]byte
	ignored []string
}

// Properties say that the answer is passed on as it comes.
func (x *embedding) Properties() providers.Properties {
	return providers.Properties{Ignored: x.ignored, InPieces: true}
}

const embeddingsPath = "/v1/embeddings"

// Open reads the beginning of the answer: until it has come, another key may answer. The
// rest is passed on as it comes.
func (x *embedding) Open(ctx context.Context, key string) (llm.Stream, error) {
	body, size, err := x.client.Open(ctx, key, embeddingsPath, x.body...)
	if err != nil {
		return nil, err
	}
	p := &passage{ctx: ctx, client: x.client, body: body, piece: pieces.Get().(*piece), head: llm.Head{Length: max(size, 0)}}
	if err := p.begin(); err != nil {
		p.close()
		return nil, err
	}
	return p.stream, nil
}
