package registry

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/internal/spelling"
	"modelgateway/llm"
)

// via begins the names under which Claude Code shows models of others: it leaves out every name without claude or
// anthropic.
const via = "claude-via-"

// Via is the name of a model that Claude Code shows.
func Via(name string) string {
	if strings.Contains(name, "claude") || strings.Contains(name, "anthropic") {
		return name
	}
	return via + name
}

// Meant is the name of a model that is meant by one that Via may have made. An alias may have such a name itself.
func (m *Models) Meant(name string) string {
	rest, ok := strings.CutPrefix(name, via)
	if !ok || m.Aliases.Has(name) {
		return name
	}
	if _, err := m.Resolve(rest); err != nil {
		return name
	}
	return rest
}

// Resolve returns the model that a client means by a name: the target of an alias; the
// model of exactly this id in the catalogue, or listed by a provider; provider/model; the
// target of an alias with a pattern; a model that a configured provider sells, or whose
// name is of its family. A pattern comes before a listed model that cannot be served. Some
// clients put models/ before a name and the size of a window, as in [1m], behind it: both
// are cut off. The error is a 404 that says where the list is, and which names are near.
func (m *Models) Resolve(name string) (*catalog.Model, error) {
	id := strings.TrimPrefix(name, "models/")
	if at := strings.LastIndexByte(id, '['); at > 0 && strings.HasSuffix(id, "m]") {
		id = id[:at]
	}
	if target, ok := m.Aliases.target(id); ok {
		return m.resolve(name, target)
	}
	target, pattern := m.Aliases.match(id)
	if model, ok := m.listed(id); ok && (!pattern || m.usable(model)) {
		return model, nil
	}
	if pattern && !m.prefixed(id) {
		return m.resolve(name, target)
	}
	return m.resolve(name, id)
}

// prefixed reports whether a name begins with that of a provider.
func (m *Models) prefixed(id string) bool {
	provider, _, ok := strings.Cut(id, "/")
	return ok && slices.Contains(m.catalog.Providers(), provider)
}

// resolve is Resolve for a name that is no alias. name is what the client sent.
func (m *Models) resolve(name, id string) (*catalog.Model, error) {
	model, ok := m.find(id)
	if !ok {
		return nil, m.notFound(name, id)
	}
	return model, nil
}

// find returns the model of a name that is no alias.
func (m *Models) find(id string) (*catalog.Model, bool) {
	if model, ok := m.listed(id); ok {
		return model, true
	}
	if m.prefixed(id) {
		provider, rest, _ := strings.Cut(id, "/")
		return m.of(provider, rest)
	}
	for _, provider := range m.catalog.Providers() {
		if model, ok := m.sold(provider, id); ok {
			return model, true
		}
	}
	return nil, false
}

// of returns the model that one provider has under this id, without its other upstreams.
func (m *Models) of(provider, id string) (*catalog.Model, bool) {
	if model, ok := m.at(provider, id); ok || !m.catalog.Open(provider) || !sound(id) {
		return model, ok
	}
	return m.catalog.Derive(provider, id), true // a local server may have got the model a moment ago
}

// at returns the model that a provider has in the catalogue, has listed or sells under this id.
func (m *Models) at(provider, id string) (*catalog.Model, bool) {
	if model, ok := m.catalog.At(provider, id); ok {
		return model, true
	}
	if model, ok := m.foundAt(provider, id); ok {
		return model, true
	}
	return m.sold(provider, id)
}

// inOrder returns the model that the providers of Order have under a name: at the first that is
// configured, with the others as its other upstreams. An entry of the models file has its own.
func (m *Models) inOrder(id string) (*catalog.Model, bool) {
	if entry, ok := m.catalog.Model(id); ok && !entry.Embedded {
		return nil, false
	}
	var at []catalog.Model
	for _, provider := range m.Order {
		if model, ok := m.at(provider, id); ok && m.serves(provider, model.Kind) {
			at = append(at, *model)
		}
	}
	if len(at) == 0 {
		return nil, false
	}
	first := at[0]
	first.Others = at[1:]
	return &first, true
}

// listed returns the model of exactly this id in the catalogue, or that a provider
// has listed. One that can be served is preferred. What a provider lists does not take the
// name of another one's model.
func (m *Models) listed(id string) (*catalog.Model, bool) {
	if len(m.Order) > 0 {
		if model, ok := m.inOrder(id); ok {
			return model, true
		}
	}
	model, known := m.catalog.Model(id)
	if known && m.usable(model) {
		return model, true
	}
	for _, provider := range m.catalog.Providers() {
		if found, ok := m.foundAt(provider, id); ok && !m.another(provider, id) && m.ownerOf(provider, id) == "" {
			return found, true
		}
	}
	return model, known
}

// foundAt returns the model that a provider has listed under this id.
func (m *Models) foundAt(provider, id string) (*catalog.Model, bool) {
	found := (*m.found.Load())[provider].models
	at, ok := slices.BinarySearchFunc(found, id, byID)
	if !ok {
		return nil, false
	}
	return found[at], true
}

