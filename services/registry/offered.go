package registry

import (
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

// Offered is a chat model that a caller can use now, under one of its names.
type Offered struct {
	*catalog.Model
	State string // active or deprecated
	Can   providers.Abilities
}

// Offered are the chat models that a caller can use, in the order of List. The id of an
// alias is its name, and Upstream the model that it means.
func (m *Models) Offered(q Query) []Offered {
	var all []Offered
	for _, model := range m.all() {
		if offered, ok := m.offered(model, q); ok {
			all = append(all, offered)
		}
	}
	return all
}

// Offer is the model of a name as Offered has it. It fails as Resolve does, also for a
// model that the caller cannot use.
func (m *Models) Offer(name string, q Query) (Offered, error) {
	model, err := m.Resolve(name)
	if err != nil {
		return Offered{}, err
	}
	if model.ID != name && m.Aliases.Has(name) {
		named := *model
		named.Upstream, named.ID = model.ID, name
		model = &named
	}
	offered, ok := m.offered(model, q)
	if !ok {
		return Offered{}, m.NotFound(name)
	}
	return offered, nil
}

func (m *Models) offered(model *catalog.Model, q Query) (o Offered, ok bool) {
	shown := m.show(model, q)
	return Offered{Model: model, State: shown.State, Can: m.Abilities[model.Provider]}, shown.Available && model.Kind == llm.KindChat
}
