package config

import "slices"

// ProviderSettings describe the settings of one provider: PREFIX_API_KEY and
// PREFIX_BASE_URL.
type ProviderSettings struct {
	Name      string   // of the provider, as in Config.Providers
	Title     string   // of the provider in the documentation
	Prefix    string   // of the names of the settings, in upper case
	Models    string   // the family of models that need the key, in the documentation
	BaseURL   string   // default of PREFIX_BASE_URL
	Version   string   // path of the API's version, with which a base URL may end
	OtherKeys []string // other names of PREFIX_API_KEY
}

// KeySetting is the name of the setting with the provider's keys.
func (p ProviderSettings) KeySetting() string { return p.Prefix + "_API_KEY" }

func (p ProviderSettings) baseURLSetting() string { return p.Prefix + "_BASE_URL" }

// Provider is what one upstream needs.
type Provider struct {
	Keys    []Secret // a pool; none: the provider is not configured
	BaseURL string   // without a trailing slash and without the API's version
}

// providerLoad collects what the settings of one provider say.
type providerLoad struct {
	ProviderSettings
	Provider
	others [][]Secret // the keys of each of OtherKeys
}

// upstreams lists the settings of all providers.
func (l *loader) upstreams() []row {
	var rows []row
	for _, p := range l.providers {
		rows = append(rows, secret(p.KeySetting(), "", keys(&p.Keys), "For the "+p.Models+" models; "+p.Title+" is off when empty"))
		for i, other := range p.OtherKeys {
			rows = append(rows, secret(other, "", keys(&p.others[i]), "Another name of "+p.KeySetting()))
		}
		rows = append(rows, plain(p.baseURLSetting(), p.ProviderSettings.BaseURL, baseURL(&p.Provider.BaseURL, p.Version),
			"Where the "+p.Title+" API is"))
	}
	return rows
}

// completeProviders fills Config.Providers. Keys that have only another name
// are used under that.
func (l *loader) completeProviders() {
	l.Providers = make(map[string]Provider, len(l.providers))
	for _, p := range l.providers {
		provider := p.Provider
		for _, others := range p.others {
			if !l.isSet(p.KeySetting()) && provider.Keys == nil {
				provider.Keys = others
			}
		}
		l.Providers[p.Name] = provider
	}
}

func (l *loader) checkProviders() {
	for _, p := range l.providers {
		name, pool := p.KeySetting(), p.Keys
		if !l.isSet(name) {
			name, pool = "", nil
		}
		for i, other := range p.OtherKeys {
			switch {
			case p.others[i] == nil:
			case name == "":
				name, pool = other, p.others[i]
			case pool != nil && !sameSecrets(pool, p.others[i]):
				l.fault("%s and %s are both set and differ: keep one", name, other)
			}
		}
	}
	for _, p := range l.providers {
		if l.Simulator && l.isSet(p.baseURLSetting()) {
			l.fault("SIMULATOR: not together with %s: the simulator plays all providers", p.baseURLSetting())
		}
	}
}

func sameSecrets(a, b []Secret) bool {
	return slices.EqualFunc(a, b, func(x, y Secret) bool { return x.Reveal() == y.Reveal() })
}
