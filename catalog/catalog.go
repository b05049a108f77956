package catalog

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"modelgateway/llm"
)

//go:embed catalogue.yaml
var embedded []byte

// Catalog is an immutable list of models, and the rules that give any model its
// traits.
type Catalog struct {
	models []Model
	byID   map[string]int
	rules  map[string][]Rule
	facts  facts

	derived *derived          // from facts
	aliases map[string]string // of the operator's file

	names     []string // of all providers, in the order in which they are shown
	own       []Provider
	ownModels map[ownID]*Model // those that the file lists under a provider
	presets   []Preset
}

// Load reads the embedded catalogue and merges the operator's file into it; with an
// empty path there is no such file. The file may name the presets, of which those that
// are on need no file. All errors of a file are reported together.
func Load(overlay string, presets ...Preset) (*Catalog, error) {
	c := &Catalog{byID: map[string]int{}, rules: map[string][]Rule{}, names: Providers(), derived: newDerived()}
	c.addPresets(presets)
	var err error
	if c.facts, err = readFacts(); err != nil {
		return nil, err
	}
	if err := c.merge(embedded); err != nil {
		return nil, fmt.Errorf("embedded catalogue: %w", err)
	}
	for i := range c.models {
		c.models[i].Embedded = true
	}
	c.addExtras()
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

// Aliases are the aliases of the operator's file: a name, or a pattern with *, and the
// name of its model.
func (c *Catalog) Aliases() map[string]string {
	all := map[string]string{}
	maps.Copy(all, c.aliases)
	return all
}

// Models returns all entries in the order of the catalogue.
func (c *Catalog) Models() []*Model {
	all := make([]*Model, len(c.models))
	for i := range c.models {
		all[i] = &c.models[i]
	}
	return all
}

// Model is the entry with exactly this id. Like every model that the catalogue hands out
// as a pointer, it is that of all callers: one who changes it copies it first.
func (c *Catalog) Model(id string) (*Model, bool) {
	at, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	return &c.models[at], true
}

// Upstream is the model that the API of a provider of the embedded catalogue has under a name: that of an entry of this
// provider, or of one of the operator's with the same API, else one that the provider is known to sell. Of several it is
// one that is served at this time.
func (c *Catalog) Upstream(api, name string, now time.Time) (found *Model, ok bool) {
	take := func(m *Model) {
		own := c.provider(m.Provider)
		speaks := m.Provider == api || own != nil && own.Type == api
		if speaks && m.Upstream == name && (found == nil || found.State(now) == Retired) {
			found = m
		}
	}
	for i := range c.models {
		take(&c.models[i])
		for at := range c.models[i].Others {
			take(&c.models[i].Others[at])
		}
	}
	for _, m := range c.ownModels {
		take(m)
	}
	if _, exact := c.facts.find(api, name); found == nil && exact {
		return c.Named(api, name)
	}
	return found, found != nil
}

// Derive returns an entry for a model that is not in the catalogue, with what is known
// of it and the traits of its provider's rules: one found by discovery, or a successor.
func (c *Catalog) Derive(provider, id string) *Model {
	m := c.addTraits(Model{ID: id, Provider: provider, Upstream: id})
	return &m
}

// withTraits sets the traits of all models, once all rules have been read.
func (c *Catalog) withTraits() *Catalog {
	for i, m := range c.models {
		c.models[i] = c.addTraits(m)
		for at, other := range m.Others {
			m.Others[at] = c.addTraits(other)
		}
	}
	for id, m := range c.ownModels {
		with := c.addTraits(*m)
		c.ownModels[id] = &with
	}
	return c
}

func (c *Catalog) addTraits(m Model) Model {
	c.learn(&m)
	if p := c.provider(m.Provider); p != nil && !m.Price.Known {
		if preset := c.preset(p.Preset); preset != nil && preset.Free {
			m.Price = Price{Known: true}
		}
	}
	m.Traits = c.traits(m.Provider, c.nameOf(m))
	m.Kind = cmp.Or(m.Kind, m.Traits.Kind, llm.KindChat)
	m.Features = m.Features.withTraits(m.Traits)
	if m.MaxOutput == 0 {
		m.MaxOutput = m.Traits.MaxOutput
	}
	return m
}

// nameOf is the name by which the traits and facts of a model are found. A deployment of
// a provider of the operator's may have any name: then it is the model's id, if that is
// known.
func (c *Catalog) nameOf(m Model) string {
	switch own := c.provider(m.Provider); {
	case m.like != "":
		return m.like
	case own == nil || !c.hasFacts(own) || c.Sells(m.Provider, m.Upstream) || !c.Sells(m.Provider, m.ID):
		return m.Upstream
	}
	return m.ID
}

// traits are those of the first rule that matches. A provider of the operator's has those
// of its type after its own.
func (c *Catalog) traits(provider, upstream string) Traits {
	rules, names := [2][]Rule{c.rules[provider]}, [2]string{upstream, upstream}
	if own := c.provider(provider); own != nil {
		rules[1] = c.rules[own.Type]
		if owner, name := c.owner(own, upstream); owner != "" {
			rules[1], names[1] = c.rules[owner], name
		}
	}
	for at, some := range rules { // not joined: this is done for each call of a model that is not listed
		for i := range some {
			if matchesAny(some[i].Match, names[at]) {
				return some[i].Traits
			}
		}
	}
	return Traits{Sampling: SamplingBoth, Thinking: []string{ThinkEffort}, ThinkingBy: ThinkOn}
}

// matchesAny reports whether a model's id matches one of the patterns: see path.Match.
func matchesAny(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, id)
		return ok
	})
}
