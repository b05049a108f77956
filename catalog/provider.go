package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Preset is a server that is known by its name, as far as its models are concerned.
type Preset struct {
	Name  string
	Type  string // the provider of the embedded catalogue whose API it has
	Facts string // see Provider
	Rules []Rule // tried before those of Type
	// Owner is the provider of the embedded catalogue that has made a model of a cloud, and its
	// name there; empty: none. Its traits and facts are the model's. nil: that is not in the name.
	Owner func(id string) (provider, name string)
	// Regional says whether a model of an Owner costs a tenth more in a region than its maker
	// asks, since the call stays there. nil: none does.
	Regional func(region, id string) bool
	On       bool // the environment configures it
	Free     bool // its models cost nothing, unless a price is set

	Region, Project string // of a cloud, as the environment has them

}

// Provider is a provider beside those of the embedded catalogue: of the operator's file,
// or a preset that the environment configures.
type Provider struct {
	Name      string
	Type      string // the provider of the embedded catalogue whose API it has
	Preset    string // empty: none
	Facts     string // the provider whose models it serves under the same names; empty: none
	BaseURL   string // empty: that of the preset or the type
	Keys      []KeySource
	Auth      string // bearer, none or the name of a header; empty: that of the preset or the type
	Headers   map[string]string
	Query     map[string]string
	Discovery bool // its list of models is read
	Timeouts  Timeouts
	Line      int // of the file; 0 where it is not of the file
	Account   Account
}

// Account is one of a cloud: where it is, and whose credentials sign calls where there is no key.
// What is empty is that of the environment.
type Account struct {
	Cloud   string `yaml:"-"` // aws, google or azure; empty: that of the preset
	Region  string `yaml:"-"`
	Project string `yaml:"-"`

	// Of aws.
	Profile     string   `yaml:"profile"`
	AccessKeyID string   `yaml:"access_key_id"`
	Role        string   `yaml:"role"` // that is assumed
	ExternalID  string   `yaml:"external_id"`
	Tags        []string `yaml:"tags"` // of the session of the role: user, team

	// Of google.
	File string `yaml:"file"` // with the credential

	// Of azure.
	Tenant          string `yaml:"tenant"`
	ClientID        string `yaml:"client_id"`
	TokenFile       string `yaml:"token_file"` // with a token of another issuer
	ManagedIdentity bool   `yaml:"managed_identity"`
	AuthorityHost   string `yaml:"authority_host"`

	Secret KeySource `yaml:"-"` // of the access key or the client
}

// accountMembers are the members of auth by cloud, and which of them is the secret.
var accountMembers = map[string][]string{
	"aws":    {"secret_access_key", "profile", "access_key_id", "role", "external_id", "tags"},
	"google": {"", "file"},
	"azure":  {"client_secret", "tenant", "client_id", "token_file", "managed_identity", "authority_host"},
}

// UnmarshalYAML reads {aws: {…}}, {google: {…}} or {azure: {…}}.
func (a *Account) UnmarshalYAML(node *yaml.Node) error {
	cloud, members := node.Content[0].Value, node.Content[1]
	known := accountMembers[cloud]
	if known == nil || members.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %w", node.Line, errAuth)
	}
	rest := *members
	rest.Content = nil
	for pair := range slices.Chunk(members.Content, 2) {
		switch name := pair[0].Value; {
		case !slices.Contains(known, name) || name == "":
			return fmt.Errorf("line %d: auth: %s has %s, not %q", pair[0].Line, cloud, strings.Join(known, ", "), name)
		case name == known[0]:
			var secret keySources
			if err := secret.UnmarshalYAML(pair[1]); err != nil || len(secret) != 1 {
				return cmp.Or(err, errLiteralKey)
			}
			a.Secret = secret[0]
		default:
			rest.Content = append(rest.Content, pair...)
		}
	}
	a.Cloud = cloud
	type plain Account
	return rest.Decode((*plain)(a))
}

// Timeouts are those of one provider; 0 is that of all.
type Timeouts struct {
	Response   time.Duration `yaml:"response"`    // until the header of an answer
	FirstToken time.Duration `yaml:"first_token"` // until the first event of a stream
	Idle       time.Duration `yaml:"idle"`        // until the next bytes of an answer
}

// KeySource is where a provider's keys are: in an environment variable or in a file.
type KeySource struct{ Env, File string }

// The values of Provider.Auth that are no header.
const (
	AuthBearer = "bearer"
	AuthNone   = "none"
)

