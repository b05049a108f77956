package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"modelgateway/catalog/lists"
)

// Decisions are what people have decided about the lists.
type Decisions struct {
	Disagreements []Decision `yaml:"disagreements"`
	Changes       []Change   `yaml:"changes"`
	Ends          []End      `yaml:"ends"`
	Skip          []Skip     `yaml:"skip"`
}

// Decision says which list is right about a member of a model's price.
type Decision struct {
	ID     string `yaml:"id"`
	Member string `yaml:"member"` // input, output and so on
	Take   string `yaml:"take"`   // the name of a list
	Why    string `yaml:"why"`
}

// Change is a model that no list has, or a member of a model that the lists do not
// have or have wrong, from what its provider publishes.
type Change struct {
	Fact   map[string]any `yaml:"fact"` // members that replace those of the lists
	Source string         `yaml:"source"`
}

// End is the first day on which its provider does not serve models, as it has announced.
type End struct {
	Day       string   `yaml:"day"`
	Models    []string `yaml:"models"`
	Successor string   `yaml:"successor"`
	Source    string   `yaml:"source"`
}

// Skip is a model of the lists that is not taken.
type Skip struct {
	ID  string `yaml:"id"`
	Why string `yaml:"why"`
}

// readDecisions reads decisions.yaml.
func readDecisions(text []byte) (*Decisions, error) {
	var d Decisions
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	err := dec.Decode(&d)
	return &d, err
}

// merge merges lists, the newest first. A member that a newer list does not have is
// taken from an older one. Where two lists have different prices a decision is
// needed: without one it is an error that names them.
func merge(all []*lists.List, d *Decisions) (*lists.List, error) {
	m := merging{decisions: d, used: map[int]bool{}}
	byID := map[string]lists.Fact{}
	for _, id := range ids(all) {
		if slices.ContainsFunc(d.Skip, func(s Skip) bool { return s.ID == id.id }) {
			continue
		}
		if fact := m.fact(all, id); len(fact.Prices) == 0 || fact.Prices[0].Input != "" { // else only a factor of a price is known
			byID[id.id] = fact
		}
	}
	for i, c := range d.Changes {
		if err := change(byID, &c); err != nil {
			m.errs = append(m.errs, fmt.Errorf("changes[%d]: %w", i, err))
		}
	}
	for i, e := range d.Ends {
		if err := end(byID, &e); err != nil {
			m.errs = append(m.errs, fmt.Errorf("ends[%d]: %w", i, err))
		}
	}
	for i, x := range d.Disagreements {
		if !m.used[i] {
			m.errs = append(m.errs, fmt.Errorf("disagreements: %s %s: the lists do not disagree any more", x.ID, x.Member))
		}
	}
	var names []string
	for _, l := range all {
		names = append(names, l.Name+" of "+l.Date)
	}
	facts := &lists.List{Name: "facts", Source: strings.Join(names, ", "), Date: all[0].Date, Licence: all[0].Licence}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		fact := byID[id]
		fact.Aliases = slices.DeleteFunc(slices.Clone(fact.Aliases), func(alias string) bool { _, own := byID[alias]; return own })
		facts.Models = append(facts.Models, fact)
	}
	return facts, errors.Join(m.errs...)
}

type modelID struct{ provider, id string }

