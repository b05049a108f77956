package all

import (
	"fmt"
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
)

// Trial makes a provider with one key in place of its own, at its vendor's address or the one that its setting
// has: never at another. Its error is an *api.Error.
func Trial(cfg config.Config, name, key string) (*Configured, error) {
	all := Settings()
	at := slices.IndexFunc(all, func(p config.ProviderSettings) bool { return p.Name == name })
	if at < 0 {
		return nil, api.Invalid(api.CodeInvalidValue, "preset", "there is no preset of this name")
	}
	settings, base := all[at], cfg.Providers[name].BaseURL
	if cfg.Simulator {
		base, _ = config.ParseBaseURL(settings.BaseURL, settings.Version)
		cfg.Simulator = false
	}
	if base == "" {
		return nil, api.Invalid(api.CodeInvalidValue, "preset",
			"%s has no address yet: set %s and start the gateway again; keys are tried at no other address",
			settings.Title, settings.BaseURLSetting())
	}
	one, err := config.OneKey(key)
	if err != nil {
		return nil, api.Invalid(api.CodeInvalidValue, "key", "the key is not one: %s", strings.TrimPrefix(err.Error(), "item 1: "))
	}
	cfg.Providers = map[string]config.Provider{name: {Keys: []config.Secret{one}, BaseURL: base}}
	made := New(cfg)
	if preset := slices.IndexFunc(CatalogPresets(cfg), func(p catalog.Preset) bool { return p.Name == name }); preset >= 0 {
		p := Presets()[preset]
		if p.Server.ListsNone {
			return nil, api.Invalid(api.CodeInvalidValue, "preset", "%s lists no models with which a key could be tried", p.Title)
		}
		if made, err = Own(cfg, []catalog.Provider{{Name: name, Preset: name, Type: p.Type}}); err != nil {
			return nil, api.Internal(fmt.Errorf("try a key: %w", err))
		}
	}
	return &made[0], nil
}
