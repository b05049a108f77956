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
	Keyless   bool     // PREFIX_BASE_URL alone configures it; a key is sent if there is one
}

// KeySetting is the name of the setting with the provider's keys.
func (p ProviderSettings) KeySetting() string { return p.Prefix + "_API_KEY" }

// BaseURLSetting is the name of the setting with the provider's address.
func (p ProviderSettings) BaseURLSetting() string { return p.Prefix + "_BASE_URL" }

// Provider is what one upstream needs.
type Provider struct {
	Keys     []Secret // a pool
	KeysFile string   // where Keys were read from; empty: not from a file
	BaseURL  string   // without a trailing slash and without the API's version
	Keyless  bool     // BaseURL alone configures it
}

// Configured reports whether the settings are enough to call the provider.
func (p Provider) Configured() bool { return p.BaseURL != "" && (p.Keyless || len(p.Keys) > 0) }

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
		keyDoc, urlDoc := "For the "+p.Models+" models; "+p.Title+" is off when empty", "Where the "+p.Title+" API is"
		switch {
		case p.ProviderSettings.Keyless:
			keyDoc, urlDoc = "Key of "+p.Title+", if it needs one", "Where "+p.Title+" is; it is off when empty"
		case p.ProviderSettings.BaseURL == "":
			urlDoc += "; required by " + p.KeySetting()
		}
		rows = append(rows, keyPool(p.KeySetting(), keys(&p.Keys), keyDoc))
		for i, other := range p.OtherKeys {
			rows = append(rows, keyPool(other, keys(&p.others[i]), "Another name of "+p.KeySetting()))
		}
		rows = append(rows, plain(p.BaseURLSetting(), p.ProviderSettings.BaseURL, baseURL(&p.Provider.BaseURL, p.Version), urlDoc))
	}
	return rows
}

func keyPool(name string, f format, doc string) row {
	r := secret(name, "", f, doc)
	r.Pool = true
	return r
}

// completeProviders fills Config.Providers. Keys that have only another name
// are used under that.
func (l *loader) completeProviders() {
	l.Providers = make(map[string]Provider, len(l.providers))
	for _, p := range l.providers {
		provider := p.Provider
		provider.Keyless = p.ProviderSettings.Keyless
		if provider.Keys != nil {
			provider.KeysFile = l.fileOf(p.KeySetting())
		}
		for i, others := range p.others {
			if !l.isSet(p.KeySetting()) && provider.Keys == nil && others != nil {
				provider.Keys, provider.KeysFile = others, l.fileOf(p.OtherKeys[i])
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
		if l.Simulator && l.isSet(p.BaseURLSetting()) {
			l.fault("SIMULATOR: cannot be true while %s is set: the simulator replaces all providers", p.BaseURLSetting())
		}
	}
}

func sameSecrets(a, b []Secret) bool {
	return slices.EqualFunc(a, b, func(x, y Secret) bool { return x.Reveal() == y.Reveal() })
}
