package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"modelgateway/catalog/lists"
)

// decisions are what people have decided about the lists: decisions.yaml.
type decisions struct {
	Disagreements []*decision `yaml:"disagreements"`
	Skip          []*decision `yaml:"skip"` // models of the lists that are not taken
	// Changes are models that no list has, or members of models that the lists do not have or have wrong, from what
	// their providers publish.
	Changes []struct {
		Fact   map[string]any `yaml:"fact"` // members that replace those of the lists
		Source string         `yaml:"source"`
	} `yaml:"changes"`
	// Ends are the first days on which a provider does not serve models, as it has announced.
	Ends []struct {
		Day       string   `yaml:"day"`
		Models    []string `yaml:"models"`
		Successor string   `yaml:"successor"`
		Source    string   `yaml:"source"`
	} `yaml:"ends"`
}

// decision is about a model; in a disagreement it says which list is right about a member of the model's price.
type decision struct {
	ID     string `yaml:"id"`
	Member string `yaml:"member"` // input, output and so on
	Take   string `yaml:"take"`   // the name of a list
	Why    string `yaml:"why"`
	used   bool
}

type merging struct {
	decisions
	byID map[string]lists.Fact
	errs []error
}

func (m *merging) fail(format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf(format, args...))
}

// merge merges lists, the newest first. A member that a newer list does not have is
// taken from an older one. Where two lists have different prices a decision is
// needed: without one it is an error that names them.
func (m *merging) merge(all []*lists.List) (*lists.List, error) {
	facts := &lists.List{Name: "facts", Date: all[0].Date, Licence: all[0].Licence}
	var names []string
	for _, l := range all {
		names = append(names, l.Name+" of "+l.Date)
		for i := range l.Models {
			f := &l.Models[i]
			_, known := m.byID[f.ID]
			// One with factors and fees only names no model: some of them are other lists' aliases.
			if known || !complete(f) || slices.ContainsFunc(m.Skip, func(s *decision) bool { return s.ID == f.ID }) {
				continue
			}
			if fact := m.fact(all, f.Provider, f.ID); complete(&fact) {
				m.byID[f.ID] = fact
			}
		}
	}
	m.change()
	m.end()
	for _, x := range m.Disagreements {
		if !x.used {
			m.fail("disagreements: %s %s: the lists do not disagree any more", x.ID, x.Member)
		}
	}
	facts.Source = strings.Join(names, ", ")
	for _, fact := range m.byID {
		fact.Aliases = slices.DeleteFunc(slices.Clone(fact.Aliases), func(alias string) bool { _, own := m.byID[alias]; return own })
		facts.Models = append(facts.Models, fact)
	}
	return facts, errors.Join(m.errs...)
}

// complete says whether a fact has more of a price than factors and fees, or no price at all.
func complete(f *lists.Fact) bool { return len(f.Prices) == 0 || f.Prices[0].Input != "" }

// fact is a model's entry in the newest list that has one, with the members of the
// others where it has none.
func (m *merging) fact(all []*lists.List, provider, id string) lists.Fact {
	merged := lists.Fact{Provider: provider, ID: id}
	for _, l := range all {
		if found := find(l, provider, id); found != nil { // also the entry of its family, which has the same price
			m.prices(&merged, found, l.Name)
		}
	}
	for _, l := range slices.Backward(all) { // the oldest one says the most
		if found := find(l, provider, id); found != nil && found.ID == id {
			fill(&merged, found)
		}
	}
	if strings.Contains(id, "embedding") {
		merged.Kind = "embedding"
	}
	return merged
}

// find returns a model's entry, or that of its family.
func find(l *lists.List, provider, id string) *lists.Fact {
	family := lists.Family(id)
	for _, name := range []string{id, family, family + "-latest", family + "-0"} {
		for i := range l.Models {
			if f := &l.Models[i]; f.Provider == provider && (f.ID == name || slices.Contains(f.Aliases, name)) {
				return f
			}
		}
	}
	return nil
}

