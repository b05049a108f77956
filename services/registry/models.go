// Package registry lists the models that can be called.
package registry

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

// Models is the list of models that clients can call: those of the catalogue, and
// those that the configured providers list.
type Models struct {
	catalog *catalog.Catalog
	serves  func(provider string, kind llm.Kind) bool
	now     func() time.Time
	// KeySetting is the name of the setting of a provider's key, for messages. Set it
	// before the first use; nil names none.
	KeySetting func(provider string) string
	// Trial says how to try the gateway without the key of any provider, for messages. Set it
	// before the first use; empty where a provider is configured.
	Trial string
	// Status is the health of a configured provider, and empty for another one. Set it before
	// the first use; nil shows none.
	Status func(provider string) string
	// Abilities are those of the providers that are configured, and of the drivers' own providers.
	// Set it before the first use.
	Abilities map[string]providers.Abilities
	// All lists every model that the configured providers are known to sell. Set it before
	// the first use.
	All bool
	// Aliases are other names of models; with AliasesOnly the list has nothing else. Set both
	// before the first use.
	Aliases     *Aliases
	AliasesOnly bool
	// Order are the providers that serve a model under its plain name. Set it before the first use.
	Order []string

	found atomic.Pointer[map[string]found] // by provider; replaced whole
}

// found is what a provider has listed.
type found struct {
	listed []providers.Listed
	models []*catalog.Model  // of them those that the catalogue does not have, by id
	taken  map[string]string // ids among models that mean another provider's model: that provider
}

// New lists a catalogue. serves says whether a provider has keys and answers requests
// for models of a kind.
func New(c *catalog.Catalog, serves func(provider string, kind llm.Kind) bool, now func() time.Time) *Models {
	m := &Models{catalog: c, serves: serves, now: now}
	m.found.Store(&map[string]found{})
	return m
}

func byID(m *catalog.Model, id string) int { return cmp.Compare(m.ID, id) }

// Successor is the model that replaces a retired one and is not retired itself, if
// there is one.
func (m *Models) Successor(model *catalog.Model) (*catalog.Model, bool) {
	for range 10 { // a catalogue may contain a cycle
		if model.Successor == "" {
			return nil, false
		}
		next, err := m.resolve(model.Successor, model.Successor)
		if err != nil {
			return m.catalog.Derive(model.Provider, model.Successor), true
		}
		if next.State(m.now()) != catalog.Retired {
			return next, true
		}
		model = next
	}
	return nil, false
}

// Query selects models of a list.
type Query struct {
	Refused   func(names ...string) bool // the caller may not use a model with these names; nil refuses none
	Kind      llm.Kind                   // empty: of all kinds
	Available bool                       // leave out those that are not available, and nothing else
	All       bool                       // also those that are not available and not of the embedded catalogue
}

// selects says whether a list has a model.
func (m *Models) selects(q Query, shown *api.Model) bool {
	if q.Kind != "" && shown.Kind != q.Kind {
		return false
	}
	if shown.Available || q.Available {
		return shown.Available
	}
	own, ok := m.catalog.Model(shown.ID)
	return q.All || ok && own.Embedded
}

// List is the models that can be called and those of the embedded catalogue, or what q selects:
// those that are available in the order of the catalogue and as their providers listed them, then the
// others, the retired ones last.
func (m *Models) List(q Query) api.ModelList {
	list := api.ModelList{Object: api.ObjectList, Data: []api.Model{}, PricesDate: m.FactsDate()}
	more := m.explainer()
	for _, model := range m.all() {
		if shown := m.show(model, q); m.selects(q, &shown) {
			more.explain(&shown, model)
			list.Data = append(list.Data, shown)
		}
	}
	slices.SortStableFunc(list.Data, func(a, b api.Model) int { return cmp.Compare(place(&a), place(&b)) })
	return list
}

func place(m *api.Model) int {
	switch {
	case m.State == catalog.Retired:
		return 2
	case !m.Available:
		return 1
	}
	return 0
}

// FactsDate is the day of the newest list of prices.
func (m *Models) FactsDate() string { return m.catalog.FactsDate() }

// all is what the list has.
func (m *Models) all() []*catalog.Model { return m.known(m.All) }

// known is every alias, the listed models of the catalogue, those found at the providers
// and, with everything, all others that the configured providers sell.
func (m *Models) known(everything bool) []*catalog.Model {
	aliased := m.aliased()
	if m.AliasesOnly {
		return aliased
	}
	listed := map[string]bool{}
	var all []*catalog.Model
	add := func(models []*catalog.Model) {
		for _, model := range models {
			if !listed[model.ID] { // Resolve takes the first as well
				listed[model.ID] = true
				all = append(all, model)
			}
		}
	}
	own := m.catalog.Models()
	add(aliased)
	add(slices.DeleteFunc(slices.Clone(own), func(model *catalog.Model) bool { return model.Unlisted }))
	found := *m.found.Load()
	for _, provider := range m.catalog.Providers() {
		add(slices.DeleteFunc(slices.Clone(found[provider].models), func(model *catalog.Model) bool {
			return found[provider].taken[model.ID] != ""
		}))
	}
	if everything {
		sold := append(own, m.catalog.Sold()...)
		add(slices.DeleteFunc(sold, func(model *catalog.Model) bool { return !m.serves(model.Provider, model.Kind) }))
	}
	return all
}

// Available is how many models of each provider are listed and available, aliases aside.
func (m *Models) Available() map[string]int {
	counts := map[string]int{}
	for _, model := range m.all() {
		if _, alias := m.Aliases.target(model.ID); !alias && m.usable(model) && model.State(m.now()) != catalog.Retired {
			counts[model.Provider]++
		}
	}
	return counts
}

