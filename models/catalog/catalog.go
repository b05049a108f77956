package catalog

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed catalogue.yaml
var embedded []byte

// Catalog is an immutable list of models and the rules for any model.
type Catalog struct {
	models []Model
	byID   map[string]int
	rules  map[string][]rule
}

type rule struct {
	Match  []string `yaml:"match"`
	Traits `yaml:",inline"`
}

type file struct {
	Models []entry           `yaml:"models"`
	Rules  map[string][]rule `yaml:"rules"`
}

type entry struct {
	ID        string   `yaml:"id"`
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
}

type dollars struct {
	Input      float64  `yaml:"input"`
	Output     float64  `yaml:"output"`
	CacheRead  float64  `yaml:"cache_read"`
	CacheWrite float64  `yaml:"cache_write"`
	CacheHour  float64  `yaml:"cache_write_1h"`
	Over       int64    `yaml:"over"`
	Above      *dollars `yaml:"above"`
}

// Load reads the embedded catalogue and lays the operator's file over it;
// an empty path means that there is none. All faults of a file are reported
// at once.
func Load(overlay string) (*Catalog, error) {
	c := &Catalog{byID: map[string]int{}, rules: map[string][]rule{}}
	if err := c.lay(embedded); err != nil {
		return nil, fmt.Errorf("embedded catalogue: %w", err)
	}
	if overlay == "" {
		return c.completed(), nil
	}
	text, err := os.ReadFile(overlay)
	if err != nil {
		return nil, fmt.Errorf("models file: %w", err)
	}
	if err := c.lay(text); err != nil {
		return nil, fmt.Errorf("models file %s: %w", path.Base(overlay), err)
	}
	return c.completed(), nil
}

func (c *Catalog) lay(text []byte) error {
	var f file
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) { // an empty file changes nothing
		return err
	}
	var faults []error
	for _, provider := range slices.Sorted(maps.Keys(f.Rules)) {
		if !slices.Contains(Providers(), provider) {
			faults = append(faults, fmt.Errorf("rules: unknown provider %q", provider))
			continue
		}
		faults = append(faults, checkRules(provider, f.Rules[provider]))
		c.rules[provider] = append(f.Rules[provider], c.rules[provider]...)
	}
	seen := map[string]bool{}
	for i, e := range f.Models {
		if seen[e.ID] {
			faults = append(faults, fmt.Errorf("models[%d] %s: listed twice", i, e.ID))
			continue
		}
		seen[e.ID] = true
		m, err := e.over(c)
		if err != nil {
			faults = append(faults, fmt.Errorf("models[%d] %s: %w", i, e.ID, err))
			continue
		}
		c.put(m)
	}
	return errors.Join(faults...)
}

func checkRules(provider string, rules []rule) error {
	for i, r := range rules {
		if len(r.Match) == 0 {
			return fmt.Errorf("rules.%s[%d]: match is empty", provider, i)
		}
		for _, pattern := range r.Match {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("rules.%s[%d]: %q is not a pattern", provider, i, pattern)
			}
		}
		if !slices.Contains([]string{SamplingBoth, SamplingOne, SamplingNone}, r.Sampling) {
			return fmt.Errorf("rules.%s[%d]: sampling must be both, one or none, not %q", provider, i, r.Sampling)
		}
	}
	return nil
}

func (c *Catalog) put(m Model) {
	if at, ok := c.byID[m.ID]; ok {
		c.models[at] = m
		return
	}
	c.byID[m.ID] = len(c.models)
	c.models = append(c.models, m)
}

// over is the entry laid over the one of the same id: what it does not say
// stays.
func (e entry) over(c *Catalog) (Model, error) {
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
		m.Upstream = old.Upstream
	}
	m.Provider = cmp.Or(m.Provider, old.Provider)
	m.Created = cmp.Or(m.Created, old.Created)
	m.Context = cmp.Or(m.Context, old.Context)
	m.MaxOutput = cmp.Or(m.MaxOutput, old.MaxOutput)
	if e.Price == nil {
		m.Price = old.Price
	}
	if m.Fallbacks == nil {
		m.Fallbacks = old.Fallbacks
	}
	if e.State == "" && e.Ends == "" && e.Upstream == "" { // another upstream is another model: it has no end that is known
		m.Ends, m.state = old.Ends, old.state
		m.Successor = cmp.Or(m.Successor, old.Successor)
	}
	return m, nil
}

func (e entry) model(c *Catalog) (Model, error) {
	m := Model{
		ID: e.ID, Provider: e.Provider, Upstream: e.Upstream, Created: e.Created,
		Context: e.Context, MaxOutput: e.MaxOutput, Successor: e.Successor, Fallbacks: e.Fallbacks,
		Price: e.Price.micro(), state: e.State,
	}
	if m.Upstream == "" {
		m.Upstream = m.ID
	}
	switch {
	case m.ID == "":
		return m, errors.New("id is missing")
	case m.Created < 0 || m.Context < 0 || m.MaxOutput < 0 || m.Price.negative():
		return m, errors.New("a figure is negative")
	case !slices.Contains(Providers(), m.Provider) && (m.Provider != "" || !c.has(m.ID)):
		return m, fmt.Errorf("provider must be one of %s, not %q", strings.Join(Providers(), ", "), m.Provider)
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

func (d *dollars) micro() Price {
	if d == nil {
		return Price{}
	}
	p := Price{
		Known: true, Input: micro(d.Input), Output: micro(d.Output),
		CacheRead: micro(d.CacheRead), CacheWrite: micro(d.CacheWrite), CacheWriteHour: micro(d.CacheHour), Over: d.Over,
	}
	if d.Above != nil {
		above := d.Above.micro()
		p.Above = &above
	}
	return p
}

func (c *Catalog) has(id string) bool {
	_, ok := c.byID[id]
	return ok
}

func micro(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }

// Models yields every entry in the order of the catalogue.
func (c *Catalog) Models() []Model {
	return slices.Clone(c.models)
}

// Model is the entry of exactly this id.
func (c *Catalog) Model(id string) (Model, bool) {
	at, ok := c.byID[id]
	if !ok {
		return Model{}, false
	}
	return c.models[at], true
}

// Derive makes the entry of a model that no catalogue lists, from its
// provider's rules: one found by discovery, or a successor.
func (c *Catalog) Derive(provider, id string) Model {
	return c.complete(Model{ID: id, Provider: provider, Upstream: id})
}

// completed is the catalogue once all rules are known.
func (c *Catalog) completed() *Catalog {
	for i, m := range c.models {
		c.models[i] = c.complete(m)
	}
	return c
}

func (c *Catalog) complete(m Model) Model {
	m.Traits = c.traits(m.Provider, m.Upstream)
	if m.MaxOutput == 0 {
		m.MaxOutput = m.Traits.MaxOutput
	}
	return m
}

func (c *Catalog) traits(provider, upstream string) Traits {
	for _, r := range c.rules[provider] {
		for _, pattern := range r.Match {
			if ok, _ := path.Match(pattern, upstream); ok {
				return r.Traits
			}
		}
	}
	return Traits{Sampling: SamplingBoth}
}
