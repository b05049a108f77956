// Package all knows every provider. Adding one is a folder and a line here.
package all

import (
	"time"

	"modelgateway/config"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/anthropic"
	"modelgateway/providers/gemini"
	"modelgateway/providers/openai"
)

// Configured is a provider with the keys of its pool, of which there is one at
// least.
type Configured struct {
	Name     string
	Provider providers.Provider
	Keys     []config.Secret
}

// New makes the providers that have keys.
func New(cfg config.Config) []Configured {
	header, idle := cfg.UpstreamTimeout, cfg.StreamIdleTimeout
	all := []Configured{
		{catalog.Anthropic, anthropic.New(providers.Options{BaseURL: cfg.Anthropic.BaseURL, HeaderTimeout: header, IdleTimeout: idle, Now: time.Now}), cfg.Anthropic.Keys},
		{catalog.OpenAI, openai.New(providers.Options{BaseURL: cfg.OpenAI.BaseURL, HeaderTimeout: header, IdleTimeout: idle, Now: time.Now}), cfg.OpenAI.Keys},
		{catalog.Gemini, gemini.New(providers.Options{BaseURL: cfg.Gemini.BaseURL, HeaderTimeout: header, IdleTimeout: idle, Now: time.Now}), cfg.Gemini.Keys},
	}
	var configured []Configured
	for _, c := range all {
		if len(c.Keys) > 0 {
			configured = append(configured, c)
		}
	}
	return configured
}
