package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"modelgateway/llm"
)

// Rule gives its traits to the models whose upstream ids match a pattern.
type Rule struct {
	Match  []string `yaml:"match"` // see path.Match
	Traits `yaml:",inline"`
}

type file struct {
	Providers []providerEntry   `yaml:"providers"`
	Models    []entry           `yaml:"models"`
	Rules     map[string][]Rule `yaml:"rules"`
	Aliases   map[string]string `yaml:"aliases"`
}

// entry is a model as a file has it.
type entry struct {
	ID        string   `yaml:"id"`
	Kind      llm.Kind `yaml:"kind"`
	Provider  string   `yaml:"provider"`
	Upstream  string   `yaml:"upstream"`
	Created   int64    `yaml:"created"`
	Context   int64    `yaml:"context"`
	MaxOutput int64    `yaml:"max_output"`
	State     string   `yaml:"state"`
	Ends      string   `yaml:"ends"`
	Successor string   `yaml:"successor"`
	Fallbacks []string `yaml:"fallbacks"`
	Price     *dollars `yaml:"price"`
	Like      string   `yaml:"like"`

	Guardrail  string          `yaml:"guardrail"`
	Unlisted   bool            `yaml:"unlisted"`
	Dimensions Dimensions      `yaml:"dimensions"`
	Upstreams  []upstreamEntry `yaml:"upstreams"`
}

// upstreamEntry is one of several upstreams of a model.
type upstreamEntry struct {
	Provider string   `yaml:"provider"`
	Upstream string   `yaml:"upstream"`
	Weight   int64    `yaml:"weight"`
	Price    *dollars `yaml:"price"`
	Like     string   `yaml:"like"`
}

// dollars is a price as a file has it.
type dollars struct {
	Tokens map[string]float64 `yaml:",inline"` // dollars for a million tokens, by the names of units
	Over   int64              `yaml:"over"`
	Above  *dollars           `yaml:"above"`

	Multipliers map[string]float64 `yaml:"multipliers"` // of service tiers and the like, by their names in Factors
	Fees        map[string]float64 `yaml:"fees"`        // dollars for one, by the names of units
}

// Providers lists the names of all providers in the order in which they are shown:
// that of their rules in the embedded catalogue.
func Providers() []string { return slices.Clone(ruled()) }

// ruled reads the names once: they are needed for every list of models. The file
// is part of the program, and its faults are reported by Load.
var ruled = sync.OnceValue(func() []string {
	var f struct {
		Rules yaml.Node `yaml:"rules"`
	}
	if err := yaml.Unmarshal(embedded, &f); err != nil {
		return nil
	}
	var names []string
	for name := range slices.Chunk(f.Rules.Content, 2) { // keys and values
		names = append(names, name[0].Value)
	}
	return names
})

// merge adds the models and rules of a file. Its rules are tried before those that
// are there.
func (c *Catalog) merge(text []byte) error {
	var f file
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) { // an empty file has no document
		return plainFault(err)
	}
	faults := faults{text: text}
	c.mergeProviders(&f, &faults)
	for _, provider := range slices.Sorted(maps.Keys(f.Rules)) {
		if !slices.Contains(c.names, provider) {
			faults.add(fmt.Errorf("rules: unknown provider %q", provider), "rules", provider)
			continue
		}
		faults.add(validateRules(provider, f.Rules[provider]), "rules", provider)
		c.rules[provider] = append(f.Rules[provider], c.rules[provider]...)
	}
	if f.Aliases != nil {
		c.aliases = f.Aliases
	}
	seen := map[string]bool{}
	for i, e := range f.Models {
		if seen[e.ID] {
			faults.add(fmt.Errorf("models[%d] %s: listed twice", i, e.ID), "models", i)
			continue
		}
		seen[e.ID] = true
		m, err := c.mergeEntry(e)
		if err == nil {
			m, err = c.withUpstreams(m, e)
		}
		if err != nil {
			faults.add(fmt.Errorf("models[%d] %s: %w", i, e.ID, err), "models", i)
			continue
		}
		c.set(m)
	}
	return faults.join()
}

// mergeProviders adds the providers of a file with their models.
func (c *Catalog) mergeProviders(f *file, faults *faults) {
	seen := map[string]bool{}
	for i, e := range f.Providers {
		err := c.mergeProvider(e, faults.line("providers", i))
		if err == nil && seen[e.Name] {
			err = errors.New("listed twice")
		}
		if err == nil {
			err = c.mergeOwnModels(e)
		}
		seen[e.Name] = true
		if err != nil {
			faults.add(fmt.Errorf("providers[%d] %s: %w", i, e.Name, err), "providers", i)
		}
	}
}

func validateRules(provider string, rules []Rule) error {
	for i, r := range rules {
		if len(r.Match) == 0 {
			return fmt.Errorf("rules.%s[%d]: match is empty", provider, i)
		}
		for _, pattern := range r.Match {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("rules.%s[%d]: %q is not a pattern", provider, i, pattern)
			}
		}
		if !isKind(r.Kind) {
			return fmt.Errorf("rules.%s[%d]: kind must be %s, not %q", provider, i, kinds(), r.Kind)
		}
		if !slices.Contains([]string{"", APIChat, APIBoth, APIResponses}, r.API) {
			return fmt.Errorf("rules.%s[%d]: api must be chat, responses or both, not %q", provider, i, r.API)
		}
		if r.Sampling == "" && r.Kind == llm.KindEmbedding {
			continue // has nothing to sample
		}
		if !slices.Contains([]string{SamplingBoth, SamplingOne, SamplingNone}, r.Sampling) {
			return fmt.Errorf("rules.%s[%d]: sampling must be both, one or none, not %q", provider, i, r.Sampling)
		}
	}
	return nil
}

