package catalog

import (
	"math"
	"math/bits"
)

// Price is what a model costs, in integers, so that money stays one. The zero Price is that of a
// model without a price.
type Price struct {
	Known   bool  // false: the price is unknown
	Rates   Rates // one that is 0 is that of another unit, as rate says
	Over    int64 // calls with more input tokens cost Above
	Above   *Price
	Factors Factors
}

// Free says whether nothing costs anything.
func (p Price) Free() bool { return p == Price{Known: true} }

// Cost is the cost of a call in micro-dollars: the exact sum of its lines, rounded once,
// half up.
func (p Price) Cost(a Amounts) int64 {
	return p.at(a[InputTokens]).sum(&a).perMillion()
}

// Line is a part of the cost of a call.
type Line struct {
	Unit   Unit
	Amount int64
	Rate   int64 // micro-dollars for a million
}

// Lines are the parts of the cost of a call, without those of which there is nothing.
func (p Price) Lines(a Amounts) (all []Line) {
	at := p.at(a[InputTokens])
	for u, n := range at.parts(&a) {
		if n > 0 {
			all = append(all, Line{Unit(u), n, at.rate(Unit(u))})
		}
	}
	return all
}

// Counts is what Amount counts, such as token.
func (l Line) Counts() string { return units[l.Unit].counts }

// Cost is the cost of the line in micro-dollars, rounded half up.
func (l Line) Cost() int64 {
	var s sum
	s.add(l.Amount, l.Rate)
	return s.perMillion()
}

// at is the price of a call with so many input tokens: with more than Over the whole call costs
// Above.
func (p *Price) at(input int64) *Price {
	for p.Above != nil && input > p.Over {
		p = p.above()
	}
	return p
}

// above is Above with the rates of what is no token, which stay.
func (p *Price) above() *Price {
	above := *p.Above
	copy(above.Rates[firstFee:], p.Rates[firstFee:])
	return &above
}

// most is more of a unit that is no token than a call can have.
const most = 1_000_000_000

// parts divides the amounts of a call: none is part of another.
func (p *Price) parts(a *Amounts) (parts Amounts) {
	input, output := max(a[InputTokens], 0), max(a[OutputTokens], 0)
	cached := clamp(a[CachedTokens], input)
	written := clamp(a[CacheWriteTokens], input-cached)
	hour := clamp(a[CacheWriteHourTokens], written)
	cachedAudio := clamp(min(a[CachedAudioTokens], a[AudioTokens]), cached)
	audio := clamp(a[AudioTokens]-cachedAudio, input-cached-written)
	for u := firstFee; u < unitCount; u++ {
		if a[u] != 0 {
			parts[u] = clamp(a[u], most)
		}
	}
	parts[SearchPrompts] = min(parts[Searches], 1)
	parts[InputTokens], parts[AudioTokens] = input-cached-written-audio, audio
	parts[CachedTokens], parts[CachedAudioTokens] = cached-cachedAudio, cachedAudio
	parts[CacheWriteTokens], parts[CacheWriteHourTokens] = written-hour, hour
	if p.Rates[ReasoningTokens] != 0 {
		parts[ReasoningTokens] = clamp(a[ReasoningTokens], output)
	}
	parts[OutputTokens] = output - parts[ReasoningTokens]
	return parts
}

// rate is the rate of a unit, or of the one that it is a part of.
func (p *Price) rate(u Unit) int64 {
	own := p.Rates[u]
	switch {
	case u == CacheWriteHourTokens && own == 0 && p.Rates[CacheWriteTokens] != 0:
		return p.Rates[CacheWriteTokens] * 8 / 5 // which is Anthropic's ratio
	case u == CacheWriteHourTokens:
		return max(own, p.rate(CacheWriteTokens))
	case u == CachedAudioTokens && own == 0 && p.Rates[AudioTokens] == 0:
		return p.rate(CachedTokens)
	case own == 0 && units[u].or != u:
		return p.rate(units[u].or)
	}
	return own
}

func (p *Price) sum(a *Amounts) (s sum) {
	parts := p.parts(a)
	for u, n := range &parts {
		if n > 0 {
			s.add(n, p.rate(Unit(u)))
		}
	}
	return s
}

// MaxCost is an upper bound of the cost of a call with at most so many tokens of input and of output,
// and so much of what is no token: however many of the tokens are read from a cache, written to
// it, or are reasoning.
func (p Price) MaxCost(most Amounts) int64 {
	bound := p
	bound.Rates[InputTokens] = max(p.rate(InputTokens), p.rate(CachedTokens), p.rate(CacheWriteTokens), p.rate(CacheWriteHourTokens))
	bound.Rates[OutputTokens] = max(p.rate(OutputTokens), p.rate(ReasoningTokens))
	s := bound.sum(&most)
	s.add(1, perMillion) // rounding adds less than a micro-dollar
	highest := s.perMillion()
	if p.Above != nil && most[InputTokens] > p.Over {
		highest = max(highest, p.above().MaxCost(most))
	}
	return highest
}

// WithAudio is the price of a prompt that may consist of sounds: no token of it costs
// more.
func (p Price) WithAudio() Price {
	return p.raised(CachedTokens, CachedAudioTokens).raised(InputTokens, AudioTokens)
}

// WithReasoning is the price of an answer that may be all reasoning: no token of it costs more.
func (p Price) WithReasoning() Price { return p.raised(OutputTokens, ReasoningTokens) }

// raised is the price where a unit costs at least as much as one of its parts.
func (p Price) raised(u, part Unit) Price {
	p.Rates[u] = max(p.rate(u), p.rate(part))
	if p.Above != nil {
		above := p.Above.raised(u, part)
		p.Above = &above
	}
	return p
}

// clamp limits n to 0 … limit.
func clamp(n, limit int64) int64 { return min(max(n, 0), max(limit, 0)) }

const perMillion = 1_000_000

// sum is of amounts times rates, in 128 bits: it may exceed an int64.
type sum struct{ high, low uint64 }

func (s *sum) add(n, rate int64) {
	high, low := bits.Mul64(uint64(n), uint64(rate))
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high, _ = bits.Add64(s.high, high, carry)
}

// perMillion is the sum divided by a million, rounded half up, and the largest int64
// where it exceeds that.
func (s sum) perMillion() int64 {
	low, carry := bits.Add64(s.low, perMillion/2, 0)
	high := s.high + carry
	if high >= perMillion {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, perMillion)
	return int64(min(quotient, math.MaxInt64))
}
