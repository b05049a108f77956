package catalog

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path"
	"slices"

	"modelgateway/models/llm"
)

//go:embed catalogue.yaml
var embedded []byte

// Catalog is an immutable list of models, and the rules that give any model its
// traits.
type Catalog struct {
	models []Model
	byID   map[string]int
	rules  map[string][]rule
}

// Load reads the embedded catalogue and merges the operator's file into it; with an
// empty path there is no such file. All errors of a file are reported together.
func Load(overlay string) (*Catalog, error) {
	c := &Catalog{byID: map[string]int{}, rules: map[string][]rule{}}
	if err := c.merge(embedded); err != nil {
		return nil, fmt.Errorf("embedded catalogue: %w", err)
	}
	if overlay == "" {
		return c.withTraits(), nil
	}
	text, err := os.ReadFile(overlay)
	if err != nil {
		return nil, fmt.Errorf("models file: %w", err)
	}
	if err := c.merge(text); err != nil {
		return nil, fmt.Errorf("models file %s: %w", path.Base(overlay), err)
	}
	if info, err := os.Stat(overlay); err == nil {
		c.date(info.ModTime().Unix())
	}
	return c.withTraits(), nil
}

// date gives the models that say no time of their creation that of their file:
// clients sort by it, and 0 is a time in 1970.
func (c *Catalog) date(created int64) {
	for i := range c.models {
		c.models[i].Created = cmp.Or(c.models[i].Created, created)
	}
}

func (c *Catalog) set(m Model) {
	if at, ok := c.byID[m.ID]; ok {
		c.models[at] = m
		return
	}
	c.byID[m.ID] = len(c.models)
	c.models = append(c.models, m)
}

func (c *Catalog) has(id string) bool {
	_, ok := c.byID[id]
	return ok
}

// Models returns all entries in the order of the catalogue.
func (c *Catalog) Models() []Model {
	return slices.Clone(c.models)
}

// Model is the entry with exactly this id.
func (c *Catalog) Model(id string) (Model, bool) {
	at, ok := c.byID[id]
	if !ok {
		return Model{}, false
	}
	return c.models[at], true
}

// Derive returns an entry for a model that is not in the catalogue, with the traits
// of its provider's rules: one found by discovery, or a successor.
func (c *Catalog) Derive(provider, id string) Model {
	return c.addTraits(Model{ID: id, Provider: provider, Upstream: id})
}

// withTraits sets the traits of all models, once all rules have been read.
func (c *Catalog) withTraits() *Catalog {
	for i, m := range c.models {
		c.models[i] = c.addTraits(m)
	}
	return c
}

func (c *Catalog) addTraits(m Model) Model {
	m.Traits = c.traits(m.Provider, m.Upstream)
	m.Kind = cmp.Or(m.Kind, m.Traits.Kind, llm.KindChat)
	if m.MaxOutput == 0 {
		m.MaxOutput = m.Traits.MaxOutput
	}
	return m
}

// traits are those of the first rule that matches.
func (c *Catalog) traits(provider, upstream string) Traits {
	for _, r := range c.rules[provider] {
		for _, pattern := range r.Match {
			if ok, _ := path.Match(pattern, upstream); ok {
				return r.Traits
			}
		}
	}
	return Traits{Sampling: SamplingBoth, Thinking: []string{ThinkEffort}, ThinkingBy: ThinkOn}
}
