// Package all lists every provider. Adding one takes a folder, a line here, and
// rules for its models in the catalogue.
package all

import (
	"time"

	"modelgateway/config"
	"modelgateway/providers"
	"modelgateway/providers/anthropic"
	"modelgateway/providers/gemini"
	"modelgateway/providers/openai"
)

// Drivers lists the providers in the order of their settings.
func Drivers() []providers.Driver {
	return []providers.Driver{
		openai.Driver,
		anthropic.Driver,
		gemini.Driver,
	}
}

// Settings are those of all providers, for config.Load.
func Settings() []config.ProviderSettings {
	var settings []config.ProviderSettings
	for _, d := range Drivers() {
		settings = append(settings, d.ProviderSettings)
	}
	return settings
}

// Images are the token bounds of pictures, by the name of the provider.
func Images() map[string]providers.Images {
	images := map[string]providers.Images{}
	for _, d := range Drivers() {
		images[d.Name] = d.Images
	}
	return images
}

// OTelNames are the names that OpenTelemetry's semantic conventions give to
// providers, where they differ from the provider's own.
func OTelNames() map[string]string {
	names := map[string]string{}
	for _, d := range Drivers() {
		if d.OTelName != "" {
			names[d.Name] = d.OTelName
		}
	}
	return names
}

// Configured is a provider with the keys of its pool, of which there is one at
// least.
type Configured struct {
	Name     string
	Provider providers.Provider
	Keys     []config.Secret
}

// New makes the providers that have keys.
func New(cfg config.Config) []Configured {
	var configured []Configured
	for _, d := range Drivers() {
		settings := cfg.Providers[d.Name]
		if len(settings.Keys) == 0 {
			continue
		}
		provider := d.New(providers.Options{
			Name: d.Name, BaseURL: settings.BaseURL,
			HeaderTimeout: cfg.UpstreamTimeout, IdleTimeout: cfg.StreamIdleTimeout, Now: time.Now,
		})
		configured = append(configured, Configured{d.Name, provider, settings.Keys})
	}
	return configured
}

// Simulated returns the providers' settings with the simulator at baseURL in
// place of every upstream. A provider that it cannot simulate has no keys.
func Simulated(baseURL string) map[string]config.Provider {
	simulated := map[string]config.Provider{}
	for _, d := range Drivers() {
		p := config.Provider{BaseURL: baseURL}
		if d.Simulated {
			p.Keys = []config.Secret{config.NewSecret("simulated")}
		}
		simulated[d.Name] = p
	}
	return simulated
}
