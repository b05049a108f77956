// Package registry lists the models that can be called.
package registry

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
)

// Models is the list of models that clients can call: those of the catalogue, and
// those that the configured providers list.
type Models struct {
	catalog *catalog.Catalog
	serves  func(provider string, kind llm.Kind) bool
	now     func() time.Time
	found   atomic.Pointer[map[string][]catalog.Model] // by provider; replaced whole
}

// New lists a catalogue. serves says whether a provider has keys and answers requests
// for models of a kind.
func New(c *catalog.Catalog, serves func(provider string, kind llm.Kind) bool, now func() time.Time) *Models {
	m := &Models{catalog: c, serves: serves, now: now}
	m.found.Store(&map[string][]catalog.Model{})
	return m
}

// Resolve is the model of exactly this id.
func (m *Models) Resolve(id string) (catalog.Model, error) {
	if model, ok := m.catalog.Model(id); ok {
		return model, nil
	}
	found := *m.found.Load()
	for _, provider := range catalog.Providers() {
		if at, ok := slices.BinarySearchFunc(found[provider], id, byID); ok {
			return found[provider][at], nil
		}
	}
	return catalog.Model{}, &api.Error{
		Status: http.StatusNotFound, Type: api.TypeInvalidRequest, Code: api.CodeModelNotFound, Param: "model",
		Message: "the model " + api.Quoted(id) + " does not exist",
	}
}

func byID(m catalog.Model, id string) int { return cmp.Compare(m.ID, id) }

// Successor is the model that replaces a retired one and is not retired itself, if
// there is one.
func (m *Models) Successor(model catalog.Model) (catalog.Model, bool) {
	for range 10 { // a catalogue may contain a cycle
		if model.Successor == "" {
			return catalog.Model{}, false
		}
		next, err := m.Resolve(model.Successor)
		if err != nil {
			return m.catalog.Derive(model.Provider, model.Successor), true
		}
		if next.State(m.now()) != catalog.Retired {
			return next, true
		}
		model = next
	}
	return catalog.Model{}, false
}

// List is every model in the order of the catalogue, then those found at the
// providers.
func (m *Models) List() api.ModelList {
	list := api.ModelList{Object: api.ObjectList, Data: []api.Model{}}
	for _, model := range m.catalog.Models() {
		list.Data = append(list.Data, m.show(model))
	}
	found, listed := *m.found.Load(), map[string]bool{}
	for _, provider := range catalog.Providers() {
		for _, model := range found[provider] {
			if !listed[model.ID] { // Resolve takes the first as well
				list.Data = append(list.Data, m.show(model))
			}
			listed[model.ID] = true
		}
	}
	return list
}

// Get is one model as List shows it.
func (m *Models) Get(id string) (api.Model, error) {
	model, err := m.Resolve(id)
	if err != nil {
		return api.Model{}, err
	}
	return m.show(model), nil
}

func (m *Models) show(model catalog.Model) api.Model {
	shown := api.Model{
		ID: model.ID, Object: api.ObjectModel, Created: model.Created, OwnedBy: model.Provider,
		Permission: []string{}, Root: model.Upstream, Kind: model.Kind, Available: m.serves(model.Provider, model.Kind),
		State: model.State(m.now()), Successor: model.Successor,
		ContextWindow: model.Context, MaxOutputTokens: model.MaxOutput,
	}
	if !model.Ends.IsZero() {
		shown.ShutdownDate = model.Ends.Format(time.DateOnly)
	}
	return shown
}

// Found replaces the models of a provider that are not in the catalogue. It leaves
// out those of a kind that the provider does not serve.
func (m *Models) Found(provider string, listed []providers.Listed) {
	var models []catalog.Model
	for _, l := range listed {
		if _, known := m.catalog.Model(l.ID); known || !sound(l.ID) {
			continue
		}
		model := m.catalog.Derive(provider, l.ID)
		model.Kind = cmp.Or(model.Traits.Kind, l.Kind, model.Kind)
		if !m.serves(provider, model.Kind) {
			continue
		}
		model.Created = max(l.Created, 0)
		model.Context = max(l.Context, 0)
		model.MaxOutput = cmp.Or(max(l.MaxOutput, 0), model.MaxOutput)
		models = append(models, model)
	}
	slices.SortFunc(models, func(a, b catalog.Model) int { return cmp.Compare(a.ID, b.ID) })
	models = slices.CompactFunc(models, func(a, b catalog.Model) bool { return a.ID == b.ID })
	for {
		old := m.found.Load()
		next := map[string][]catalog.Model{provider: models}
		for name, others := range *old {
			if name != provider {
				next[name] = others
			}
		}
		if m.found.CompareAndSwap(old, &next) {
			return
		}
	}
}

// sound says whether a provider's id of a model is usable as an id of the gateway.
func sound(id string) bool {
	const longest = 200
	return id != "" && len(id) <= longest && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}
