package catalog

import (
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// formerPrice is a price as it was before there were units, in micro-dollars for a million tokens, and
// for one search. Its cost is computed by rational arithmetic, with none of the code that it is compared with.
type formerPrice struct {
	input, output, audio, audioRead, read, write, hour, search, prompt int64

	over  int64
	above *formerPrice
}

func or(numbers ...int64) int64 {
	for _, n := range numbers {
		if n != 0 {
			return n
		}
	}
	return 0
}

func within(n, limit int64) int64 { return min(max(n, 0), max(limit, 0)) }

// cost is the cost in micro-dollars, rounded once, half up.
func (p formerPrice) cost(c counts, searches int64) *big.Int {
	if p.above != nil && c.Input > p.over {
		above := *p.above
		above.search, above.prompt = p.search, p.prompt
		return above.cost(c, searches)
	}
	cached := within(c.Cached, c.Input)
	written := within(c.CacheWrite, c.Input-cached)
	hour := within(c.CacheWriteHour, written)
	cachedAudio := within(min(c.CachedAudio, c.Audio), cached)
	audio := within(c.Audio-cachedAudio, c.Input-cached-written)
	hourPrice := max(p.hour, or(p.write, p.input))
	if p.hour == 0 && p.write != 0 {
		hourPrice = p.write * 8 / 5
	}
	readAudio := or(p.audioRead, p.audio, p.read, p.input)
	sum := new(big.Rat)
	add := func(n, price, per int64) {
		part := new(big.Rat).SetInt64(n)
		sum.Add(sum, part.Mul(part, big.NewRat(price, per)))
	}
	const million = 1_000_000
	add(max(c.Input, 0)-cached-written-audio, p.input, million)
	add(audio, or(p.audio, p.input), million)
	add(cached-cachedAudio, or(p.read, p.input), million)
	add(cachedAudio, readAudio, million)
	add(written-hour, or(p.write, p.input), million)
	add(hour, hourPrice, million)
	add(max(c.Output, 0), p.output, million)
	add(searches, p.search, 1)
	add(min(searches, 1), p.prompt, 1)
	return rounded(sum)
}

func rounded(sum *big.Rat) *big.Int {
	sum.Add(sum, big.NewRat(1, 2))
	return new(big.Int).Div(sum.Num(), sum.Denom())
}

func (p formerPrice) price() Price {
	price := Price{Known: true, Over: p.over, Rates: Rates{
		InputTokens: p.input, OutputTokens: p.output, AudioTokens: p.audio, CachedAudioTokens: p.audioRead, CachedTokens: p.read,
		CacheWriteTokens: p.write, CacheWriteHourTokens: p.hour, Searches: p.search * 1_000_000, SearchPrompts: p.prompt * 1_000_000,
	}}
	if p.above != nil {
		above := p.above.price()
		price.Above = &above
	}
	return price
}

func anyFormerPrice(r *rand.Rand, steps int) formerPrice {
	scale := []int64{1, 1000, 5_000_000, 200_000_000}[r.IntN(4)]
	maybe := func() int64 { return r.Int64N(2) * r.Int64N(scale) }
	p := formerPrice{maybe(), maybe(), maybe(), maybe(), maybe(), maybe(), maybe(), r.Int64N(2) * r.Int64N(40_000), maybe(), 0, nil}
	if steps > 0 && r.IntN(2) == 0 {
		above := anyFormerPrice(r, steps-1)
		p.over, p.above = r.Int64N(2000), &above
	}
	return p
}

func TestTheSameSumsAsBeforeThereWereUnits(t *testing.T) {
	const calls = 100_000
	steps, searched, free := 0, 0, 0
	for seed := range uint64(calls) {
		r := rand.New(rand.NewPCG(seed, 3))
		p, most := anyFormerPrice(r, 2), []int64{1, 10, 3000, 1 << 40}[r.IntN(4)]
		c := anyTokens(r, most)
		c.Audio, c.CachedAudio = r.Int64N(2)*r.Int64N(most+2), r.Int64N(2)*r.Int64N(most+2)
		searches := r.Int64N(2) * r.Int64N(5)
		amounts := c.amounts()
		amounts[Searches] = searches
		amounts[ReasoningTokens] = r.Int64N(most + 2) // which cost as much as other output
		want, price := p.cost(c, searches), p.price()
		if got := price.Cost(amounts); !want.IsInt64() || got != want.Int64() {
			t.Fatalf("seed %d: %s: %+v cost %d, and before %s", seed, shown(price), amounts, got, want)
		}
		if lines := price.Lines(amounts); linesOf(lines).Cmp(want) != 0 {
			t.Fatalf("seed %d: the sum of %+v is not %s", seed, lines, want)
		}
		if p.above != nil && c.Input > p.over {
			steps++
		}
		if searches > 0 && p.search+p.prompt > 0 {
			searched++
		}
		if want.Sign() == 0 {
			free++
		}
	}
	t.Logf("%d calls at as many prices: %d longer than a step, %d with paid searches, %d for nothing", calls, steps, searched, free)
	if steps < calls/10 || searched < calls/10 || free > calls/2 {
		t.Error("these are not the calls that are to be compared")
	}
}

// linesOf is the sum of lines, by rational arithmetic.
func linesOf(lines []Line) *big.Int {
	sum := new(big.Rat)
	for _, l := range lines {
		sum.Add(sum, new(big.Rat).Mul(new(big.Rat).SetInt64(l.Amount), big.NewRat(l.Rate, 1_000_000)))
	}
	return rounded(sum)
}

func TestAllUnitsAreSummedExactly(t *testing.T) {
	for seed := range uint64(50_000) {
		r := rand.New(rand.NewPCG(seed, 4))
		p, a, sum := Price{Known: true}, Amounts{}, new(big.Rat)
		for _, u := range []Unit{InputTokens, OutputTokens, ReasoningTokens, Searches, Requests, Images, Seconds, Characters} {
			p.Rates[u], a[u] = 1+r.Int64N([]int64{5_000_000, 50_000_000_000}[r.IntN(2)]), r.Int64N(100_000)
			part := a[u]
			if u == ReasoningTokens {
				part = min(part, a[OutputTokens])
				sum.Sub(sum, new(big.Rat).Mul(new(big.Rat).SetInt64(part), big.NewRat(p.Rates[OutputTokens], 1_000_000)))
			}
			sum.Add(sum, new(big.Rat).Mul(new(big.Rat).SetInt64(part), big.NewRat(p.Rates[u], 1_000_000)))
		}
		want := rounded(sum)
		if got := p.Cost(a); got != want.Int64() {
			t.Fatalf("seed %d: %+v of %+v: %d, not %s", seed, p.Rates, a, got, want)
		}
		if got := p.MaxCost(a); got < want.Int64() {
			t.Fatalf("seed %d: %+v of %+v: at most %d, and they cost %s", seed, p.Rates, a, got, want)
		}
	}
}

func TestAFilePricesEveryUnit(t *testing.T) {
	p := priceOf(t, "models: [{id: a, provider: openai, price: {input: 1, output: 2, reasoning: 3, "+
		"fees: {request: 0.01, image: 0.04, second: 0.0001, character: 0.0000000004}}}]", "a")
	a := Amounts{InputTokens: 10, OutputTokens: 10, ReasoningTokens: 4, Requests: 1, Images: 2, Seconds: 3, Characters: 5000}
	// 10 × 1 + 6 × 2 + 4 × 3 + 10,000 + 2 × 40,000 + 3 × 100 + 5000 × 0.0004
	if got := p.Cost(a); got != 10+12+12+10_000+80_000+300+2 {
		t.Errorf("%d", got)
	}
	names := ""
	for _, l := range p.Lines(a) {
		names += l.Unit.String() + " of " + l.Counts() + ", "
	}
	want := "input of token, output of token, reasoning of token, request of request, image of image, second of second, " +
		"character of character, "
	if names != want {
		t.Error(names)
	}
	fees := map[string]float64{"request": 0.01, "image": 0.04, "second": 0.0001, "character": 0.0000000004}
	if got := p.Rates.Fees(); !maps.Equal(got, fees) {
		t.Errorf("%v", got)
	}
	if q := p.times(2_000_000); q.Rates[ReasoningTokens] != 6_000_000 || q.Rates[Images] != p.Rates[Images] {
		t.Errorf("%+v", q.Rates)
	}
	p.Above, p.Over = &Price{Rates: Rates{InputTokens: 5_000_000}}, 9
	if got := p.Cost(Amounts{InputTokens: 10, Images: 1}); got != 50+40_000 {
		t.Errorf("a long prompt: %d", got)
	}
	for price, says := range map[string]string{
		"inputs: 1":            "inputs: 1 is not a number of dollars of one of audio, audio_cache_read, cache_read, cache_write",
		"image: 1":             "image: 1 is not",
		"fees: {input: 1}":     "input: 1 is not a number of dollars of one of character, file_search_request, image",
		"fees: {image: -1}":    "image: -1 is not",
		"fees: {image: 1e9}":   "image: 1e+09 is not",
		"above: {output: -1}":  "output: -1 is not",
		"fees: {image: cheap}": "is not a number",
	} {
		for _, entry := range []string{"{id: a, provider: openai, price: {%}}", "{id: a, upstreams: [{provider: openai, price: {%}}]}"} {
			entry = strings.ReplaceAll(entry, "%", price)
			file := filepath.Join(t.TempDir(), "models.yaml")
			if err := os.WriteFile(file, []byte("models: ["+entry+"]"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(file); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", entry, err)
			}
		}
	}
}

func TestAnUpstreamHasItsOwnFees(t *testing.T) {
	p := priceOf(t, "models: [{id: a, upstreams: [{provider: openai, "+
		"price: {input: 1, multipliers: {tier.flex: 0.5}, fees: {image: 0.04}}}]}]", "a")
	if p.Rates[Images] != 40_000_000_000 || p.Factors.Flex != 500_000 {
		t.Errorf("%+v", p)
	}
}

func TestAnAnswerMayBeAllReasoning(t *testing.T) {
	p := Price{Known: true, Rates: Rates{OutputTokens: 1_000_000, ReasoningTokens: 3_000_000}, Over: 10}
	p.Above = &Price{Known: true, Rates: Rates{OutputTokens: 2_000_000}}
	if got := p.WithReasoning(); got.Rates[OutputTokens] != 3_000_000 || got.Above.Rates[OutputTokens] != 2_000_000 {
		t.Errorf("%s", shown(got))
	}
	if got := maxCost(p, 1, 100); got != 301 {
		t.Errorf("%d", got)
	}
}
