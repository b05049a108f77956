package all

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
	"modelgateway/tests/longtest"
)

// Providers of a models file read all recordings of OpenAI as OpenAI's own provider does.
func TestProvidersOfAModelsFileConform(t *testing.T) {
	for _, preset := range []string{"azure", "groq", "ollama"} {
		t.Run(preset, func(t *testing.T) {
			if preset != "groq" {
				longtest.Skip(t)
			}
			cfg := config.Config{UpstreamTimeout: 10 * time.Second, StreamIdleTimeout: 10 * time.Second}
			load := func(baseURL string) *catalog.Catalog {
				key := filepath.Join(t.TempDir(), "key")
				file := filepath.Join(t.TempDir(), "models.yaml")
				text := fmt.Sprintf("providers:\n  - {name: mine, preset: %s, base_url: %q, keys: {file: %q}}\n", preset, baseURL+"/v1", key)
				for path, text := range map[string]string{key: "test-key-of-a-models-file", file: text} {
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				list, err := catalog.Load(file, CatalogPresets(cfg)...)
				if err != nil {
					t.Fatal(err)
				}
				return list
			}
			models := load("http://127.0.0.1:9")
			driver := func(baseURL string) providers.Provider {
				own, err := Own(cfg, load(baseURL).Own())
				if err != nil || len(own) != 1 {
					t.Fatalf("%d providers, %v", len(own), err)
				}
				return own[0].Provider
			}
			providertest.Run(t, catalog.OpenAI, driver, func(id string) *catalog.Model { return models.Derive("mine", id) })
		})
	}
}