// providerEntry is a provider as a file has it.
type providerEntry struct {
	Name      string            `yaml:"name"`
	Type      string            `yaml:"type"`
	Preset    string            `yaml:"preset"`
	Facts     string            `yaml:"facts"`
	BaseURL   string            `yaml:"base_url"`
	Keys      keySources        `yaml:"keys"`
	Auth      authEntry         `yaml:"auth"`
	Headers   map[string]string `yaml:"headers"`
	Query     map[string]string `yaml:"query"`
	Region    string            `yaml:"region"`
	Project   string            `yaml:"project"`
	Discovery *bool             `yaml:"discovery"`
	Timeouts  Timeouts          `yaml:"timeouts"`
	Models    []modelEntry      `yaml:"models"`
	Rules     []Rule            `yaml:"rules"`

	Literal string `yaml:"key"` // refused, with the remedy
	APIKey  string `yaml:"api_key"`
}

type keySources []KeySource

var errLiteralKey = errors.New("a key is never in this file: name its variable, as in keys: {env: NAME}, or its file, " +
	"as in keys: {file: /run/secrets/name}")

// UnmarshalYAML reads one source or a list of them. Its errors do not show the text,
// which may be a key.
func (k *keySources) UnmarshalYAML(node *yaml.Node) error {
	sources := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		sources = node.Content
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode || len(source.Content) != 2 {
			return fmt.Errorf("line %d: %w", source.Line, errLiteralKey)
		}
		name, value := source.Content[0].Value, source.Content[1]
		switch {
		case name == "env" && variableName.MatchString(value.Value):
			*k = append(*k, KeySource{Env: value.Value})
		case name == "file" && value.Value != "" && value.Kind == yaml.ScalarNode:
			*k = append(*k, KeySource{File: value.Value})
		case name == "env":
			return fmt.Errorf("line %d: env must be the name of a variable in capital letters, such as AZURE_EU_API_KEY", source.Line)
		default:
			return fmt.Errorf("line %d: %w", source.Line, errLiteralKey)
		}
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// authEntry is bearer, none, {header: NAME} or an account of a cloud.
type authEntry struct {
	way     string
	account *Account
}

var errAuth = errors.New("auth must be bearer, none, {header: NAME}, or one of {aws: {…}}, {google: {…}} and {azure: {…}}")

// UnmarshalYAML reads the way of the key.
func (a *authEntry) UnmarshalYAML(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.ScalarNode && (node.Value == AuthBearer || node.Value == AuthNone):
		a.way = node.Value
		return nil
	case node.Kind != yaml.MappingNode || len(node.Content) != 2:
	case node.Content[0].Value == "header" && headerName.MatchString(node.Content[1].Value):
		a.way = http.CanonicalHeaderKey(node.Content[1].Value)
		return nil
	default:
		a.account = new(Account)
		return a.account.UnmarshalYAML(node)
	}
	return fmt.Errorf("line %d: %w", node.Line, errAuth)
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// secretHeaders carry keys, or are the gateway's own.
var secretHeaders = []string{
	"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Proxy-Authorization", "Cookie", "Host", "Content-Type", "Content-Length",
	"Transfer-Encoding", "Connection",
}

// modelEntry is a model of a provider: its name alone, or an entry.
type modelEntry struct{ entry }

// UnmarshalYAML reads a name, or an entry with its unknown members refused.
func (m *modelEntry) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&m.ID) == nil {
		return nil
	}
	m.entry = entry{}
	return unmarshal(&m.entry)
}

// providerName is also the beginning of the names of its models.
var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

const longestProviderName = 40

// addPresets adds the presets that the environment configures.
func (c *Catalog) addPresets(presets []Preset) {
	c.presets = presets
	for _, p := range presets {
		if p.On {
			c.addProvider(Provider{
				Name: p.Name, Type: p.Type, Preset: p.Name, Facts: p.Facts, Discovery: true,
				Account: Account{Region: p.Region, Project: p.Project},
			}, p.Rules)
		}
	}
}

// addProvider adds a provider, or replaces the preset of its name.
func (c *Catalog) addProvider(p Provider, rules []Rule) {
	at := slices.IndexFunc(c.own, func(q Provider) bool { return q.Name == p.Name })
	if at < 0 {
		c.own = append(c.own, p)
		c.names = append(c.names, p.Name)
	} else {
		c.own[at] = p
	}
	c.rules[p.Name] = rules
}

// Own is the providers beside those of the embedded catalogue, in the order in which
// they are shown.
func (c *Catalog) Own() []Provider { return slices.Clone(c.own) }

// Providers lists the names of all providers, in the order in which they are shown.
func (c *Catalog) Providers() []string { return c.names }

// IsOwn reports whether a provider is one of Own.
func (c *Catalog) IsOwn(name string) bool { return c.provider(name) != nil }

// Open reports whether a provider is one of Own that may have models which nothing lists.
func (c *Catalog) Open(name string) bool {
	p := c.provider(name)
	return p != nil && p.Discovery
}

