package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

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
	Login     bool     // where there is no key, a cloud's credentials sign its calls
	Cloud     *Cloud   // nil: it is no cloud whose addresses follow from a region
	Key       string   // the setting of its keys, where it is not PREFIX_API_KEY
}

// Cloud are the settings of a cloud whose addresses follow from a region. It is on when one
// of its keys or the setting that names it is there.
type Cloud struct {
	Region        string // setting of the region
	DefaultRegion string
	Project       string // setting of the project that names it; empty: Region names it
	// Usual are variables that the cloud's own programs read the region from. They switch
	// nothing on.
	Usual []string
}

// KeySetting is the name of the setting with the provider's keys.
func (p ProviderSettings) KeySetting() string {
	if p.Key != "" {
		return p.Key
	}
	return p.Prefix + "_API_KEY"
}

// NameSetting is the name of the setting that configures the provider: that of its keys, or of
// its address or its place in a cloud where it needs no key.
func (p ProviderSettings) NameSetting() string {
	switch {
	case p.Cloud != nil && p.Cloud.Project != "":
		return p.Cloud.Project
	case p.Cloud != nil:
		return p.Cloud.Region
	case p.Keyless:
		return p.BaseURLSetting()
	}
	return p.KeySetting()
}

// BaseURLSetting is the name of the setting with the provider's address.
func (p ProviderSettings) BaseURLSetting() string { return p.Prefix + "_BASE_URL" }

// Provider is what one upstream needs.
type Provider struct {
	Keys     []Secret // a pool
	KeysFile string   // where Keys were read from; empty: not from a file
	BaseURL  string   // without a trailing slash and without the API's version
	Keyless  bool     // BaseURL alone configures it
	Region   string   // of a cloud
	Project  string   // of a cloud
	Named    bool     // a cloud that is on: its addresses follow from its region
}

// Configured reports whether the settings are enough to call the provider.
func (p Provider) Configured() bool {
	return p.Named || p.BaseURL != "" && (p.Keyless || len(p.Keys) > 0)
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
		keyDoc, urlDoc := "For the "+p.Models+" models; "+p.Title+" is off when empty", "Where the "+p.Title+" API is"
		switch {
		case p.Login:
			keyDoc = "Key of " + p.Title + "; when empty the cloud's own credentials sign its calls"
			urlDoc = "Where " + p.Title + " is; it is off when empty"
		case p.ProviderSettings.Keyless:
			keyDoc, urlDoc = "Key of "+p.Title+", if it needs one", "Where "+p.Title+" is; it is off when empty"
		case p.ProviderSettings.BaseURL == "":
			urlDoc += "; required by " + p.KeySetting()
		}
		rows = append(rows, keyPool(p.KeySetting(), keys(&p.Keys), keyDoc))
		for i, other := range p.OtherKeys {
			rows = append(rows, keyPool(other, keys(&p.others[i]), "Another name of "+p.KeySetting()))
		}
		if c := p.Cloud; c != nil {
			urlDoc = "Where " + p.Title + " is, such as a private endpoint; when empty that of the region"
			rows = append(rows, p.place(c)...)
		}
		rows = append(rows, plain(p.BaseURLSetting(), p.ProviderSettings.BaseURL, baseURL(&p.Provider.BaseURL, p.Version), urlDoc))
	}
	return append(rows, plain("PROVIDER_ORDER", "", providerNames(&l.ProviderOrder),
		"Providers that serve a model under its plain name, such as anthropic,bedrock,vertex: the first that is configured and has it, "+
			"then the others when that one cannot answer; when empty its maker"))
}

// place lists the settings of a cloud's region and project.
func (p *providerLoad) place(c *Cloud) []row {
	regionDoc := "Region of " + p.Title
	if c.Project == "" {
		regionDoc += ", which is off when this and " + p.KeySetting() + " are empty"
	}
	if len(c.Usual) > 0 {
		regionDoc += "; with a key " + strings.Join(c.Usual, " or ") + " when empty"
	}
	rows := []row{plain(c.Region, c.DefaultRegion, placeName(&p.Region), regionDoc)}
	if c.Project != "" {
		rows = append(rows, plain(c.Project, "", placeName(&p.Project),
			"Project of "+p.Title+", which is off when this and "+p.KeySetting()+" are empty"))
	}
	return rows
}

// placeName is a region or a project, which become parts of host names and paths.
func placeName(into *string) format {
	return format{"small letters, digits, hyphens, points and colons", func(text string) error {
		if !isPlace.MatchString(text) {
			return errors.New("must be of small letters, digits and hyphens, such as eu-central-1")
		}
		*into = text
		return nil
	}}
}

var isPlace = regexp.MustCompile(`^[a-z0-9]([a-z0-9.:-]*[a-z0-9])?$`)

// providerNames are names of providers. Those of the models file are not known here.
func providerNames(into *[]string) format {
	return list(into, "names of providers, comma-separated", func(item string) (string, error) {
		if !isProvider.MatchString(item) {
			return "", errors.New("a provider has a name of small letters, digits, hyphens and underscores")
		}
		return item, nil
	})
}

var isProvider = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// named completes a cloud: whether it is on, and in which region.
func (l *loader) named(p *providerLoad, at *Provider) {
	name := p.NameSetting()
	at.Named = l.isSet(name) || len(at.Keys) > 0
	for _, usual := range p.Cloud.Usual {
		if at.Named && at.Region == "" && isPlace.MatchString(l.ambient(usual)) {
			at.Region = l.ambient(usual)
		}
	}
	if at.Named && at.Region == "" && !l.isSet(p.Cloud.Region) {
		l.fault("%s: missing, but required by %s", p.Cloud.Region, p.KeySetting())
	}
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
		if p.Cloud != nil {
			l.named(p, &provider)
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