// ids are the models of all lists. One with factors and fees only names no models: some
// of them are other lists' aliases.
func ids(all []*lists.List) []modelID {
	seen := map[modelID]bool{}
	for _, l := range all {
		for i := range l.Models {
			if f := &l.Models[i]; len(f.Prices) == 0 || f.Prices[0].Input != "" {
				seen[modelID{f.Provider, f.ID}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b modelID) int { return cmp.Compare(a.id, b.id) })
}

type merging struct {
	decisions *Decisions
	used      map[int]bool
	errs      []error
}

// fact is a model's entry in the newest list that has one, with the members of the
// others where it has none.
func (m *merging) fact(all []*lists.List, id modelID) lists.Fact {
	merged := lists.Fact{Provider: id.provider, ID: id.id}
	for _, l := range all {
		if found, _ := find(l, id); found != nil { // also the entry of its family, which has the same price
			m.prices(&merged, found, l.Name)
		}
	}
	for _, l := range slices.Backward(all) { // the oldest one says the most
		if found, exact := find(l, id); exact {
			fill(&merged, found)
		}
	}
	if strings.Contains(id.id, "embedding") {
		merged.Kind = "embedding"
	}
	return merged
}

// find returns a model's entry, or that of its family.
func find(l *lists.List, id modelID) (found *lists.Fact, exact bool) {
	for _, name := range []string{id.id, lists.Family(id.id), lists.Family(id.id) + "-latest", lists.Family(id.id) + "-0"} {
		for i := range l.Models {
			f := &l.Models[i]
			if f.Provider == id.provider && (f.ID == name || slices.Contains(f.Aliases, name)) {
				return f, f.ID == id.id
			}
		}
	}
	return nil, false
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
	decided := slices.IndexFunc(m.decisions.Disagreements, func(d Decision) bool { return d.ID == id && d.Member == member })
	if decided < 0 {
		m.errs = append(m.errs, fmt.Errorf("%s: %s is %s, and %s in %s: decide in decisions.yaml", id, member, ours, theirs, list))
		return false
	}
	m.used[decided] = true
	return m.decisions.Disagreements[decided].Take == list
}

// fill sets the members that are not known to those of another list.
func fill(f, from *lists.Fact) {
	f.Kind, f.Released, f.State = cmp.Or(f.Kind, from.Kind), cmp.Or(f.Released, from.Released), cmp.Or(f.State, from.State)
	f.Ends, f.Successor = cmp.Or(f.Ends, from.Ends), cmp.Or(f.Successor, from.Successor)
	f.Context, f.MaxOutput = cmp.Or(f.Context, from.Context), cmp.Or(f.MaxOutput, from.MaxOutput)
	f.Tools, f.Structured = cmp.Or(f.Tools, from.Tools), cmp.Or(f.Structured, from.Structured)
	f.Reasoning, f.Sampling = cmp.Or(f.Reasoning, from.Reasoning), cmp.Or(f.Sampling, from.Sampling)
	for _, list := range []struct {
		to   *[]string
		from []string
	}{{&f.Aliases, from.Aliases}, {&f.Input, from.Input}, {&f.Output, from.Output}} {
		if *list.to == nil {
			*list.to = list.from
		}
	}
	if f.Prices == nil {
		f.Prices = from.Prices
	}
}

func clone(p lists.Price) lists.Price {
	if p.Above != nil {
		above := clone(*p.Above)
		p.Above = &above
	}
	return p
}

// change applies a change to a fact, or adds one.
func change(byID map[string]lists.Fact, c *Change) error {
	if c.Source == "" {
		return errors.New("source is missing")
	}
	text, err := json.Marshal(c.Fact)
	if err != nil {
		return err
	}
	var fact lists.Fact
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&fact); err != nil {
		return err
	}
	old := byID[fact.ID]
	fact.Provider = cmp.Or(fact.Provider, old.Provider)
	if fact.ID == "" || fact.Provider == "" {
		return errors.New("id or provider is missing")
	}
	fill(&fact, &old)
	byID[fact.ID] = fact
	return nil
}

// end sets the day on which models end.
func end(byID map[string]lists.Fact, e *End) error {
	if _, err := time.Parse(time.DateOnly, e.Day); err != nil || e.Source == "" {
		return errors.Join(err, errors.New("day or source is missing"))
	}
	if _, known := byID[e.Successor]; e.Successor != "" && !known {
		return fmt.Errorf("the successor %s is in no list", e.Successor)
	}
	for _, id := range e.Models {
		fact, known := byID[id]
		if !known {
			return fmt.Errorf("%s is in no list", id)
		}
		fact.State, fact.Ends, fact.Successor = "", e.Day, e.Successor
		byID[id] = fact
	}
	return nil
}

// facts merges the lists of a folder, as text.
func facts(dir fs.FS) ([]byte, error) {
	var all []*lists.List
	// The newest first, but for the last two: they are taken for factors and fees only.
	for _, name := range []string{"yoagent", "genai-prices", "models.dev", "litellm", "portkey"} {
		text, err := fs.ReadFile(dir, name+".json")
		if err != nil {
			return nil, err
		}
		l, err := lists.Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, l)
	}
	text, err := fs.ReadFile(dir, "decisions.yaml")
	if err != nil {
		return nil, err
	}
	decisions, err := readDecisions(text)
	if err != nil {
		return nil, fmt.Errorf("decisions.yaml: %w", err)
	}
	merged, err := merge(all, decisions)
	if err != nil {
		return nil, err
	}
	return merged.Write()
}
