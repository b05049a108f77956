// Package openai is the provider for OpenAI's APIs, and for servers that copy its chat
// completions.
//
// Each API has a package: chat, responses and embeddings. What chat completions cannot serve
// is written for the Responses API (choice.go says what). Of what both write from the common
// form compose has the parts that are the same, objects what neither may name, and wire how
// values and errors of OpenAI's APIs are read and bodies edited.
package openai

import (
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/chat"
	"modelgateway/providers/openai/embeddings"
	"modelgateway/providers/openai/objects"
	"modelgateway/providers/openai/responses"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/upstream"
)

// Provider prepares calls for one OpenAI upstream.
type Provider struct {
	client  *upstream.Client
	server  providers.Server
	vendor  bool   // it is at OpenAI's own address
	objects string // that calls in the client's own bytes may name

	chat       *chat.API
	responses  *responses.API
	embeddings *embeddings.API
}

// New makes a provider with its own connections.
func New(opts providers.Options) *Provider {
	client := wire.NewClient(opts)
	return &Provider{
		client: client, server: opts.Server, vendor: opts.BaseURL == address, objects: opts.Objects,
		chat: chat.New(client, opts), responses: responses.New(client, opts), embeddings: embeddings.New(client, opts),
	}
}

// Abilities are what the server has beside chat completions.
func (p *Provider) Abilities() providers.Abilities {
	can := providers.Abilities{Speaks: p.speaks, Count: p.count, Kept: p.responses.Kept}
	if !p.server.ListsNone {
		can.Models = p.listModels
	}
	if p.client.Provider() == catalog.OpenAI { // other servers have other models
		can.Tokens, can.TakesMedia = llm.TokensOpenAI, true
	}
	if !p.server.NoEmbeddings {
		can.PrepareEmbeddings = p.embeddings.Prepare
	}
	return can
}

// speaks says that clients of OpenAI's dialects are served with their own bytes: those of the
// Responses API by servers that have it.
func (p *Provider) speaks(d llm.Dialect, _ *catalog.Model) bool {
	return d == llm.Chat || d == llm.Embeddings || d == llm.Responses && !p.server.ChatOnly
}

// Prepare rewrites the request for its upstream, or writes it anew where the
// client speaks another dialect.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	switch d := call.Request.Source.Dialect(); {
	case !p.speaks(d, call.Model):
		return p.translated(call)
	case d == llm.Responses:
		return p.responses.Prepare(call)
	}
	if err := objects.RefuseInChat(call.Request.Raw, p.objects); err != nil {
		return nil, err
	}
	if x, err := p.elsewhere(call); x != nil || err != nil {
		return x, err
	}
	return p.chat.Prepare(call)
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
