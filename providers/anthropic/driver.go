package anthropic

import (
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers"
)

// Driver makes Anthropic a provider of the gateway.
var Driver = providers.Driver{
	ProviderSettings: config.ProviderSettings{
		Name: catalog.Anthropic, Title: "Anthropic", Prefix: "ANTHROPIC", Models: "claude",
		BaseURL: "https://api.anthropic.com", Version: "/v1",
	},
	Simulated: true,
	Images:    providers.Images{MaxTokens: 5_000},
	New:       func(opts providers.Options) providers.Provider { return New(opts) },
}
