package metrics

import (
	"time"
)

// The outcomes of a call to a provider.
const (
	OK       = "ok"       // a complete answer, or the beginning of a stream
	Failed   = "failed"   // a fault of the provider
	Refused  = "refused"  // a fault of the request, or a rate limit
	Canceled = "canceled" // the client disconnected first
)

// Called counts a call to a provider and the time until its answer.
func (m *Metrics) Called(provider, model, outcome string, waited time.Duration) {
	if m == nil {
		return
	}
	c := m.models.of(provider, model)
	c.upstreamCalls[index(upstreamOutcomes[:], outcome)].Inc()
	c.provider.upstreamWait.Observe(waited.Seconds())
}

// CallFacts describe a call that was admitted and has ended. The tokens and
// the cost are as in models.Call.
type CallFacts struct {
	Provider string // that answered, or was tried last
	Model    string // that answered, or was tried last: the catalogue's id, never the client's text
	Outcome  string // one of models' Outcome constants
	Stream   bool

	InputTokens      int64 // cached and cache-written ones included
	CachedTokens     int64
	CacheWriteTokens int64
	OutputTokens     int64 // reasoning included
	ReasoningTokens  int64
	Estimated        bool
	Priced           bool
	UsualPrice       bool  // the cost is that of the usual way of serving; what the provider charges beside it is not known
	Cost             int64 // micro-dollars

	// From the request to the first byte of an answer that was sent to the
	// client; 0 = none was sent. An error is no answer.
	FirstToken time.Duration
	Overhead   time.Duration // until the first byte was sent, without the waits for providers; 0 = unknown
	Gaps       *Gaps         // of the stream, only read; nil = none
}

// Ended counts a call at its end. An unknown outcome is counted as an internal
// error.
func (m *Metrics) Ended(f CallFacts) {
	if m == nil {
		return
	}
	c := m.models.of(f.Provider, f.Model)
	c.calls[index(callOutcomes[:], f.Outcome)].Inc()
	for i, n := range [len(tokenTypes)]int64{f.InputTokens, f.OutputTokens, f.CachedTokens, f.CacheWriteTokens, f.ReasoningTokens} {
		if n > 0 {
			c.tokens[i].Add(float64(n))
		}
	}
	if f.Cost > 0 {
		c.microDollars.Add(f.Cost)
	}
	if f.Estimated {
		c.estimated.Inc()
	}
	if !f.Priced {
		c.unpriced.Inc()
	}
	if f.UsualPrice {
		c.usualPrice.Inc()
	}
	if f.Stream && f.FirstToken > 0 {
		c.provider.firstToken.Observe(f.FirstToken.Seconds())
	}
	if f.Overhead > 0 {
		c.provider.overhead.Observe(f.Overhead.Seconds())
	}
	if f.Gaps != nil {
		c.provider.gaps.add(f.Gaps)
	}
}

// index returns the position of a value in values, or the last one.
func index(values []string, value string) int {
	for i, v := range values {
		if v == value {
			return i
		}
	}
	return len(values) - 1
}
