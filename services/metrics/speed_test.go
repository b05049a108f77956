package metrics

import (
	"testing"
	"time"

	"modelgateway/models"
)

// streamFacts are the facts of a usual stream.
func streamFacts(gaps *Gaps) CallFacts {
	return CallFacts{
		Provider: "anthropic", Model: "claude-haiku-4-5-20251001", Outcome: models.OutcomeOK, Stream: true,
		InputTokens: 1200, CachedTokens: 800, OutputTokens: 300, ReasoningTokens: 100, Priced: true, Cost: 2100,
		FirstToken: 700 * time.Millisecond, Overhead: 80 * time.Microsecond, Gaps: gaps,
	}
}

func BenchmarkEnded(b *testing.B) {
	m := New()
	b.ReportAllocs()
	for b.Loop() {
		var gaps Gaps
		m.Ended(streamFacts(&gaps))
	}
}

func BenchmarkEndedParallel(b *testing.B) {
	m := New()
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			var gaps Gaps
			m.Ended(streamFacts(&gaps))
		}
	})
}

func BenchmarkCalled(b *testing.B) {
	m := New()
	b.ReportAllocs()
	for b.Loop() {
		m.Called("anthropic", "claude-haiku-4-5-20251001", OK, 700*time.Millisecond)
	}
}

func BenchmarkGap(b *testing.B) {
	var gaps Gaps
	b.ReportAllocs()
	for b.Loop() {
		gaps.Add(20 * time.Millisecond)
	}
}

func BenchmarkScrape(b *testing.B) {
	m := New()
	for _, model := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"} {
		m.Ended(CallFacts{Provider: "openai", Model: model, Outcome: models.OutcomeOK})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