// ownerOf is the provider whose model is called by an id that this provider has listed; empty:
// none.
func (m *Models) ownerOf(provider, id string) string { return (*m.found.Load())[provider].taken[id] }

// owner is the configured provider whose model has an id that this one lists: by the
// catalogue, because it is known to sell it, or because its models have such names. It is
// empty where there is none, or where the catalogue has the model at this provider as well.
func (m *Models) owner(provider, id string) string {
	if model, ok := m.catalog.Model(id); ok && m.usable(model) {
		if slices.ContainsFunc(model.Others, func(other catalog.Model) bool { return other.Provider == provider }) {
			return ""
		}
		return model.Provider
	}
	for _, provider := range catalog.Providers() {
		if _, ok := m.sold(provider, id); ok {
			return provider
		}
	}
	return ""
}

// another reports whether an id that a provider lists begins with the name of another
// one that is configured, as an id of a provider that sells the models of others may.
func (m *Models) another(provider, id string) bool {
	prefix, _, ok := strings.Cut(id, "/")
	return ok && prefix != provider && slices.Contains(m.catalog.Providers(), prefix) && m.serves(prefix, llm.KindChat)
}

// usable reports whether a model can be served by one of its upstreams.
func (m *Models) usable(model *catalog.Model) bool {
	return m.serves(model.Provider, model.Kind) ||
		slices.ContainsFunc(model.Others, func(other catalog.Model) bool { return m.serves(other.Provider, other.Kind) })
}

// sold returns the model of a configured provider that is known to sell it, or whose
// family its name is of.
func (m *Models) sold(provider, id string) (*catalog.Model, bool) {
	if !sound(id) {
		return nil, false
	}
	model, ok := m.catalog.Named(provider, id)
	return model, ok && m.serves(provider, model.Kind)
}

// Check checks an entry of a list of models: the name of a model, or the beginning of one and a * at
// its end, with or without the provider. Its error is for the client. A name of a family that no list
// has is right: its provider may sell the model before the lists have it.
func (m *Models) Check(entry string) error {
	prefix, open := strings.CutSuffix(entry, "*")
	if !open {
		_, err := m.Resolve(entry)
		return err
	}
	if !m.begins(prefix) {
		return api.Invalid(api.CodeInvalidValue, "model", "no model has a name that begins with %s", api.Quoted(prefix))
	}
	return nil
}

// begins reports whether the name of a model begins so.
func (m *Models) begins(prefix string) bool {
	if provider, whole := strings.CutSuffix(prefix, "/"); whole && m.catalog.IsOwn(provider) {
		return true // it may list its models later
	}
	return prefix != "" && slices.ContainsFunc(append(m.all(), m.catalog.Sold()...), func(model *catalog.Model) bool {
		return strings.HasPrefix(model.ID, prefix) || strings.HasPrefix(model.FullName(), prefix)
	})
}

// Lists reports whether a model is in the catalogue or one that a provider sells, or has
// been listed by its provider.
func (m *Models) Lists(id string) bool {
	_, ok := m.listed(id)
	return ok || slices.ContainsFunc(m.catalog.Sold(), func(sold *catalog.Model) bool { return sold.ID == id })
}

// NotFound answers for a name that means no model.
func (m *Models) NotFound(name string) error { return m.notFound(name, name) }

// notFound answers for a name that means no model. id is the part of it that is
// compared with the names of models.
func (m *Models) notFound(name, id string) error {
	missing, rest, named := strings.Cut(id, "/")
	if m.prefixed(id) {
		id = rest
	}
	message := "the model " + api.Quoted(name) + " does not exist"
	if m.KeySetting != nil {
		for _, provider := range m.catalog.Providers() {
			if m.catalog.Names(provider, id) && !m.serves(provider, llm.KindChat) {
				missing, named = provider, true
			}
		}
		if setting := m.KeySetting(missing); named && setting != "" && !m.serves(missing, llm.KindChat) {
			message = fmt.Sprintf("the model %s cannot be used: %s is not configured: an operator has to set %s%s",
				api.Quoted(name), missing, setting, m.Trial)
		}
	}
	switch near := m.near(id); len(near) {
	case 0:
	case 1:
		message += "; a similar name is " + near[0]
	default:
		message += "; similar names are " + strings.Join(near, " and ")
	}
	return &api.Error{
		Status: http.StatusNotFound, Type: api.TypeInvalidRequest, Code: api.CodeModelNotFound, Param: "model", Model: name,
		Message: message + "; GET /v1/models?kind=all lists all models",
	}
}

// near returns the two names of models that can be used and that a misspelt one is
// nearest to.
func (m *Models) near(id string) []string {
	var usable []string
	seen := map[string]bool{}
	for _, model := range append(m.all(), m.catalog.Sold()...) {
		if m.usable(model) && model.State(m.now()) != catalog.Retired && !seen[model.ID] {
			seen[model.ID] = true
			usable = append(usable, model.ID)
		}
	}
	const two = 2
	return spelling.Nearest(strings.ToLower(id), usable, two)
}
