// Package all knows every provider. Adding one is a folder and a line here.
package all

import (
	"sync/atomic"
	"time"

	"modelgateway/config"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/anthropic"
	"modelgateway/providers/gemini"
	"modelgateway/providers/openai"
)

// Configured makes the providers that have keys, by name.
func Configured(cfg config.Config) map[string]providers.Provider {
	made := map[string]providers.Provider{}
	if c := cfg.Anthropic; len(c.Keys) > 0 {
		made[catalog.Anthropic] = anthropic.New(anthropic.Options{
			BaseURL: c.BaseURL, Key: inTurn(c.Keys), Now: time.Now,
			HeaderTimeout: cfg.UpstreamTimeout, IdleTimeout: cfg.StreamIdleTimeout,
		})
	}
	if c := cfg.OpenAI; len(c.Keys) > 0 {
		made[catalog.OpenAI] = openai.New(openai.Options{
			BaseURL: c.BaseURL, Key: inTurn(c.Keys), Now: time.Now,
			HeaderTimeout: cfg.UpstreamTimeout, IdleTimeout: cfg.StreamIdleTimeout,
		})
	}
	if c := cfg.Gemini; len(c.Keys) > 0 {
		made[catalog.Gemini] = gemini.New(gemini.Options{
			BaseURL: c.BaseURL, Key: inTurn(c.Keys), Now: time.Now,
			HeaderTimeout: cfg.UpstreamTimeout, IdleTimeout: cfg.StreamIdleTimeout,
		})
	}
	return made
}

// inTurn hands out the keys of a pool one after the other.
func inTurn(keys []config.Secret) func() string {
	var turn atomic.Uint64
	return func() string {
		return keys[(turn.Add(1)-1)%uint64(len(keys))].Reveal()
	}
}