// isKind says whether a file has a kind, or none.
func isKind(k llm.Kind) bool { return k == "" || slices.Contains(llm.Kinds(), k) }

// kinds names all kinds: a or b.
func kinds() string {
	var names []string
	for _, k := range llm.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, " or ")
}

// mergeEntry is an entry of a file merged with the catalogue's entry of the same
// id, which has the values of the members that the file does not set.
func (c *Catalog) mergeEntry(e entry) (Model, error) {
	m, err := e.model(c)
	if err != nil {
		return m, err
	}
	at, known := c.byID[e.ID]
	if !known {
		return m, nil
	}
	old := c.models[at]
	if e.Upstream == "" && e.Provider == "" {
		m.Upstream, m.Kind = old.Upstream, cmp.Or(m.Kind, old.Kind)
		m.Released = cmp.Or(m.Released, old.Released)
	}
	m.Embedded = old.Embedded
	m.Provider = cmp.Or(m.Provider, old.Provider)
	m.Created = cmp.Or(m.Created, old.Created)
	m.Context = cmp.Or(m.Context, old.Context)
	m.MaxOutput = cmp.Or(m.MaxOutput, old.MaxOutput)
	m.Dimensions = cmp.Or(m.Dimensions, old.Dimensions)
	if e.Price == nil {
		m.Price = old.Price
	}
	if m.Fallbacks == nil {
		m.Fallbacks = old.Fallbacks
	}
	if e.State == "" && e.Ends == "" && e.Upstream == "" { // another upstream is another model, whose end is unknown
		m.Ends, m.state = old.Ends, old.state
		m.Successor = cmp.Or(m.Successor, old.Successor)
	}
	return m, nil
}

func (e entry) model(c *Catalog) (Model, error) {
	price, err := e.Price.price()
	if err != nil {
		return Model{}, err
	}
	m := Model{
		ID: e.ID, Kind: e.Kind, Provider: e.Provider, Upstream: e.Upstream, Created: e.Created, Released: e.Created,
		Context: e.Context, MaxOutput: e.MaxOutput, Successor: e.Successor, Fallbacks: e.Fallbacks,
		Price: price, state: e.State, like: e.Like,
		Dimensions: e.Dimensions, Unlisted: e.Unlisted, Guardrail: e.Guardrail,
	}
	if m.Upstream == "" {
		m.Upstream = m.ID
	}
	switch {
	case m.ID == "":
		return m, errors.New("id is missing")
	case !e.Dimensions.sound():
		return m, errors.New("dimensions must be min <= default <= max, all above 0")
	case e.Guardrail != "" && strings.LastIndexByte(e.Guardrail, ':') < 1:
		return m, fmt.Errorf("guardrail must be its id and its version, such as abc123:1 or abc123:DRAFT, not %q", e.Guardrail)
	case m.Created < 0 || m.Context < 0 || m.MaxOutput < 0:
		return m, errors.New("a number is negative")
	case len(e.Upstreams) == 0 && !slices.Contains(c.names, m.Provider) && (m.Provider != "" || !c.has(m.ID)):
		return m, fmt.Errorf("provider must be one of %s, not %q", strings.Join(c.names, ", "), m.Provider)
	case !isKind(e.Kind):
		return m, fmt.Errorf("kind must be %s, not %q", kinds(), e.Kind)
	case !slices.Contains([]string{"", Active, Deprecated, Retired}, e.State):
		return m, fmt.Errorf("state must be active, deprecated or retired, not %q", e.State)
	case slices.Contains(m.Fallbacks, m.ID) || slices.Contains(m.Fallbacks, ""):
		return m, errors.New("fallbacks must be other models")
	case e.Ends == "":
		return m, nil
	}
	ends, err := time.Parse(time.DateOnly, e.Ends)
	if err != nil {
		return m, fmt.Errorf("ends must be a day such as 2026-11-30, not %q", e.Ends)
	}
	m.Ends = ends
	return m, nil
}

// price is the price in micro-dollars; the zero Price of nil.
func (d *dollars) price() (Price, error) {
	if d == nil {
		return Price{}, nil
	}
	p := Price{Known: true, Over: d.Over}
	err := cmp.Or(
		p.Rates.set(InputTokens, firstFee, d.Tokens, perMillion),
		p.Rates.set(firstFee, unitCount, d.Fees, perMillion*perMillion), // of one
		d.factors(&p),
	)
	if err == nil && d.Over < 0 {
		err = errors.New("over is negative")
	}
	if err == nil && d.Above != nil {
		p.Above = new(Price)
		*p.Above, err = d.Above.price()
	}
	if err != nil {
		err = fmt.Errorf("price: %w", err)
	}
	return p, err
}
