// Package all lists every provider. Adding one takes a folder, a line here, and
// rules for its models in the catalogue.
package all

import (
	"fmt"
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

// Settings are those of all providers, the presets included, for config.Load.
func Settings() []config.ProviderSettings {
	settings := BuiltIn()
	for _, p := range Presets() {
		settings = append(settings, p.ProviderSettings)
	}
	return settings
}

// BuiltIn are the settings of the drivers' own providers.
func BuiltIn() []config.ProviderSettings {
	var settings []config.ProviderSettings
	for _, d := range Drivers() {
		settings = append(settings, d.ProviderSettings)
	}
	return settings
}

// Configured is a provider with the keys of its pool, of which there is one at
// least.
type Configured struct {
	Name       string
	Provider   providers.Provider
	Keys       []config.Secret
	Images     providers.Images
	OTelName   string          // in the semantic conventions of OpenTelemetry; empty: Name
	FirstToken time.Duration   // timeout of a stream's first event; 0: that of all providers
	Discovery  bool            // its list of models may be read
	Vendor     bool            // its address is that of the vendor whose API it is
	Type       string          // the driver: whose API it speaks
	LogIn      providers.LogIn // signs its calls; nil: its keys do
	Identity   string          // the same for two of the same settings but the keys
}

// New makes the providers that have keys.
func New(cfg config.Config) []Configured {
	var configured []Configured
	for _, d := range Drivers() {
		settings := cfg.Providers[d.Name]
		if len(settings.Keys) == 0 {
			continue
		}
		opts := providers.Options{
			Name: d.Name, BaseURL: settings.BaseURL, HeaderTimeout: cfg.UpstreamTimeout, IdleTimeout: cfg.StreamIdleTimeout,
			Objects: cfg.ProviderObjects,
		}
		identity := fmt.Sprintf("%s %+v", d.Name, opts)
		opts.Now = time.Now
		configured = append(configured, Configured{
			Name: d.Name, Provider: d.New(opts), Keys: settings.Keys, Images: d.Images, OTelName: d.OTelName,
			Discovery: true, Type: d.Name, Identity: identity, Vendor: opts.BaseURL == d.BaseURL || cfg.Simulator,
		})
	}
	return configured
}

// Abilities are those of the drivers' own providers, with keys or without.
func Abilities() map[string]providers.Abilities {
	can := map[string]providers.Abilities{}
	for _, d := range Drivers() {
		can[d.Name] = d.New(providers.Options{}).Abilities()
	}
	return can
}

// Simulated returns the providers' settings with the simulator at baseURL in
// place of every upstream. A provider that it cannot simulate has no keys. Of the
// presets it has those that are configured.
func Simulated(baseURL string, configured map[string]config.Provider) map[string]config.Provider {
	simulated := map[string]config.Provider{}
	for _, d := range Drivers() {
		p := config.Provider{BaseURL: baseURL}
		if d.Simulated {
			p.Keys = []config.Secret{config.NewSecret("simulated")}
		}
		simulated[d.Name] = p
	}
	for _, p := range Presets() {
		if configured[p.Name].Configured() {
			simulated[p.Name] = simulated[p.Type]
		}
	}
	return simulated
}
