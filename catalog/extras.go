package catalog

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Factors are how many times the usual price a way of serving a call costs, in
// millionths. One that is 0 is not known.
type Factors struct {
	Priority, Flex int64 // service tiers
	Batch          int64 // the provider's batch API, which no call of the gateway uses
	Fast           int64 // Anthropic's speed fast
	US             int64 // Anthropic's inference_geo us
}

// OneSearch is what a call with one search of the web costs beside its tokens; 0 = not known.
func (p Price) OneSearch() int64 { return (p.Rates[Searches] + p.Rates[SearchPrompts]) / perMillion }

// Way is how a provider has served a call, as its answer says, or how a request asks for
// it. The zero Way is the usual one, or not known.
type Way struct {
	Tier  string // service tier, in OpenAI's words
	Speed string // Anthropic's
	Geo   string // Anthropic's
}

// In is the price of calls that are served in this way. It is the usual price, and known
// is false, where the factor is not known.
func (p Price) In(w Way) (in Price, known bool) {
	known = true
	times := func(factor int64) {
		if factor == 0 {
			known = false
			return
		}
		p = p.times(factor)
	}
	switch w.Tier {
	case "", "auto", "default", "standard":
	case "priority":
		times(p.Factors.Priority)
	case "flex":
		times(p.Factors.Flex)
	case "batch":
		times(p.Factors.Batch)
	default:
		known = false
	}
	switch w.Speed {
	case "", "standard":
	case "fast":
		times(p.Factors.Fast)
	default:
		known = false
	}
	if w.Geo == "us" {
		times(p.Factors.US)
	}
	return p, known
}

// times is the price of tokens, each number rounded half up. What is no token costs the same.
func (p Price) times(factor int64) Price {
	for u := range firstFee {
		var s sum
		s.add(p.Rates[u], factor)
		p.Rates[u] = s.perMillion()
	}
	if p.Above != nil {
		above := p.Above.times(factor)
		p.Above = &above
	}
	return p
}

// byName has the factors by their names in the models file.
func (f *Factors) byName() map[string]*int64 {
	return map[string]*int64{
		"tier.priority": &f.Priority, "tier.flex": &f.Flex, "tier.batch": &f.Batch, "speed.fast": &f.Fast, "geo.us": &f.US,
	}
}

// factors sets the factors of an entry's price.
func (d *dollars) factors(p *Price) error {
	for name, value := range d.Multipliers {
		at, ok := p.Factors.byName()[name]
		if !ok || value <= 0 {
			return fmt.Errorf("multipliers: %s: %v is not a number above 0 of one of %s", name, value,
				strings.Join(slices.Sorted(maps.Keys(p.Factors.byName())), ", "))
		}
		*at = int64(math.Round(value * perMillion))
	}
	return nil
}
