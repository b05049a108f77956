package openai_test

import (
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/providers/openai"
	"modelgateway/providers/providertest"
)

func TestConformance(t *testing.T) {
	conforms(t, func(p providers.Provider) providers.Provider { return p })
}

// The same of requests that are written from the common form, and of answers that
// are translated to it.
func TestConformanceOfAnotherDialect(t *testing.T) { conforms(t, providertest.OnlyForeign) }

func conforms(t *testing.T, as func(providers.Provider) providers.Provider) {
	t.Helper()
	models := providertest.Catalog(t)
	driver := func(baseURL string) providers.Provider {
		return as(openai.New(providers.Options{
			BaseURL: baseURL, Server: providers.Server{ChatOnly: true}, // the recordings are of chat completions
			Now:           time.Now,
			HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		}))
	}
	providertest.Run(t, catalog.OpenAI, driver, func(id string) *catalog.Model {
		return models.Derive(catalog.OpenAI, id)
	})
}
