package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modelgateway/catalog"
)

// Aliases are other names of models. A nil one has none.
type Aliases struct {
	exact    map[string]string
	names    map[string][]string // those of exact by their target, sorted
	patterns []pattern           // that with the longest literal part first
}

type pattern struct{ before, after, target string }

// NewAliases takes aliases: from a name, or a pattern in which one * stands for any text,
// to the name of a model. It is an error when a target is no name of a model, or an alias
// itself; all errors are reported together.
func NewAliases(c *catalog.Catalog, all map[string]string) (*Aliases, error) {
	a := &Aliases{exact: map[string]string{}, names: map[string][]string{}}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		target := all[name]
		_, chained := all[target]
		_, listed := c.Model(target)
		switch {
		case chained && target != name:
			faults = append(faults, fmt.Errorf("the target of %q is the alias %q: name its model", name, target))
		case !listed && !c.CanName(target):
			faults = append(faults, fmt.Errorf("the target of %q is %q, which is no name of a model", name, target))
		}
		before, after, found := strings.Cut(name, "*")
		switch {
		case !found:
			a.exact[name] = target
			if name != target {
				a.names[target] = append(a.names[target], name)
			}
		case strings.Contains(after, "*"):
			faults = append(faults, fmt.Errorf("%q has more than one *", name))
		default:
			a.patterns = append(a.patterns, pattern{before, after, target})
		}
	}
	slices.SortStableFunc(a.patterns, func(x, y pattern) int {
		return cmp.Compare(len(y.before)+len(y.after), len(x.before)+len(x.after))
	})
	return a, errors.Join(faults...)
}

// Has reports whether a name is an alias, or matches one with a pattern.
func (a *Aliases) Has(name string) bool {
	_, exact := a.target(name)
	_, pattern := a.match(name)
	return exact || pattern
}

func (a *Aliases) target(name string) (target string, ok bool) {
	if a == nil {
		return "", false
	}
	target, ok = a.exact[name]
	return target, ok
}

// of are the aliases of a model without a pattern; nil for none.
func (a *Aliases) of(model string) []string {
	if a == nil {
		return nil
	}
	return a.names[model]
}

// match returns the target of the pattern that a name matches.
func (a *Aliases) match(name string) (target string, ok bool) {
	if a == nil {
		return "", false
	}
	for _, p := range a.patterns {
		if len(name) >= len(p.before)+len(p.after) && strings.HasPrefix(name, p.before) && strings.HasSuffix(name, p.after) {
			return p.target, true
		}
	}
	return "", false
}

// aliased are the models of the aliases without a pattern, each with the alias as its id.
func (m *Models) aliased() []*catalog.Model {
	if m.Aliases == nil {
		return nil
	}
	var all []*catalog.Model
	for _, name := range slices.Sorted(maps.Keys(m.Aliases.exact)) {
		model, ok := m.find(m.Aliases.exact[name])
		if !ok {
			continue // its provider is not configured
		}
		named := *model
		named.Upstream, named.ID = model.ID, name
		all = append(all, &named)
	}
	return all
}
