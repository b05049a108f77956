package routing

import (
	"math/rand/v2"
	"slices"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
)

// candidateOf is a model at one upstream, before it is prepared.
type candidateOf struct {
	model *catalog.Model
	route Route
}

// spread returns the first upstream of a model that has several, and keeps the others as
// the next candidates: in their order, or at random by their weights. It leaves out those
// that are not configured, and those whose provider the caller may not use.
func (p *Plan) spread(of candidateOf) candidateOf {
	left := p.usable(of.model)
	all := make([]candidateOf, 0, len(left))
	for len(left) > 0 {
		at := chooseByWeight(left)
		of.model, of.route.Provider = alone(left[at]), left[at].Provider
		all = append(all, of)
		left = append(left[:at], left[at+1:]...)
	}
	p.others = all[1:]
	return all[0]
}

// Refusing is the level that does not allow a model under this name at any of its
// upstreams; nil: it may be called.
func Refusing(levels models.Levels, name string, model *catalog.Model) *models.Level {
	first := levels.Refusing(name, model.ID, model.FullName())
	allowed := func(at catalog.Model) bool { return levels.Refusing(name, at.FullName()) == nil }
	if first == nil || slices.ContainsFunc(model.Others, allowed) {
		return nil
	}
	return first
}

// usable are the upstreams of a model that may answer; the first where none may, which
// says why.
func (p *Plan) usable(model *catalog.Model) []*catalog.Model {
	all := make([]*catalog.Model, 0, 1+len(model.Others))
	all = append(all, model)
	for i := range model.Others {
		all = append(all, &model.Others[i])
	}
	usable := make([]*catalog.Model, 0, len(all))
	for _, at := range all {
		allowed := p.input.Levels.Refusing(p.input.Request.Model, at.ID, at.FullName()) == nil
		if allowed && p.router.Upstreams[at.Provider] != nil {
			usable = append(usable, at)
		}
	}
	if len(usable) == 0 {
		return all[:1]
	}
	return usable
}

// keeping is the model at the provider that keeps what the request goes on from.
func (p *Plan) keeping(model *catalog.Model, kept *llm.Kept) (*catalog.Model, error) {
	for _, at := range p.usable(model) {
		if at.Provider == kept.Provider {
			return alone(at), nil
		}
	}
	return model, p.notKept()
}

// notKept is the error of a request that goes on from what no provider keeps for its model.
func (p *Plan) notKept() error {
	if p.input.Request.Source.Dialect() == llm.Messages {
		return api.ThreadNotFound()
	}
	return api.PreviousNotFound(api.ResendAll)
}

// alone is a model without its other upstreams.
func alone(model *catalog.Model) *catalog.Model {
	if len(model.Others) == 0 {
		return model
	}
	one := *model
	one.Others = nil
	return &one
}

// chooseByWeight chooses one of the upstreams: the first, or one at random in proportion to the
// weights.
func chooseByWeight(from []*catalog.Model) int {
	var sum int64
	for _, m := range from {
		sum += m.Weight
	}
	if sum == 0 {
		return 0
	}
	n := rand.Int64N(sum)
	for i, m := range from {
		if n -= m.Weight; n < 0 {
			return i
		}
	}
	return 0
}
