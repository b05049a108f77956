package anthropic

import (
	"bytes"
	"encoding/base64"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// Surface is where a cloud serves Claude: at paths of its own, with the version of the API in the
// body, and with a part of what Anthropic's own API has.
type Surface struct {
	Version   string                                 // anthropic_version of a body
	Path      func(model string, stream bool) string // of a message
	CountPath func(model string) string              // of the tokens of a prompt
	// CountModel is how the body of a count names the model; nil with InvokesModel.
	CountModel func(model string) string
	Framing    *upstream.Framing // of a stream; nil = server-sent events

	// InvokesModel says that it is called as Bedrock's InvokeModel: the betas are in the body, whether
	// the answer is a stream is only in the path, and a count is asked for with the body of a call.
	// Else betas are in the header, "stream" is in the body, and a count names its model there.
	InvokesModel bool
	Betas        []string // that it takes; it refuses all others
	Lacks        []string // beginnings of the types of tools that it does not run
}

// NewAt makes a provider with its own connections to a cloud.
func NewAt(opts providers.Options, s Surface) *Provider {
	client := upstream.New(upstream.Options{
		Provider: opts.Name, BaseURL: opts.BaseURL, Sign: opts.Signed(providers.SignBearer), Headers: opts.Headers, Query: opts.Query,
		Framing: s.Framing, Refused: refusedAt, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})
	return &Provider{now: opts.Now, objects: config.ObjectsNone, client: client, surface: &s}
}

// nativeAt is native for a cloud.
func (p *Provider) nativeAt(call providers.Call, counts bool) (*nativeExchange, error) {
	req, s := call.Request, p.surface
	found := marksOf(req.Raw)
	fit := &fitting{surface: s, cloud: p.client.Provider(), model: call.Model, counts: counts, raw: req.Raw}
	if err := fit.request(found, req.Beside.Headers); err != nil {
		return nil, err
	}
	n := &nativeExchange{
		provider: p, client: p.client.With(append(fit.headers, s.guard(call.Model)...), refusedNativelyAt), request: req,
		body: fit.body(found), fit: fit, model: call.Model.Upstream, moved: call.Moved, name: call.Model.Provider,
		edited: found.seals || found.ids,
	}
	if n.path = s.Path(n.model, req.Stream); counts {
		n.path, n.body = s.count(n.model, n.body)
	}
	if req.MaxOutput != nil {
		n.maxTokens = *req.MaxOutput
	}
	return n, nil
}

// guard is the headers with the guardrail of a model, which InvokeModel takes.
func (s *Surface) guard(m *catalog.Model) []llm.Header {
	id, version := m.GuardrailParts()
	if id == "" || !s.InvokesModel {
		return nil
	}
	return []llm.Header{{Name: "X-Amzn-Bedrock-Guardrailidentifier", Value: id}, {Name: "X-Amzn-Bedrock-Guardrailversion", Value: version}}
}

// fitted is the body of a translated request as a cloud takes it.
func (p *Provider) fitted(call providers.Call, body []byte, counts bool) ([]byte, error) {
	fit := fitting{surface: p.surface, cloud: p.client.Provider(), model: call.Model, counts: counts, raw: body}
	if err := fit.request(marks{}, nil); err != nil {
		return nil, err
	}
	return bytes.Join(fit.body(marks{}), nil), nil
}

// count is the path and the body with which a cloud counts a prompt.
func (s *Surface) count(model string, body [][]byte) (path string, asked [][]byte) {
	if path = s.CountPath(model); !s.InvokesModel {
		return path, body
	}
	asked = [][]byte{[]byte(`{"input":{"invokeModel":{"body":"`), nil, []byte(`"}}}`)}
	asked[1] = base64.StdEncoding.AppendEncode(nil, bytes.Join(body, nil))
	return path, asked
}
