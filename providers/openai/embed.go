package openai

import (
	"context"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
)

// ofEmbeddings is a source of the embeddings API.
type ofEmbeddings interface{ Has(member string) bool }

// prepareEmbeddings writes the upstream's model into the client's bytes, and takes out what
// is for other providers.
func (p *Provider) prepareEmbeddings(call providers.Call) (providers.Exchange, error) {
	source, ok := call.Request.Source.(ofEmbeddings)
	if !ok {
		return nil, api.Internal(errSource)
	}
	t := translation{server: &p.server}
	t.put("model", quote(call.Model.Upstream))
	for _, name := range []string{"task_type", "title"} {
		t.leaveOut(name, source.Has(name))
	}
	t.adapt(call.Request.Raw)
	body, err := t.body(call.Request.Raw)
	if err != nil {
		return nil, api.Internal(err) // these bytes have been decoded before without an error
	}
	return &embedding{provider: p, body: body, ignored: t.ignored}, nil
}

// embedding is a request for vectors.
type embedding struct {
	provider *Provider
	body     [][]byte
	ignored  []string
}

// Properties say that the answer is passed on as it comes.
func (x *embedding) Properties() providers.Properties {
	return providers.Properties{Ignored: x.ignored, InPieces: true}
}

const embeddingsPath = "/v1/embeddings"

// Open reads the beginning of the answer: until it has come, another key may answer. The
// rest is passed on as it comes.
func (x *embedding) Open(ctx context.Context, key string) (llm.Stream, error) {
	client := x.provider.client
	body, size, err := client.Open(ctx, key, embeddingsPath, x.body...)
	if err != nil {
		return nil, err
	}
	p := &passage{ctx: ctx, client: client, body: body, piece: pieces.Get().(*piece), head: llm.Head{Length: max(size, 0)}}
	if err := p.begin(); err != nil {
		p.close()
		return nil, err
	}
	return p.stream, nil
}
