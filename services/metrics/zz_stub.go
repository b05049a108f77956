package metrics

import "time"

type Gaps struct{}

func (g *Gaps) Add(time.Duration) {}

type CallFacts struct {
	Provider, Model, Outcome                                                   string
	Stream                                                                     bool
	InputTokens, CachedTokens, CacheWriteTokens, OutputTokens, ReasoningTokens int64
	Estimated, Priced                                                          bool
	Cost                                                                       int64
	FirstToken, Overhead                                                       time.Duration
	Gaps                                                                       *Gaps
}

func (m *Metrics) Ended(CallFacts) {}
