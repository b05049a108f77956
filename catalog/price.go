package catalog

import (
	"math"
	"math/bits"
)

// Price is in micro-dollars per million tokens, so that money stays integer. The
// zero Price is that of a model without a price.
type Price struct {
	Known          bool // false: the price is unknown
	Input, Output  int64
	Audio          int64 // of sounds in the prompt; 0 = the price is unknown
	AudioCacheRead int64 // 0 = Audio
	CacheRead      int64 // 0 = Input
	CacheWrite     int64 // kept for five minutes; 0 = Input
	CacheWriteHour int64 // kept for an hour; 0 = 8/5 of CacheWrite, which is Anthropic's ratio
	Over           int64 // calls with more input tokens cost Above
	Above          *Price
	Factors        Factors
	Fees           Fees
}

// Free says whether nothing costs anything.
func (p Price) Free() bool { return p == Price{Known: true} }

// Tokens are the tokens of a call.
type Tokens struct {
	Input          int64 // Cached and CacheWrite included
	Audio          int64 // of Input: sounds, CachedAudio included
	Cached         int64
	CachedAudio    int64 // of Cached
	CacheWrite     int64 // CacheWriteHour included
	CacheWriteHour int64
	Output         int64 // reasoning included
	Searches       int64 // of the web, by the provider
}

// Cost is the cost of a call in micro-dollars: the exact sum of its lines, rounded once,
// half up.
func (p Price) Cost(t Tokens) int64 {
	var sum amount
	for _, line := range p.lines(t) {
		sum.addLine(line)
	}
	return sum.perMillion()
}

// lines divides a cost. With more than Over input tokens the whole call costs Above.
func (p Price) lines(t Tokens) lines {
	if p.Above != nil && t.Input > p.Over {
		above := *p.Above
		above.Fees = p.Fees
		return above.lines(t)
	}
	cached := clamp(t.Cached, t.Input)
	written := clamp(t.CacheWrite, t.Input-cached)
	hour := clamp(t.CacheWriteHour, written)
	cachedAudio := clamp(min(t.CachedAudio, t.Audio), cached)
	audio := clamp(t.Audio-cachedAudio, t.Input-cached-written)
	searches := clamp(t.Searches, maxSearches)
	return lines{
		{LineInput, max(t.Input, 0) - cached - written - audio, p.Input},
		{LineAudio, audio, p.audio()},
		{LineCached, cached - cachedAudio, p.cacheRead()},
		{LineCachedAudio, cachedAudio, p.audioCacheRead()},
		{LineCacheWrite, written - hour, p.cacheWrite()},
		{LineCacheWriteHour, hour, p.cacheWriteHour()},
		{LineOutput, max(t.Output, 0), p.Output},
		{LineSearch, searches, p.Fees.Search},
		{LineSearchPrompt, min(searches, 1), p.Fees.SearchPrompt},
	}
}

// maxSearches is more than a call can make.
const maxSearches = 1_000_000

// MaxCost is an upper bound of the cost of a call with at most so many input and output
// tokens, however many of them are read from a cache or written to it.
func (p Price) MaxCost(input, output int64) int64 {
	most := p.highestCost(input, output)
	if p.Above != nil && input > p.Over {
		most = max(most, p.Above.MaxCost(input, output))
	}
	return most
}

func (p Price) highestCost(input, output int64) int64 {
	var sum amount
	sum.add(max(input, 0), max(p.Input, p.cacheRead(), p.cacheWrite(), p.cacheWriteHour()))
	sum.add(max(output, 0), p.Output)
	sum.add(1, perMillion) // rounding adds less than a micro-dollar
	return sum.perMillion()
}

// WithAudio is the price of a prompt that may consist of sounds: no token of it costs
// more.
func (p Price) WithAudio() Price {
	p.Input, p.CacheRead = max(p.Input, p.audio()), max(p.cacheRead(), p.audioCacheRead())
	if p.Above != nil {
		above := p.Above.WithAudio()
		p.Above = &above
	}
	return p
}

func (p Price) audio() int64 {
	if p.Audio == 0 {
		return p.Input
	}
	return p.Audio
}

func (p Price) audioCacheRead() int64 {
	switch {
	case p.AudioCacheRead != 0:
		return p.AudioCacheRead
	case p.Audio != 0:
		return p.Audio
	}
	return p.cacheRead()
}

func (p Price) cacheRead() int64 {
	if p.CacheRead == 0 {
		return p.Input
	}
	return p.CacheRead
}

func (p Price) cacheWrite() int64 {
	if p.CacheWrite == 0 {
		return p.Input
	}
	return p.CacheWrite
}

func (p Price) cacheWriteHour() int64 {
	if p.CacheWriteHour != 0 || p.CacheWrite == 0 {
		return max(p.CacheWriteHour, p.cacheWrite())
	}
	return p.CacheWrite * 8 / 5
}

func (p Price) negative() bool {
	lowest := min(p.Input, p.Output, p.Audio, p.AudioCacheRead, p.CacheRead, p.CacheWrite, p.CacheWriteHour, p.Over)
	return lowest < 0 || p.Above != nil && p.Above.negative()
}

// clamp limits n to 0 … limit.
func clamp(n, limit int64) int64 { return min(max(n, 0), max(limit, 0)) }

const perMillion = 1_000_000

// amount is a sum of tokens times prices, in 128 bits: it may exceed an int64.
type amount struct{ high, low uint64 }

func (a *amount) add(tokens, price int64) {
	high, low := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	a.low, carry = bits.Add64(a.low, low, 0)
	a.high, _ = bits.Add64(a.high, high, carry)
}

// perMillion is the sum divided by a million, rounded half up, and the largest int64
// where it exceeds that.
func (a amount) perMillion() int64 {
	low, carry := bits.Add64(a.low, perMillion/2, 0)
	high := a.high + carry
	if high >= perMillion {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, perMillion)
	return int64(min(quotient, math.MaxInt64))
}
