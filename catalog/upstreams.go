package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// withUpstreams is a model of the file at all its upstreams: the first is the model
// itself, the others are its Others.
func (c *Catalog) withUpstreams(m Model, e entry) (Model, error) {
	if len(e.Upstreams) == 0 {
		return m, nil
	}
	if e.Provider != "" || e.Upstream != "" {
		return m, errors.New("upstreams and provider or upstream are both set: keep one")
	}
	var all []Model
	for i, u := range e.Upstreams {
		price, err := u.Price.price()
		switch {
		case err != nil:
			return m, fmt.Errorf("upstreams[%d]: %w", i, err)
		case !slices.Contains(c.names, u.Provider):
			return m, fmt.Errorf("upstreams[%d]: provider must be one of %s, not %q", i, strings.Join(c.names, ", "), u.Provider)
		case u.Weight < 0:
			return m, fmt.Errorf("upstreams[%d]: a number is negative", i)
		case (u.Weight > 0) != (e.Upstreams[0].Weight > 0):
			return m, errors.New("upstreams: set weight for all of them or for none")
		}
		all = append(all, c.upstream(m, e, u, price))
	}
	same := func(a, b Model) bool { return a.Provider == b.Provider && a.Upstream == b.Upstream }
	for i, a := range all {
		if slices.ContainsFunc(all[:i], func(b Model) bool { return same(a, b) }) {
			return m, fmt.Errorf("upstreams[%d]: listed twice", i)
		}
	}
	first := all[0]
	first.Others = all[1:]
	return first, nil
}

// At is the model that a provider has under this id, without its other upstreams: of the
// provider's own list, or one of the catalogue that it serves.
func (c *Catalog) At(provider, id string) (*Model, bool) {
	if m, ok := c.OwnModel(provider, id); ok {
		return m, true
	}
	m, ok := c.Model(id)
	if !ok {
		return nil, false
	}
	if m.Provider != provider {
		at := slices.IndexFunc(m.Others, func(other Model) bool { return other.Provider == provider })
		if at < 0 {
			return nil, false
		}
		m = &m.Others[at]
	}
	if len(m.Others) == 0 && m.Weight == 0 {
		return m, true
	}
	alone := *m
	alone.Others, alone.Weight = nil, 0
	return &alone, true
}

// upstream is a model at one of its upstreams. What neither the upstream nor the entry says is
// that of the provider's own list, then what is known of the model there.
func (c *Catalog) upstream(m Model, e entry, u upstreamEntry, price Price) Model {
	listed, ok := c.OwnModel(u.Provider, cmp.Or(u.Upstream, m.ID))
	if !ok {
		listed = &Model{}
	}
	of := m
	of.Provider, of.Weight = u.Provider, u.Weight
	of.Upstream = cmp.Or(u.Upstream, listed.Upstream, m.ID)
	of.like = cmp.Or(u.Like, e.Like, listed.like)
	switch {
	case u.Price != nil:
		of.Price = price
	case e.Price == nil && (listed.Price.Known || m.Provider != u.Provider):
		of.Price = listed.Price
	}
	of.PriceOf, of.later = "", nil
	return of
}
