package config

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
)

// The sources of settings.
const (
	FromEnvironment = "environment"
	FromFile        = "file" // .env, or the file that NAME_FILE names
	FromDefault     = "default"
)

// Effective is a setting and the value that is in effect.
type Effective struct {
	Setting
	Value  string // empty for a secret; of an Address the URL without its password
	Source string
	IsSet  bool // by the operator
	Count  int  // of a Pool
}

// given is what the operator has set. It holds no secret.
type given struct {
	text   string // as it is shown
	source string
	count  int
}

// note keeps what may be shown of a setting. An empty text is none.
func (l *loader) note(s Setting, text string) {
	if text == "" {
		return
	}
	g := given{source: FromFile}
	if l.environ[s.Name] != "" {
		g.source = FromEnvironment
	}
	switch {
	case s.Address:
		g.text = withoutPassword(text)
	case !s.Secret:
		g.text = text
	case s.Pool:
		g.count = strings.Count(text, ",") + 1
	}
	if l.given == nil {
		l.given = map[string]given{}
	}
	l.given[s.Name] = g
}

// Effective lists all settings with their values, in the order of the documentation; then
// the variables that the models file names.
func (c *Config) Effective(providers []ProviderSettings) []Effective {
	var all []Effective
	known := map[string]bool{}
	for _, s := range Settings(providers) {
		known[s.Name] = true
		all = append(all, c.effective(s))
	}
	for name := range sorted(c.namesOfVariables()) {
		if !known[name] {
			all = append(all, c.effective(Setting{
				Name: name, Secret: true, Pool: true, Group: groups["MODELS_FILE"], Doc: "Keys of a provider of MODELS_FILE, which names this variable.",
			}))
		}
	}
	return all
}

func (c *Config) namesOfVariables() map[string]string {
	names := map[string]string{}
	for name := range c.Variables {
		names[name] = ""
	}
	return names
}

func (c *Config) effective(s Setting) Effective {
	e := Effective{Setting: s, Source: FromDefault, Value: s.Default}
	g, set := c.given[s.Name]
	switch {
	case set:
		e.Value, e.Source, e.Count, e.IsSet = g.text, g.source, g.count, true
	case s.Name == "PUBLIC_URL": // this default and the next ones depend on other settings
		e.Value = c.PublicURL
	case s.Name == "RESPONSES_STORE_HOURS":
		e.Value = strconv.Itoa(int(c.ResponsesStore.Hours()))
	case s.Name == "IDP_PROVIDER" && c.IDP.ClientID != "":
		e.Value = c.IDP.Name
	}
	return e
}

// TakeKeys replaces the keys of the providers by those of settings that were read later.
func (c *Config) TakeKeys(from *Config, providers []ProviderSettings) {
	c.Variables = from.Variables
	c.given = maps.Clone(c.given)
	renew := func(name string) {
		delete(c.given, name)
		if g, set := from.given[name]; set {
			c.given[name] = g
		}
	}
	for _, s := range Settings(providers) {
		if s.Pool {
			renew(s.Name)
		}
	}
	for name := range from.Variables {
		renew(name)
	}
	if !c.Simulator {
		c.Providers = from.Providers
	}
}

// withoutPassword is an address without its password and without its query, which may have
// one as well.
func withoutPassword(text string) string {
	if strings.HasPrefix(text, "sqlite:") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if _, password := u.User.Password(); password && u.User.Username() != "" { // alone it may be a secret
		shown.User = url.User(u.User.Username())
	}
	return shown.String()
}
