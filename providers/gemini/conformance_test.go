package gemini_test

import (
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/providers/gemini"
	"modelgateway/providers/providertest"
)

func TestConformance(t *testing.T) {
	models := providertest.Catalog(t)
	driver := func(baseURL string) providers.Provider {
		return gemini.New(providers.Options{
			BaseURL: baseURL, Now: time.Now,
			HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		})
	}
	providertest.Run(t, catalog.Gemini, driver, func(id string) *catalog.Model {
		return models.Derive(catalog.Gemini, id)
	})
}