// prices sets the prices of a fact, or compares the last one with that of another list.
// Factors and fees of a list without prices of tokens hold for all days.
func (m *merging) prices(merged, other *lists.Fact, list string) {
	switch {
	case len(other.Prices) == 0:
		return
	case len(merged.Prices) == 0:
		for _, p := range other.Prices {
			merged.Prices = append(merged.Prices, clone(p))
		}
		return
	}
	last, theirs := len(merged.Prices)-1, &other.Prices[len(other.Prices)-1]
	for i := range merged.Prices {
		if i == last || theirs.Input == "" {
			m.price(merged.ID, &merged.Prices[i], clone(*theirs), list)
		}
	}
}

// price sets what is not known of a price, and compares the rest.
func (m *merging) price(id string, ours *lists.Price, theirs lists.Price, list string) {
	if theirs.Input != "" && ours.Over != theirs.Over {
		if m.take(id, "over", fmt.Sprint(ours.Over), fmt.Sprint(theirs.Over), list) {
			ours.Over, ours.Above = theirs.Over, theirs.Above
		} else {
			theirs.Over, theirs.Above = ours.Over, ours.Above
		}
	}
	their := theirs.Members()
	for i, x := range ours.Members() {
		switch y := their[i].Value; {
		case *y == "" || *x.Value == *y:
		case *x.Value == "" || m.take(id, x.Name, x.Value.String(), y.String(), list):
			*x.Value = *y
		}
	}
	if ours.Above != nil && theirs.Above != nil {
		ours.Above.Fill(theirs.Above)
	}
}

// take says whether the value of an older list is decided to be right.
func (m *merging) take(id, member, ours, theirs, list string) bool {
	for _, d := range m.Disagreements {
		if d.ID == id && d.Member == member {
			d.used = true
			return d.Take == list
		}
	}
	m.fail("%s: %s is %s, and %s in %s: decide in decisions.yaml", id, member, ours, theirs, list)
	return false
}

// fill sets the members that are not known to those of another list.
func fill(f, from *lists.Fact) {
	ours, theirs := reflect.ValueOf(f).Elem(), reflect.ValueOf(from).Elem()
	for i := range ours.NumField() {
		if ours.Field(i).IsZero() {
			ours.Field(i).Set(theirs.Field(i))
		}
	}
}

func clone(p lists.Price) lists.Price {
	if p.Above != nil {
		above := clone(*p.Above)
		p.Above = &above
	}
	return p
}

// change applies the changes to facts, or adds some.
func (m *merging) change() {
	for i, c := range m.Changes {
		var fact lists.Fact
		text, err := json.Marshal(c.Fact)
		if err == nil {
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.DisallowUnknownFields()
			err = dec.Decode(&fact)
		}
		old := m.byID[fact.ID]
		fill(&fact, &old)
		if err != nil || c.Source == "" || fact.ID == "" || fact.Provider == "" {
			m.fail("changes[%d]: its fact is wrong, or the id, provider or source is missing: %v", i, err)
		}
		m.byID[fact.ID] = fact
	}
}

// end sets the days on which models end.
func (m *merging) end() {
	for i, e := range m.Ends {
		if _, err := time.Parse(time.DateOnly, e.Day); err != nil || e.Source == "" {
			m.fail("ends[%d]: its day is wrong, or the source is missing: %v", i, err)
		}
		if _, known := m.byID[e.Successor]; e.Successor != "" && !known {
			m.fail("ends[%d]: the successor %s is in no list", i, e.Successor)
		}
		for _, id := range e.Models {
			fact, known := m.byID[id]
			if !known {
				m.fail("ends[%d]: %s is in no list", i, id)
			}
			fact.State, fact.Ends, fact.Successor = "", e.Day, e.Successor
			m.byID[id] = fact
		}
	}
}

// facts merges the lists of a folder, as text.
func facts(dir string) ([]byte, error) {
	m := merging{byID: map[string]lists.Fact{}}
	text, err := os.ReadFile(filepath.Join(dir, "decisions.yaml"))
	if err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&m.decisions); err != nil {
		return nil, fmt.Errorf("decisions.yaml: %w", err)
	}
	var all []*lists.List
	// The newest first, but for the last two: they are taken for factors and fees only.
	for _, name := range []string{"yoagent", "genai-prices", "models.dev", "litellm", "portkey"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil {
			return nil, err
		}
		l, err := lists.Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, l)
	}
	merged, err := m.merge(all)
	if err != nil {
		return nil, err
	}
	return merged.Write()
}
