package wire

import (
	"cmp"
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
)

// Model is a model of a provider.
type Model struct {
	ID string
	// Alias is another name that requests may use; it is not listed.
	Alias string
	// Snapshot is the name in answers, where that is not the id. Requests may use
	// it; it is not listed.
	Snapshot string
	Name     string
	Created  int64 // Unix seconds
	Context  int   // tokens in
	Output   int   // tokens out
	// Embeds marks a model that is listed but does not chat.
	Embeds bool
	// Retired models are listed and served no more.
	Retired bool
	// Blind models take no pictures.
	Blind bool
}

// AnswersAs is the name of the model in answers.
func (m Model) AnswersAs() string {
	if m.Snapshot != "" {
		return m.Snapshot
	}
	return m.ID
}

// Recently dates the models whose release date is not public: 2026-01-01.
const Recently = 1767225600

// Find returns the model of an id, alias or snapshot that a provider lists, or that the catalogue has of it. Known says
// that there is or was one: it is not served while m.Retired.
func (o Options) Find(provider string, listed []Model, id string) (m Model, known bool) {
	at := slices.IndexFunc(listed, func(m Model) bool { return id != "" && (id == m.ID || id == m.Alias || id == m.Snapshot) })
	m = Model{ID: id, Name: id, Created: Recently, Context: 1048576, Output: 128000}
	if at >= 0 {
		m = listed[at]
	}
	sold, ok := o.Catalog().Upstream(provider, m.ID, o.Now())
	if !ok {
		return m, at >= 0
	}
	if at < 0 {
		m.Created, m.Embeds = cmp.Or(sold.Created, m.Created), sold.Kind == llm.KindEmbedding
		m.Context, m.Output = cmp.Or(int(sold.Context), m.Context), cmp.Or(int(sold.MaxOutput), m.Output)
	}
	m.Retired = sold.State(o.Now()) == catalog.Retired
	m.Blind = sold.Input != nil && !slices.Contains(sold.Input, "image")
	return m, true
}

// Served are the models of a list that are not retired.
func (o Options) Served(provider string, listed []Model) []Model {
	return slices.DeleteFunc(slices.Clone(listed), func(m Model) bool {
		m, _ = o.Find(provider, listed, m.ID)
		return m.Retired
	})
}

// Page returns at most size models of a list, from the one behind the id after
// on, and whether more follow. An id that is not listed is the list's beginning.
func Page(listed []Model, after string, size int) (page []Model, more bool) {
	for i, m := range listed {
		if after != "" && m.ID == after {
			listed = listed[i+1:]
			break
		}
	}
	if len(listed) > size {
		return listed[:size], true
	}
	return listed, false
}
