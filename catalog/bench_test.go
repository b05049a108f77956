package catalog

import "testing"

func BenchmarkCost(b *testing.B) {
	p := Price{Known: true, Rates: Rates{
		InputTokens: 5_000_000, OutputTokens: 25_000_000, CachedTokens: 500_000, CacheWriteTokens: 6_250_000, Searches: 10_000_000_000,
	}}
	p.Over, p.Above = 200_000, &Price{Known: true, Rates: Rates{InputTokens: 1}}
	a := Amounts{InputTokens: 100_000, CachedTokens: 80_000, CacheWriteTokens: 10_000, OutputTokens: 900, Searches: 1}
	for b.Loop() {
		p.Cost(a)
	}
}
