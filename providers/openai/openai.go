// Package openai is the provider for OpenAI's APIs, and for servers that copy its chat
// completions.
//
// A client that uses chat completions is served natively: its bytes are sent on, and
// only what must change is rewritten (translate.go); the events of the answer are
// forwarded (events.go). Requests of another dialect are written from the common
// form (compose.go), and their answers are translated to it (common.go). The reader
// of answers and its repairs are the same for both.
//
// What chat completions cannot serve is written from the common form for the Responses API
// (responses_choice.go says what): responses_compose.go writes, responses_answer.go reads.
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

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// Provider translates for one OpenAI upstream.
type Provider struct {
	client  *upstream.Client
	server  providers.Server
	vendor  bool // it is at OpenAI's own address
	now     func() time.Time
	telling *upstream.Client // of calls in the client's own bytes
	objects string           // that these may name
}

// New makes a provider with its own connections.
func New(opts providers.Options) *Provider {
	client := upstream.New(upstream.Options{
		Provider: cmp.Or(opts.Name, catalog.OpenAI), BaseURL: opts.BaseURL,
		Authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		Refused:   refused, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
		Auth: opts.Auth, Headers: opts.Headers, Query: opts.Query,
	})
	return &Provider{
		client: client, telling: client.Telling(toldHeaders...), now: opts.Now, objects: opts.Objects,
		server: opts.Server, vendor: opts.BaseURL == address,
	}
}

// Abilities are what the server has beside chat completions.
func (p *Provider) Abilities() providers.Abilities {
	can := providers.Abilities{Speaks: p.speaks, Count: p.count, Kept: p.kept, Models: p.listModels}
	if !p.server.NoEmbeddings {
		can.PrepareEmbeddings = p.prepareEmbeddings
	}
	return can
}

// speaks says that clients of OpenAI's dialects are served with their own bytes: those of the
// Responses API by servers that have it.
func (p *Provider) speaks(d llm.Dialect) bool {
	return d == llm.Chat || d == llm.Embeddings || d == llm.Responses && !p.server.ChatOnly
}

var errSource = errors.New("a request has the source of another dialect")

// Prepare rewrites the request for its upstream, or writes it anew where the
// client speaks another dialect.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	switch d := call.Request.Source.Dialect(); {
	case !p.speaks(d):
		return p.translated(call)
	case d == llm.Responses:
		return p.native(call)
	}
	req, ok := call.Request.Source.(*chat.Request)
	if !ok {
		return nil, api.Internal(errSource)
	}
	if err := refuseChatObjects(call.Request.Raw, p.objects); err != nil {
		return nil, err
	}
	if x, err := p.elsewhere(call, req); x != nil || err != nil {
		return x, err
	}
	t := translate(call, req, &p.server)
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

func (x *exchange) Properties() providers.Properties { return providers.Properties{Ignored: x.ignored} }

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
		return x.read(ctx, whole)
	}
	return x.events(ctx, events)
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
	*into, _ = integerOf(value)
	return nil
}

// integerOf is the value of a number, and whether that is a whole one in the usual form.
func integerOf(value jsontext.Value) (n int64, usual bool) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, true
	}
	text := strings.Trim(string(value), `"`)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, false
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(x) < 1<<53 {
		return int64(x), false
	}
	return 0, false
}

// OpenAI's own address.
const (
	address = "https://api.openai.com"
	version = "/v1"
)

// Driver makes OpenAI a provider of the gateway.
var Driver = providers.Driver{
	ProviderSettings: config.ProviderSettings{
		Name: catalog.OpenAI, Title: "OpenAI", Prefix: "OPENAI", Models: "gpt",
		BaseURL: address + version, Version: version,
	},
	Simulated: true,
	// With the small models a tile counts as 33 times as many tokens.
	Images: providers.Images{MaxTokens: 49_000},
	New:    func(opts providers.Options) providers.Provider { return New(opts) },
}