// Get is one model as List shows it.
func (m *Models) Get(id string, q Query) (api.Model, error) {
	model, err := m.Resolve(id)
	if err != nil {
		return api.Model{}, err
	}
	shown := m.show(model, q)
	m.explainer().explain(&shown, model)
	return shown, nil
}

func (m *Models) show(model *catalog.Model, q Query) api.Model {
	shown := api.Model{
		ID: model.ID, Object: api.ObjectModel, Created: model.Created, OwnedBy: model.Provider,
		Permission: []string{}, Root: model.Upstream, Kind: model.Kind, State: model.State(m.now()), Successor: model.Successor,
		ContextWindow: model.Context, MaxOutputTokens: model.MaxOutput, Input: model.Input, Output: model.Output,
		Price: showPrice(model.PriceAt(m.now()), model.PriceOf),
		Tools: model.Features.Tools, Structured: model.Features.Structured, Reasoning: model.Features.Reasoning,
	}
	if model.Released > 0 {
		shown.ReleaseDate = time.Unix(model.Released, 0).UTC().Format(time.DateOnly)
	}
	refused := q.Refused != nil && q.Refused(model.ID, model.Upstream, model.FullName())
	shown.Available = m.usable(model) && shown.State != catalog.Retired && !refused
	if d := model.Dimensions; d != (catalog.Dimensions{}) {
		shown.Dimensions = &api.ModelDimensions{Default: d.Default, Min: d.Min, Max: d.Max}
	}
	if !model.Ends.IsZero() {
		shown.ShutdownDate = model.Ends.Format(time.DateOnly)
	}
	return shown
}

// Found replaces the models of a provider that are not in the catalogue. It leaves
// out those of a kind that the provider does not serve. The result are the ids by which
// another configured provider's model is called: each with that provider.
func (m *Models) Found(provider string, listed []providers.Listed) (taken map[string]string) {
	var models []*catalog.Model
	for _, l := range listed {
		entry, known := m.catalog.Model(l.ID)
		switch own := m.catalog.IsOwn(provider); {
		case known && !own && !entry.Unlisted || !sound(l.ID):
			continue
		case !known || own:
			entry = m.catalog.Derive(provider, l.ID)
		}
		model := *entry
		model.Kind = cmp.Or(model.Traits.Kind, l.Kind, model.Kind)
		if !m.serves(provider, model.Kind) {
			continue
		}
		model.Created = cmp.Or(max(l.Created, 0), model.Created)
		model.Context = cmp.Or(max(l.Context, 0), model.Context)
		model.MaxOutput = cmp.Or(max(l.MaxOutput, 0), model.MaxOutput)
		models = append(models, &model)
	}
	slices.SortFunc(models, func(a, b *catalog.Model) int { return cmp.Compare(a.ID, b.ID) })
	models = slices.CompactFunc(models, func(a, b *catalog.Model) bool { return a.ID == b.ID })
	taken = map[string]string{}
	for _, model := range models {
		if owner := m.owner(provider, model.ID); owner != "" && owner != provider {
			taken[model.ID] = owner
		}
	}
	for {
		old := m.found.Load()
		next := map[string]found{provider: {listed, models, taken}}
		for name, others := range *old {
			if name != provider {
				next[name] = others
			}
		}
		if m.found.CompareAndSwap(old, &next) {
			return taken
		}
	}
}

// Suited are the ids of at most limit models of a kind that can be used, of all providers.
func (m *Models) Suited(kind llm.Kind, limit int, refused func(names ...string) bool) []string {
	var ids []string
	for _, model := range m.known(true) {
		if len(ids) < limit && model.Kind == kind && m.usable(model) && model.State(m.now()) == catalog.Active &&
			!refused(model.ID, model.Upstream, model.FullName()) {
			ids = append(ids, model.ID)
		}
	}
	return ids
}

// Inherit takes over what the providers have listed for another list of models.
func (m *Models) Inherit(from *Models) {
	for provider, last := range *from.found.Load() {
		m.Found(provider, last.listed)
	}
}

// sound says whether a provider's id of a model is usable as an id of the gateway.
func sound(id string) bool {
	const longest = 200
	return id != "" && len(id) <= longest && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}

// showPrice is a price in the form of the API; nil for none.
func showPrice(p catalog.Price, of string) *api.ModelPrice {
	if !p.Known {
		return nil
	}
	rate := func(u catalog.Unit) api.USD { return api.USD(p.Rates[u]) }
	shown := &api.ModelPrice{
		Input: rate(catalog.InputTokens), Output: rate(catalog.OutputTokens), Reasoning: rate(catalog.ReasoningTokens),
		CacheRead: rate(catalog.CachedTokens), CacheWrite: rate(catalog.CacheWriteTokens),
		CacheWriteHour: rate(catalog.CacheWriteHourTokens), Audio: rate(catalog.AudioTokens), Of: of, Fees: p.Rates.Fees(),
	}
	f := p.Factors
	shown.Multipliers = api.ModelMultipliers{
		Priority: api.USD(f.Priority), Flex: api.USD(f.Flex), Batch: api.USD(f.Batch), Fast: api.USD(f.Fast), US: api.USD(f.US),
	}
	if p.Above != nil {
		above := *p.Above
		above.Factors = catalog.Factors{} // as of the price itself
		shown.Over, shown.Above = p.Over, showPrice(above, "")
		shown.Above.Fees = nil
	}
	return shown
}

// hasFound reports whether models of a provider have been found.
func (m *Models) hasFound(provider string) bool { return len((*m.found.Load())[provider].models) > 0 }
