// Package openai is the provider for the OpenAI chat completions API: OpenAI
// itself, or a server with a compatible API.
//
// A client that uses the same API is served natively: its bytes are sent on, and
// only what must change is rewritten (translate.go); the events of the answer are
// forwarded (events.go). Requests of another dialect are written from the common
// form (compose.go), and their answers are translated to it (common.go). The reader
// of answers and its repairs are the same for both.
package openai

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/api/chat"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// Provider translates for one OpenAI upstream.
type Provider struct {
	client *upstream.Client
	now    func() time.Time
}

var (
	_ providers.Native = (*Provider)(nil)
	_ providers.Lister = (*Provider)(nil)
)

// New makes a provider with its own connections.
func New(opts providers.Options) *Provider {
	return &Provider{now: opts.Now, client: upstream.New(upstream.Options{
		Provider: cmp.Or(opts.Name, catalog.OpenAI), BaseURL: opts.BaseURL,
		Authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		Refused:   refused, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})}
}

// Speaks says that clients of the chat dialect are served with their own bytes.
func (p *Provider) Speaks(d llm.Dialect) bool { return d == llm.Chat }

var errSource = errors.New("a request of the chat dialect has the source of another one")

// Prepare rewrites the request for its upstream, or writes it anew where the
// client speaks another dialect.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	if !p.Speaks(call.Request.Source.Dialect()) {
		return p.compose(call)
	}
	req, ok := call.Request.Source.(*chat.Request)
	if !ok {
		return nil, api.Internal(errSource)
	}
	t := translate(call, req)
	body, err := t.body(call.Request.Raw)
	if err != nil {
		return nil, api.Internal(err) // these bytes have been decoded before without an error
	}
	return &exchange{provider: p, call: call, body: body, ignored: t.ignored}, nil
}

type exchange struct {
	provider *Provider
	call     providers.Call
	body     [][]byte // in pieces, some of them the client's own
	ignored  []string
	foreign  bool // the client speaks another dialect: the answer is translated to the common form
	names    toolNames
}

func (x *exchange) Ignored() []string { return x.ignored }

const completionsPath = "/v1/chat/completions"

func (x *exchange) Open(ctx context.Context, key string) (llm.Stream, error) {
	if !x.call.Request.Stream {
		return x.answer(ctx, key)
	}
	events, err := x.provider.client.Events(ctx, key, completionsPath, x.body...)
	if err != nil {
		return nil, err
	}
	if whole, err := events.JSON(); whole != nil || err != nil { // some compatible servers cannot stream
		events.Close()
		if err != nil {
			return nil, x.provider.client.Broken(ctx, err)
		}
		c, err := x.read(whole)
		if err != nil {
			return nil, err
		}
		return x.replay(c), nil
	}
	return x.events(ctx, events)
}

// Models calls GET /v1/models and takes the kinds from the ids, since the list has
// none.
func (p *Provider) Models(ctx context.Context, key string) ([]providers.Listed, error) {
	text, err := p.client.Get(ctx, key, "/v1/models")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			Created int64  `json:"created"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &list, lenient); err != nil {
		return nil, p.client.Malformed(err)
	}
	var models []providers.Listed
	for _, m := range list.Data {
		if kind := kindOf(m.ID); kind != "" {
			models = append(models, providers.Listed{ID: m.ID, Kind: kind, Created: m.Created})
		}
	}
	return models, nil
}

// otherKinds are parts of the ids of models that answer neither chat completions nor
// embeddings.
var otherKinds = []string{
	"whisper", "tts", "dall-e", "image", "moderation", "realtime", "transcribe",
	"davinci", "babbage", "instruct", "sora", "computer-use", "deep-research", "codex", "-pro", "audio",
}

// kindOf is what the id of a model says of its kind; empty where it is none of the
// gateway's.
func kindOf(id string) llm.Kind {
	if id == "" {
		return ""
	}
	for _, kind := range otherKinds {
		if strings.Contains(id, kind) {
			return ""
		}
	}
	if strings.Contains(id, "embedding") {
		return llm.KindEmbedding
	}
	return llm.KindChat
}

// lenient are the JSON options for answers of upstreams that are not quite valid.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(readCount)),
)

// readCount reads a count or a time that some compatible servers write as 3.0
// or "3"; a malformed one is 0, since the rest of the answer is usable.
func readCount(dec *jsontext.Decoder, into *int64) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := strings.Trim(string(value), `"`)
	*into = 0
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*into = n
	} else if x, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(x) < 1<<53 {
		*into = int64(x)
	}
	return nil
}
