package wire

import "strings"

// Model is a model that a provider lists; retired ones are among them.
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

// Find returns the listed model of an id, alias or snapshot. It takes any id of the
// provider's families, so that models newer than the list can be asked.
func Find(listed []Model, id string, families []string) (Model, bool) {
	for _, m := range listed {
		if id != "" && (id == m.ID || id == m.Alias || id == m.Snapshot) {
			return m, true
		}
	}
	for _, family := range families {
		if strings.HasPrefix(id, family) && !strings.HasSuffix(id, "-") {
			return Model{ID: id, Name: id, Created: Recently, Context: 1048576, Output: 128000}, true
		}
	}
	return Model{}, false
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
