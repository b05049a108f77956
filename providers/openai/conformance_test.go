package openai_test

import (
	"testing"
	"time"

	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/openai"
	"modelgateway/providers/providertest"
)

func TestConformance(t *testing.T) {
	models, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	driver := func(baseURL string) providers.Provider {
		return openai.New(providers.Options{
			BaseURL: baseURL, Now: time.Now,
			HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		})
	}
	providertest.Run(t, catalog.OpenAI, driver, func(id string) catalog.Model {
		return models.Derive(catalog.OpenAI, id)
	})
}
