package catalog

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// published is a model's price as its provider publishes it, in dollars per million
// tokens.
type published struct{ input, output, read, write, hour string }

// publishedPrices are the prices of the embedded catalogue, typed a second time.
var publishedPrices = map[string]published{
	"claude-3-haiku-20240307":               {"0.25", "1.25", "0.03", "0.30", "0.50"},
	"claude-3-5-haiku-20241022":             {"0.80", "4", "0.08", "1", "1.60"},
	"claude-3-7-sonnet-20250219":            {"3", "15", "0.30", "3.75", "6"},
	"claude-sonnet-4-20250514":              {"3", "15", "0.30", "3.75", "6"},
	"claude-opus-4-20250514":                {"15", "75", "1.50", "18.75", "30"},
	"claude-opus-4-1-20250805":              {"15", "75", "1.50", "18.75", "30"},
	"claude-sonnet-4-5-20250929":            {"3", "15", "0.30", "3.75", "6"},
	"claude-haiku-4-5-20251001":             {"1", "5", "0.10", "1.25", "2"},
	"gpt-4-turbo":                           {"10", "30", "10", "10", "10"},
	"gpt-4":                                 {"30", "60", "30", "30", "30"},
	"gpt-3.5-turbo":                         {"0.50", "1.50", "0.50", "0.50", "0.50"},
	"gemini-2.5-pro":                        {"1.25", "10", "0.125", "1.25", "1.25"},
	"gemini-2.5-flash":                      {"0.30", "2.50", "0.03", "0.30", "0.30"},
	"gemini-2.5-flash-lite":                 {"0.10", "0.40", "0.01", "0.10", "0.10"},
	"gemini-2.5-flash-image-preview":        {"0.30", "30", "0.075", "0.30", "0.30"},
	"gemini-2.5-flash-preview-09-2025":      {"0.30", "2.50", "0.075", "0.30", "0.30"},
	"gemini-2.5-flash-lite-preview-09-2025": {"0.10", "0.40", "0.025", "0.10", "0.10"},
	"gemini-2.0-flash":                      {"0.10", "0.40", "0.025", "0.10", "0.10"},
	"text-embedding-3-small":                {"0.02", "0", "0.02", "0.02", "0.02"},
	"text-embedding-3-large":                {"0.13", "0", "0.13", "0.13", "0.13"},
	"text-embedding-ada-002":                {"0.10", "0", "0.10", "0.10", "0.10"},
	"gemini-embedding-001":                  {"0.15", "0", "0.15", "0.15", "0.15"},
	"gemini-embedding-2":                    {"0.20", "0", "0.20", "0.20", "0.20"},
	"gemini-embedding-2-preview":            {"0.20", "0", "0.20", "0.20", "0.20"},
}

// counts are the tokens of a call.
type counts struct{ Input, Audio, Cached, CachedAudio, CacheWrite, CacheWriteHour, Output int64 }

func (c counts) amounts() Amounts {
	return Amounts{
		InputTokens: c.Input, AudioTokens: c.Audio, CachedTokens: c.Cached, CachedAudioTokens: c.CachedAudio,
		CacheWriteTokens: c.CacheWrite, CacheWriteHourTokens: c.CacheWriteHour, OutputTokens: c.Output,
	}
}

func maxCost(p Price, input, output int64) int64 {
	return p.MaxCost(Amounts{InputTokens: input, OutputTokens: output})
}

// longPrompts is the price of gemini-2.5-pro for prompts longer than 200,000.
var longPrompts = published{"2.50", "15", "0.25", "2.50", "2.50"}

// cost is the cost in micro-dollars, rounded half up, by rational arithmetic:
// dollars per million tokens are micro-dollars per token.
func (w published) cost(t counts) *big.Int {
	sum := new(big.Rat)
	add := func(tokens int64, price string) {
		p, ok := new(big.Rat).SetString(price)
		if !ok {
			panic(price)
		}
		sum.Add(sum, p.Mul(p, new(big.Rat).SetInt64(tokens)))
	}
	add(t.Input-t.Cached-t.CacheWrite, w.input)
	add(t.Cached, w.read)
	add(t.CacheWrite-t.CacheWriteHour, w.write)
	add(t.CacheWriteHour, w.hour)
	add(t.Output, w.output)
	sum.Add(sum, big.NewRat(1, 2))
	return new(big.Int).Div(sum.Num(), sum.Denom())
}

