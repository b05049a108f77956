package openai

import (
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers"
)

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
