package metrics

import (
	"time"
)

// The outcomes of a call of a provider.
const (
	OK       = "ok"       // a whole answer, or the beginning of a stream
	Failed   = "failed"   // speaks against the provider
	Refused  = "refused"  // speaks against the request, or names a limit
	Canceled = "canceled" // the client left first
)

// Called counts a call of a provider, and how long it was waited for.
func (m *Metrics) Called(provider, model, outcome string, waited time.Duration) {
	if m == nil {
		return
	}
	t := m.calls.of(provider, model)
	t.attempts[place(attempts[:], outcome)].Add(1)
	t.from.wait.Observe(waited.Seconds())
}

// CallFacts are what is counted of a call that was admitted and has ended. The
// tokens and the cost are as in models.Call.
type CallFacts struct {
	Provider string // that answered, or was tried last
	Model    string // the catalogue's id of the model that did; never what a client wrote
	Outcome  string // one of models' Outcome constants
	Stream   bool

	InputTokens      int64 // cached and cache-written ones included
	CachedTokens     int64
	CacheWriteTokens int64
	OutputTokens     int64 // reasoning included
	ReasoningTokens  int64
	Estimated        bool
	Priced           bool
	Cost             int64 // micro-dollars

	// From the request to the first byte of an answer that was sent to the
	// client; 0 = there was none. An error is no answer.
	FirstToken time.Duration
	Overhead   time.Duration // until something was sent, but for the waits for providers; 0 = unknown
	Gaps       *Gaps         // of the stream, only read; nil = none
}

// Ended counts a call at its end. An outcome that is none of the constants is
// counted as an internal error.
func (m *Metrics) Ended(f CallFacts) {
	if m == nil {
		return
	}
	t := m.calls.of(f.Provider, f.Model)
	t.endings[place(endings[:], f.Outcome)].Add(1)
	for i, n := range [len(tokenTypes)]int64{f.InputTokens, f.OutputTokens, f.CachedTokens, f.CacheWriteTokens, f.ReasoningTokens} {
		if n > 0 {
			t.tokens[i].Add(n)
		}
	}
	if f.Cost > 0 {
		t.cost.Add(f.Cost)
	}
	if f.Estimated {
		t.estimated.Add(1)
	}
	if !f.Priced {
		t.unpriced.Add(1)
	}
	if f.Stream && f.FirstToken > 0 {
		t.from.firstToken.Observe(f.FirstToken.Seconds())
	}
	if f.Overhead > 0 {
		t.from.overhead.Observe(f.Overhead.Seconds())
	}
	if f.Gaps != nil {
		t.from.gaps.add(f.Gaps)
	}
}

// place is where value stands in values; the last where it does not.
func place(values []string, value string) int {
	for i, v := range values {
		if v == value {
			return i
		}
	}
	return len(values) - 1
}