// publishedFor is the published price for a call of this model.
func publishedFor(id string, t counts) published {
	if id == "gemini-2.5-pro" && t.Input > 200_000 {
		return longPrompts
	}
	return publishedPrices[id]
}

func priceOf(t *testing.T, overlay, id string) Price {
	t.Helper()
	m, ok := load(t, overlay).Model(id)
	if !ok {
		t.Fatalf("%s is not in the catalogue", id)
	}
	return m.Price
}

func TestEveryModelCostsWhatItsProviderPublishes(t *testing.T) {
	models := load(t, "").Models()
	if len(models) != len(publishedPrices) {
		t.Errorf("%d models, and %d published prices", len(models), len(publishedPrices))
	}
	for _, m := range models {
		for _, tokens := range []counts{
			{Input: 1_000_000}, {Output: 1_000_000}, {Input: 1_000_000, Cached: 1_000_000},
			{Input: 1_000_000, CacheWrite: 1_000_000}, {Input: 1_000_000, CacheWrite: 1_000_000, CacheWriteHour: 1_000_000},
			{Input: 1, Output: 1}, {Input: 199_999, Cached: 7, CacheWrite: 11, CacheWriteHour: 5, Output: 13}, {},
		} {
			want := publishedFor(m.ID, tokens).cost(tokens)
			if got := m.Price.Cost(tokens.amounts()); !m.Price.Known || !want.IsInt64() || got != want.Int64() {
				t.Errorf("%s: %+v cost %d, not %s (known: %v)", m.ID, tokens, got, want, m.Price.Known)
			}
		}
	}
}