func (c *Catalog) provider(name string) *Provider {
	for i := range c.own {
		if c.own[i].Name == name {
			return &c.own[i]
		}
	}
	return nil
}

// OwnModel is the entry of a provider's own list with this id.
func (c *Catalog) OwnModel(provider, id string) (*Model, bool) {
	m, ok := c.ownModels[ownID{provider, id}]
	return m, ok
}

type ownID struct{ provider, id string }

// mergeProvider adds a provider of the file, without its models.
func (c *Catalog) mergeProvider(e providerEntry, line int) error {
	preset := c.preset(e.Preset)
	switch {
	case e.Literal != "" || e.APIKey != "":
		return errLiteralKey
	case !providerName.MatchString(e.Name) || len(e.Name) > longestProviderName:
		return fmt.Errorf("name must be of small letters, digits, - and _, not %q", e.Name)
	case slices.Contains(Providers(), e.Name):
		return fmt.Errorf("the name is that of a provider that the environment configures: choose another, such as %s-2", e.Name)
	case e.Preset != "" && preset == nil:
		return fmt.Errorf("preset must be one of %s, not %q", strings.Join(c.presetNames(), ", "), e.Preset)
	case e.Preset != "" && e.Type != "":
		return errors.New("type and preset are both set: keep one")
	case e.Preset == "" && !slices.Contains(Providers(), e.Type):
		return fmt.Errorf("type must be one of %s, not %q; or set preset", strings.Join(Providers(), ", "), e.Type)
	case e.Facts != "" && !slices.Contains(Providers(), e.Facts):
		return fmt.Errorf("facts must be one of %s, not %q", strings.Join(Providers(), ", "), e.Facts)
	case e.Timeouts.Response < 0 || e.Timeouts.FirstToken < 0 || e.Timeouts.Idle < 0:
		return errors.New("a timeout is negative")
	}
	for name, value := range e.Headers {
		switch {
		case !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n"):
			return fmt.Errorf("headers: %q is no header of one line", name)
		case slices.Contains(secretHeaders, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("headers: %s cannot be set here; a key belongs in keys, and auth: {header: NAME} says which header has it", name)
		}
	}
	p := Provider{
		Name: e.Name, Type: e.Type, Preset: e.Preset, Facts: e.Facts, BaseURL: e.BaseURL, Keys: e.Keys, Auth: e.Auth.way,
		Headers: e.Headers, Query: e.Query, Timeouts: e.Timeouts, Discovery: len(e.Models) == 0, Line: line,
	}
	if e.Auth.account != nil {
		p.Account = *e.Auth.account
	}
	p.Account.Region, p.Account.Project = e.Region, e.Project
	rules := e.Rules
	if preset != nil {
		p.Type, p.Facts = preset.Type, cmp.Or(p.Facts, preset.Facts)
		p.Account.Region, p.Account.Project = cmp.Or(e.Region, preset.Region), cmp.Or(e.Project, preset.Project)
		rules = slices.Concat(rules, preset.Rules)
	} else if p.BaseURL == "" {
		p.Facts = cmp.Or(p.Facts, p.Type)
	}
	if e.Discovery != nil {
		p.Discovery = *e.Discovery
	}
	if err := validateRules(e.Name, e.Rules); err != nil {
		return err
	}
	c.addProvider(p, rules)
	return nil
}

func (c *Catalog) preset(name string) *Preset {
	for i := range c.presets {
		if c.presets[i].Name == name {
			return &c.presets[i]
		}
	}
	return nil
}

func (c *Catalog) presetNames() []string {
	var names []string
	for _, p := range c.presets {
		names = append(names, p.Name)
	}
	return names
}

// mergeOwnModels adds the models that a provider of the file lists. A name that two
// providers list means that of the first.
func (c *Catalog) mergeOwnModels(e providerEntry) error {
	for i, listed := range e.Models {
		if listed.Provider != "" || listed.Upstreams != nil {
			return fmt.Errorf("models[%d] %s: provider and upstreams belong in the file's own models", i, listed.ID)
		}
		listed.Provider = e.Name
		m, err := listed.model(c)
		if err != nil {
			return fmt.Errorf("models[%d] %s: %w", i, listed.ID, err)
		}
		if _, again := c.ownModels[ownID{e.Name, m.ID}]; again {
			return fmt.Errorf("models[%d] %s: listed twice", i, m.ID)
		}
		if c.ownModels == nil {
			c.ownModels = map[ownID]*Model{}
		}
		c.ownModels[ownID{e.Name, m.ID}] = &m
		if old, known := c.Model(m.ID); !known || !c.IsOwn(old.Provider) {
			c.set(m)
		}
	}
	return nil
}
