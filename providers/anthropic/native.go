package anthropic

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/config"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/native"
	"modelgateway/providers/upstream"
)

// nativeExchange is a request of the Messages API, which is sent in the client's bytes. Of the
// client's headers and query only what its dialect lets travel is sent.
type nativeExchange struct {
	provider  *Provider
	client    *upstream.Client
	request   *llm.Request
	path      string // with the query
	body      [][]byte
	fit       *fitting // to a cloud; nil = Anthropic's own API
	edited    bool     // the prompt in body may differ from the client's
	name      string   // of the provider
	model     string   // the upstream's id of the model
	maxTokens int64
	earlier   earlier
	names     bool // a later request may name the answer: its id becomes a name that only this client can use
	moved     bool // the gateway chose another model than the client
}

func (p *Provider) native(call providers.Call, path string) (*nativeExchange, error) {
	if p.surface != nil {
		return p.nativeAt(call, path == countPath)
	}
	req := call.Request
	found := marksOf(req.Raw)
	if found.objects {
		if err := refuseObjects(req.Raw, p.objects); err != nil {
			return nil, err
		}
	}
	earlier, err := p.earlier(call)
	if err != nil {
		return nil, err
	}
	n := &nativeExchange{
		provider: p, client: p.client.With(versioned(req.Beside.Headers), refusedNatively), request: req, path: path,
		body: nativeBody(req.Raw, call.Model.Upstream, found, earlier), model: call.Model.Upstream, moved: call.Moved,
		earlier: earlier, names: req.Handle != nil && p.objects != config.ObjectsAllow && req.Earlier.Named,
		name: call.Model.Provider, edited: found.seals || found.ids,
	}
	if req.Beside.Query != "" {
		n.path += "?" + req.Beside.Query
	}
	if req.MaxOutput != nil {
		n.maxTokens = *req.MaxOutput
	}
	return n, nil
}

// versioned are the headers with the version of the API, which Anthropic requires.
func versioned(headers []llm.Header) []llm.Header {
	if slices.ContainsFunc(headers, func(h llm.Header) bool { return h.Name == versionHeader }) {
		return headers
	}
	return append(slices.Clip(headers), llm.Header{Name: versionHeader, Value: version})
}

// Properties has max_tokens, which includes thinking. Only a cloud does not get all.
func (n *nativeExchange) Properties() providers.Properties {
	p := providers.Properties{MaxOutput: n.maxTokens}
	if n.fit != nil {
		p.Ignored = n.fit.ignored
	}
	if n.edited {
		p.Body = n.body
	}
	return p
}

// Open sends the request. A thought is signed for the model that had it. Where the gateway
// has changed the model and the upstream refuses the thoughts of the conversation, they are
// left out of one more request: the client cannot know why they are refused.
func (n *nativeExchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	stream, err := n.open(ctx, key, n.body)
	if !n.moved || !refusesThoughts(err) {
		return stream, err
	}
	body, changed := bodyWithoutThoughts(n.request.Raw, n.model, n.earlier, n.fit)
	if !changed {
		return nil, err
	}
	return n.open(ctx, key, body)
}

func (n *nativeExchange) open(ctx context.Context, key string, body [][]byte) (llm.Stream, error) {
	if n.request.Stream {
		events, err := n.client.Events(ctx, key, n.path, body...)
		if err != nil {
			return nil, err
		}
		return n.events(ctx, events, key)
	}
	text, err := n.client.Post(ctx, key, n.path, body...)
	if err != nil {
		return nil, err
	}
	return n.answer(text, key)
}

// refusesThoughts says whether a request was refused for a block of thinking.
func refusesThoughts(err error) bool {
	r, ok := errors.AsType[*providers.Refusal](err)
	return ok && r.Status == http.StatusBadRequest &&
		(strings.Contains(r.Message, "thinking") || strings.Contains(r.Message, "signature"))
}

// refusedNatively is refused for clients of the same API, who act on the upstream's words.
func refusedNatively(status int, body []byte) providers.Refusal {
	r := refused(status, body)
	r.Body = passed(status, body)
	r.Dialect = dialectOf(r.Body)
	return r
}

// passing adds the error's JSON to a refusal that came under status 200.
func passing(err error, body []byte) error {
	if r, ok := errors.AsType[*providers.Refusal](err); ok {
		r.Body = passed(r.Status, body)
		r.Dialect = dialectOf(r.Body)
	}
	return err
}

func dialectOf(body []byte) llm.Dialect {
	if body == nil {
		return ""
	}
	return llm.Messages
}

// passed is the body of an error as clients of the same API get it: as it came, but for keys
// and names of the gateway's account in its message. It is nil for what is no error of the
// API, and for statuses that tell of the gateway's own credentials.
func passed(status int, body []byte) []byte {
	if !native.Passes(status) {
		return nil
	}
	var e struct {
		Type  string  `json:"type"`
		Error problem `json:"error"`
	}
	if json.Unmarshal(body, &e, api.Lenient) != nil || e.Type != typeError || e.Error.Type == "" || e.Error.Message == "" {
		return nil
	}
	message := providers.Redact(e.Error.Message)
	if message == e.Error.Message {
		return append([]byte(nil), body...) // of an event it is valid until the next one
	}
	at := messageAt(body)
	out := append([]byte(nil), body[:at.From]...)
	return append(append(out, quote(message)...), body[at.To:]...)
}

// messageAt is the place of an error's message.
func messageAt(body []byte) (at jsonbytes.Span) {
	for name, value := range jsonbytes.MembersAt(body, 0) {
		if !name.Is("error") {
			continue
		}
		for name, value := range jsonbytes.MembersAt(body, value.From) {
			if name.Is("message") {
				at = value
			}
		}
	}
	return at
}