func TestCostsAtTheEdgesOfPrices(t *testing.T) {
	const haiku, opus, pro, gpt = "claude-haiku-4-5-20251001", "claude-opus-4-20250514", "gemini-2.5-pro", "gpt-4"
	for _, tt := range []struct {
		name, model string
		tokens      counts
		want        int64
	}{
		// 1000 × 1.00 + 500 × 5.00 = 1000 + 2500
		{"input and output", haiku, counts{Input: 1000, Output: 500}, 3500},
		// (1000 − 900) × 1.00 + 900 × 0.10 = 100 + 90
		{"cached", haiku, counts{Input: 1000, Cached: 900}, 190},
		// (1000 − 800) × 1.00 + 800 × 1.25 = 200 + 1000
		{"written for five minutes", haiku, counts{Input: 1000, CacheWrite: 800}, 1200},
		// 200 × 1.00 + 800 × 2.00 = 200 + 1600
		{"written for an hour", haiku, counts{Input: 1000, CacheWrite: 800, CacheWriteHour: 800}, 1800},
		// 100 × 1.00 + 100 × 0.10 + 500 × 1.25 + 300 × 2.00 = 100 + 10 + 625 + 600
		{"cached, and written for both", haiku, counts{Input: 1000, Cached: 100, CacheWrite: 800, CacheWriteHour: 300}, 1335},
		// 10 × 15 + 20 × 1.50 + 30 × 18.75 + 40 × 30 + 50 × 75 = 150 + 30 + 562.5 + 1200 + 3750 = 5692.5
		{"the half is rounded up", opus, counts{Input: 100, Cached: 20, CacheWrite: 70, CacheWriteHour: 40, Output: 50}, 5693},
		// 1 × 0.30 + 0 = 0.3
		{"less than a half is nothing", "gemini-2.5-flash", counts{Input: 1}, 0},
		// 1 × 0.50 = 0.5
		{"exactly a half is one", "gpt-3.5-turbo", counts{Input: 1}, 1},
		// 3 × 0.50 = 1.5
		{"one and a half is two", "gpt-3.5-turbo", counts{Input: 3}, 2},
		// 4 × 0.125 = 0.5, and 3 × 0.125 = 0.375
		{"a half of eighths", pro, counts{Input: 4, Cached: 4}, 1},
		{"less than a half of eighths", pro, counts{Input: 3, Cached: 3}, 0},
		// 0.4 + 0.3: rounded each by itself it would be nothing
		{"the sum is rounded, not its parts", "gemini-2.5-flash", counts{Input: 1, Output: 0, Cached: 0}, 0},
		// 1 × 0.10 + 1 × 0.40 = 0.5
		{"two parts that only together are a half", "gemini-2.5-flash-lite", counts{Input: 1, Output: 1}, 1},
		// 100 × 30 + 900 × 30: without a price of their own, cached tokens cost as much
		{"cached at no price of its own", gpt, counts{Input: 1000, Cached: 900}, 30_000},
		{"written at no price of its own", gpt, counts{Input: 1000, CacheWrite: 900, CacheWriteHour: 100}, 30_000},

		// 300 × 0.30 + 700 × 1.00
		{"sounds", "gemini-2.5-flash", counts{Input: 1000, Audio: 700}, 790},
		// 100 × 0.30 + 500 × 1.00 + 200 × 0.03 + 200 × 0.10 = 30 + 500 + 6 + 20
		{"sounds, of which some are cached", "gemini-2.5-flash", counts{Input: 1000, Audio: 700, Cached: 400, CachedAudio: 200}, 556},
		// 1000 × 1.00: there are no more sounds than input
		{"sounds beyond the prompt", "gemini-2.5-flash", counts{Input: 1000, Audio: 5000}, 1000},
		// 1000 × 1.00, cached sounds without a price of their own
		{"cached sounds", "gemini-2.5-flash-preview-09-2025", counts{Input: 1000, Audio: 1000, Cached: 1000, CachedAudio: 1000}, 1000},
		// 1000 × 30
		{"sounds at no price of their own", gpt, counts{Input: 1000, Audio: 700}, 30_000},

		// 200,000 × 1.25 + 1000 × 10 = 250,000 + 10,000
		{"as long as the step", pro, counts{Input: 200_000, Output: 1000}, 260_000},
		// 200,001 × 2.50 + 1000 × 15 = 500,002.5 + 15,000
		{"one longer: the whole call", pro, counts{Input: 200_001, Output: 1000}, 515_003},
		// 1 × 2.50 + 200,000 × 0.25 = 2.5 + 50,000
		{"one longer, and nearly all cached", pro, counts{Input: 200_001, Cached: 200_000}, 50_003},
		// 200,000 × 0.125
		{"as long as the step, and all cached", pro, counts{Input: 200_000, Cached: 200_000}, 25_000},

		// 10 × 0.10: more cannot be cached than there is
		{"cached beyond the prompt", haiku, counts{Input: 10, Cached: 11}, 1},
		// 6 × 0.10 + 4 × 1.25 = 5.6
		{"written beyond the rest", haiku, counts{Input: 10, Cached: 6, CacheWrite: 100}, 6},
		// 4 × 2.00 + 6 × 1.00
		{"for an hour beyond what is written", haiku, counts{Input: 10, CacheWrite: 4, CacheWriteHour: 100}, 14},
		{"for an hour, and nothing is written", haiku, counts{Input: 10, CacheWriteHour: 5}, 10},
		{"all is negative", haiku, counts{Input: -1000, Cached: -5, CacheWrite: -5, CacheWriteHour: -5, Output: -1000}, 0},
		{"a negative prompt pays for no answer", haiku, counts{Input: -1000, Output: 10}, 50},
		{"negative parts", haiku, counts{Input: 10, Cached: -5, CacheWrite: -5, CacheWriteHour: -5}, 10},
		{"negative and cached", haiku, counts{Input: -10, Cached: 5, CacheWrite: 5, CacheWriteHour: 5}, 0},
		{"nothing at all", haiku, counts{}, 0},
		// 2^62 × 1 is still a number
		{"a very large prompt", haiku, counts{Input: 1 << 62}, 1 << 62},
		{"more than an int64", opus, counts{Input: 1 << 62, Output: 1 << 62}, math.MaxInt64},
		{
			"the largest numbers", opus,
			counts{Input: math.MaxInt64, Cached: math.MaxInt64, CacheWrite: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64,
		},
	} {
		got := priceOf(t, "", tt.model).Cost(tt.tokens.amounts())
		if got != tt.want {
			t.Errorf("%s: %+v cost %d, not %d", tt.name, tt.tokens, got, tt.want)
		}
		if k := tt.tokens; k.Audio > 0 || k.Cached < 0 || k.Cached+k.CacheWrite > k.Input || k.CacheWriteHour > k.CacheWrite || k.Input < 0 ||
			k.Input > 1<<62 {
			continue // no provider counts such tokens
		}
		if want := publishedFor(tt.model, tt.tokens).cost(tt.tokens); want.IsInt64() && want.Int64() != got {
			t.Errorf("%s: %d, and by rational arithmetic %s", tt.name, got, want)
		}
	}
}

func TestAFreeModelDiffersFromOneWithoutAPrice(t *testing.T) {
	for members, want := range map[string]Price{
		"":                                      {},
		", price: {input: 0, output: 0}":        {Known: true},
		", price: {}":                           {Known: true},
		", price: {input: 0.000001, output: 2}": {Known: true, Rates: Rates{InputTokens: 1, OutputTokens: 2_000_000}},
		", price: {input: 1, output: 2, cache_write_1h: 4}": {
			Known: true, Rates: Rates{InputTokens: 1_000_000, OutputTokens: 2_000_000, CacheWriteHourTokens: 4_000_000},
		},
		", price: {input: 0.1, output: 0.7, cache_read: 0.01}": {
			Known: true, Rates: Rates{InputTokens: 100_000, OutputTokens: 700_000, CachedTokens: 10_000},
		},
	} {
		overlay := "models: [{id: a, provider: openai" + members + "}]"
		if got := priceOf(t, overlay, "a"); got != want {
			t.Errorf("%s: %+v", overlay, got)
		}
	}
	if p := (Price{}); p.Known || p.Cost(counts{Input: 1 << 40, Output: 1 << 40}.amounts()) != 0 {
		t.Error("a model without a price costs something")
	}
}

func TestAPriceInTheFileReplacesTheWholePrice(t *testing.T) {
	const id = "gemini-2.5-pro"
	old := priceOf(t, "", id)
	got := priceOf(t, "models: [{id: "+id+", context: 5}]", id)
	if got.Rates != old.Rates || got.Above == nil || got.Above.Rates != old.Above.Rates {
		t.Errorf("a price that the file does not set is changed: %+v", got)
	}
	got = priceOf(t, "models: [{id: "+id+", price: {input: 0, output: 0}}]", id)
	if got != (Price{Known: true}) || got.Cost(counts{Input: 300_000, Output: 5}.amounts()) != 0 {
		t.Errorf("a free model costs something: %+v", got)
	}
	got = priceOf(t, "models: [{id: "+id+", price: {input: 4, output: 8, over: 10, above: {input: 5, output: 9, cache_read: 1}}}]", id)
	// 10 × 4 + 1 × 8; 1 × 5 + 10 × 1 + 1 × 9
	short, long := counts{Input: 10, Cached: 10, Output: 1}, counts{Input: 11, Cached: 10, Output: 1}
	if got.Cost(short.amounts()) != 48 || got.Cost(long.amounts()) != 24 {
		t.Errorf("%+v", got)
	}
}

func TestCacheWritesForAnHourCostEightFifthsByDefault(t *testing.T) {
	for prices, want := range map[string]int64{
		"input: 1, output: 1, cache_write: 1.25":                    2_000_000,
		"input: 1, output: 1, cache_write: 1.25, cache_write_1h: 3": 3_000_000,
		"input: 1, output: 1":                                       1_000_000,
		"input: 1, output: 1, cache_write_1h: 3":                    3_000_000,
		"input: 3, output: 1, cache_write: 3.75":                    6_000_000,
		"input: 1, output: 1, cache_write: 2, cache_write_1h: 1":    2_000_000, // an hour is not less than five minutes
	} {
		p := priceOf(t, "models: [{id: a, provider: openai, price: {"+prices+"}}]", "a")
		if got := p.Cost(counts{Input: 1_000_000, CacheWrite: 1_000_000, CacheWriteHour: 1_000_000}.amounts()); got != want {
			t.Errorf("%s: %d, not %d", prices, got, want)
		}
	}
}

func TestNegativePricesAreRefused(t *testing.T) {
	for _, price := range []string{
		"input: -1", "output: -1", "cache_read: -1", "cache_write: -1", "cache_write_1h: -1", "over: -1",
		"above: {input: -1}", "above: {above: {output: -1}}", "input: -.inf", "inputs: 1",
	} {
		file := filepath.Join(t.TempDir(), "models.yaml")
		if err := os.WriteFile(file, []byte("models: [{id: a, provider: openai, price: {"+price+"}}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file); err == nil {
			t.Errorf("accepted: %s", price)
		}
	}
}

// anyPrice makes prices of all shapes, with up to two steps.
func anyPrice(r *rand.Rand, steps int) Price {
	scale := []int64{1, 1000, 5_000_000, 200_000_000}[r.IntN(4)]
	maybe := func() int64 { return r.Int64N(2) * r.Int64N(scale) }
	p := Price{Known: true, Rates: Rates{
		InputTokens: r.Int64N(scale), OutputTokens: r.Int64N(scale),
		CachedTokens: maybe(), CacheWriteTokens: maybe(), CacheWriteHourTokens: maybe(),
	}}
	if steps > 0 && r.IntN(2) == 0 {
		above := anyPrice(r, steps-1)
		p.Over, p.Above = r.Int64N(2000), &above
	}
	return p
}

func anyTokens(r *rand.Rand, most int64) counts {
	n := func() int64 { return r.Int64N(most+most/4+2) - most/8 }
	return counts{Input: min(n(), most), Cached: n(), CacheWrite: n(), CacheWriteHour: n(), Output: min(n(), most)}
}

func TestTheUpperBoundIsNeverExceeded(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, most := anyPrice(r, 2), []int64{1, 10, 3000, 1 << 40, 1 << 62}[r.IntN(5)]
		tokens := anyTokens(r, most)
		input, output := max(tokens.Input, 0)+r.Int64N(3), max(tokens.Output, 0)+r.Int64N(3)
		if cost, bound := p.Cost(tokens.amounts()), maxCost(p, input, output); cost > bound || cost < 0 {
			t.Fatalf("seed %d: %s: %+v cost %d, and %d input and %d output at most %d", seed, shown(p), tokens, cost, input, output, bound)
		}
	}
}

// A bound far above the cost of the most expensive call would refuse calls for which
// there is enough budget.
func TestTheUpperBoundIsTight(t *testing.T) {
	for _, m := range load(t, "").Models() {
		highest := m.Price.Cost(counts{Input: 190_000, CacheWrite: 190_000, CacheWriteHour: 190_000, Output: 5000}.amounts())
		if got := maxCost(m.Price, 190_000, 5000); got != highest+1 {
			t.Errorf("%s: %d, and the most expensive call costs %d", m.ID, got, highest)
		}
	}
	// 2^62 × 4 is 2^64 micro-dollars, where the sum of what is not yet divided is a
	// million times 2^64.
	if got := (Price{Known: true, Rates: Rates{InputTokens: 4_000_000}}).Cost(counts{Input: 1 << 62}.amounts()); got != math.MaxInt64 {
		t.Errorf("more than the largest int64: %d", got)
	}
	p := Price{Known: true, Rates: Rates{InputTokens: 5_000_000, OutputTokens: 9_000_000}, Over: 100}
	p.Above = &Price{Known: true, Rates: Rates{InputTokens: 1_000_000, OutputTokens: 1_000_000}}
	if short, long := maxCost(p, 100, 1), maxCost(p, 101, 1); short != 100*5+9+1 || long != 101*5+9+1 {
		t.Errorf("a lower price for long prompts: %d, %d", short, long)
	}
	if got := maxCost(p, -5, -5); got != 1 {
		t.Errorf("of negative tokens: %d", got)
	}
	if got := maxCost(p, math.MaxInt64, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("of the largest numbers: %d", got)
	}
}

func TestMoreTokensNeverCostLess(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := anyPrice(r, 0) // a step may go down
		most := []int64{1, 10, 3000, 1 << 40}[r.IntN(4)]
		tokens, step := anyTokens(r, most), 1+r.Int64N(5)
		// As with every provider, writing costs more and reading less.
		of := &p.Rates
		of[CacheWriteTokens], of[CachedTokens] = max(of[CacheWriteTokens], of[InputTokens]), min(of[CachedTokens], of[InputTokens])
		for name, change := range map[string]func(*counts){
			"input":        func(t *counts) { t.Input += step },
			"output":       func(t *counts) { t.Output += step },
			"cache writes": func(t *counts) { t.CacheWrite += step },
			"an hour's":    func(t *counts) { t.CacheWriteHour += step },
			"fewer cached": func(t *counts) { t.Cached -= step },
		} {
			more := tokens
			change(&more)
			if before, after := p.Cost(tokens.amounts()), p.Cost(more.amounts()); after < before {
				t.Fatalf("seed %d: %s: %+v cost %d, and with more %s %d", seed, shown(p), tokens, before, name, after)
			}
		}
	}
}

func shown(p Price) string {
	text := fmt.Sprintf("%+v", p)
	if p.Above != nil {
		text += " above: " + shown(*p.Above)
	}
	return text
}
