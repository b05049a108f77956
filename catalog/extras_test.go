package catalog

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheWayOfServingChangesThePrice(t *testing.T) {
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	gpt, opus := c.Derive(OpenAI, "gpt-5.4").Price, c.Derive(Anthropic, "claude-opus-4-8").Price
	for _, tt := range []struct {
		price         Price
		way           Way
		input, output int64
		known         bool
	}{
		{gpt, Way{}, 2_500_000, 15_000_000, true},
		{gpt, Way{Tier: "default"}, 2_500_000, 15_000_000, true},
		{gpt, Way{Tier: "priority"}, 5_000_000, 30_000_000, true},
		{gpt, Way{Tier: "flex"}, 1_250_000, 7_500_000, true},
		{gpt, Way{Tier: "scale"}, 2_500_000, 15_000_000, false},
		{opus, Way{Tier: "priority"}, 5_000_000, 25_000_000, false},
		{gpt, Way{Tier: "batch"}, 1_250_000, 7_500_000, true},
		{opus, Way{Tier: "batch"}, 2_500_000, 12_500_000, true},
		{opus, Way{Tier: "default", Speed: "fast"}, 10_000_000, 50_000_000, true},
		{opus, Way{Tier: "default", Speed: "standard", Geo: "us"}, 5_500_000, 27_500_000, true},
		{opus, Way{Speed: "fast", Geo: "us"}, 11_000_000, 55_000_000, true},
		{opus, Way{Geo: "not_available"}, 5_000_000, 25_000_000, true},
		{opus, Way{Speed: "warp"}, 5_000_000, 25_000_000, false},
	} {
		if in, known := tt.price.In(tt.way); in.Rates[InputTokens] != tt.input || in.Rates[OutputTokens] != tt.output || known != tt.known {
			t.Errorf("%+v: %d and %d, known: %v", tt.way, in.Rates[InputTokens], in.Rates[OutputTokens], known)
		}
	}
	in, _ := gpt.In(Way{Tier: "priority"})
	if usual := gpt.Above.Rates[InputTokens]; usual == 0 || in.Above.Rates[InputTokens] != 2*usual {
		t.Errorf("long prompts: %+v %+v", gpt.Above, in.Above)
	}
	if in, _ := (Price{Known: true, Rates: Rates{InputTokens: 3}}).In(Way{}); in.Rates[InputTokens] != 3 {
		t.Errorf("%+v", in)
	}
	half := Price{Rates: Rates{InputTokens: 3, OutputTokens: 1}}.times(500_000)
	if half.Rates != (Rates{InputTokens: 2, OutputTokens: 1}) { // rounded half up
		t.Errorf("%+v", half)
	}
}

func TestSearchesHaveAFee(t *testing.T) {
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	p := c.Derive(Anthropic, "claude-opus-4-8").Price
	if got := p.Cost(Amounts{InputTokens: 1000, OutputTokens: 100, Searches: 3}); got != 5_000+2_500+30_000 { // 10 dollars for 1,000
		t.Errorf("%d", got)
	}
	p.Above, p.Over = &Price{Rates: Rates{InputTokens: 1_000_000}}, 10
	if got := p.Cost(Amounts{InputTokens: 1000, Searches: 1}); got != 1_000+10_000 {
		t.Errorf("a long prompt: %d", got)
	}
	if got := p.Cost(Amounts{Searches: 1 << 62}); got < 0 || got > 1e13 {
		t.Errorf("absurd: %d", got)
	}
	flash := c.Derive(Gemini, "gemini-2.5-flash").Price // 35 dollars for 1,000 prompts that search
	if one, three := flash.Cost(Amounts{Searches: 1}), flash.Cost(Amounts{Searches: 3}); one != 35_000 || three != 35_000 {
		t.Errorf("a fee for the prompt: %d of one search, %d of three", one, three)
	}
	if got := c.Derive(Gemini, "gemini-3.5-flash").Price.Cost(Amounts{Searches: 3}); got != 3*14_000 { // 14 dollars for 1,000 searches
		t.Errorf("a fee for each search: %d", got)
	}
}

func TestModelsFileSetsMultipliersAndFees(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.yaml")
	load := func(price string) (*Catalog, error) {
		if err := os.WriteFile(file, []byte("models: [{id: m, provider: openai, price: {input: 2, output: 8, "+price+"}}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(file)
	}
	c, err := load("multipliers: {tier.priority: 1.75, tier.batch: 0.5, geo.us: 1.1}, " +
		"fees: {web_search_request: 0.025, file_search_request: 0.0025}")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := c.Model("m")
	if m.Price.Factors != (Factors{Priority: 1_750_000, Batch: 500_000, US: 1_100_000}) ||
		!maps.Equal(m.Price.Rates.Fees(), map[string]float64{"web_search_request": 0.025, "file_search_request": 0.0025}) {
		t.Errorf("%+v", m.Price)
	}
	for price, says := range map[string]string{
		"multipliers: {tier.scale: 2}":        "geo.us, speed.fast, tier.batch, tier.flex, tier.priority",
		"multipliers: {tier.flex: 0}":         "tier.flex: 0 is not a number above 0",
		"fees: {code_interpreter: 1}":         "character, file_search_request, image, request, second, web_search_prompt, web_search_request",
		"fees: {web_search_request: -1}":      "-1 is not a number of dollars",
		"multipliers: {tier.flex: -0.500001}": "above 0",
	} {
		if _, err := load(price); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", price, err)
		}
	}
}
