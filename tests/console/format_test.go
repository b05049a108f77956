package console

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestNumbersAreWrittenByTheRules runs the console's own module: what it writes is what pages show.
func TestNumbersAreWrittenByTheRules(t *testing.T) {
	t.Parallel()
	p := open(newBrowser(t), t, start(t), desktop)
	p.visit("/signin")
	p.see("Sign in")
	rules := map[string][][2]any{
		"count": {
			{nil, "–"}, {0, "0"}, {950, "950"}, {1240, "1.24k"}, {9870, "9.87k"}, {38_200_000, "38.2M"}, {999_600, "1.00M"},
			{1_030_000_000, "1.03B"},
		},
		"money": {
			{nil, "–"}, {0, "$0"}, {0.0000001, "<$0.000001"}, {0.000412, "$0.000412"}, {0.084, "$0.0840"}, {0.0999, "$0.0999"},
			{0.0999999, "$0.10"}, {41.2, "$41.20"}, {1284.1, "$1,284.10"}, {-2, "−$2.00"},
		},
		"amount":     {{25, "$25"}, {0.5, "$0.5"}, {0.0035, "$0.0035"}},
		"moneyExact": {{0.043035, "$0.043035"}, {0, "$0.000000"}},
		"axisMoney":  {{0, "$0"}, {0.0001, "$0.0001"}, {0.15, "$0.15"}, {20, "$20"}, {1500, "$1.5k"}},
		"axisCount":  {{50_000, "50k"}, {1500, "1.5k"}, {0, "0"}},
		"share":      {{0, "0%"}, {0.0004, "<0.1%"}, {0.006, "0.6%"}, {0.12, "12%"}, {1, "100%"}},
		"duration": {
			{nil, "–"}, {412, "412 ms"}, {999.4, "999 ms"}, {1840, "1.84 s"}, {12_400, "12.4 s"}, {59_960, "1 min 00 s"},
			{125_000, "2 min 05 s"},
		},
		"size": {{200_000, "200k"}, {1_000_000, "1M"}},
	}
	sent, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range ask[[]string](p, `import("/console/lib/format.js").then((format) =>
		Object.entries(`+string(sent)+`).flatMap(([name, cases]) =>
		cases.filter(([value, want]) => format[name](value) !== want).map(([value, want]) =>
			name + "(" + value + ") is " + format[name](value) + ", want " + want)))`, chromedp.EvalAwaitPromise) {
		t.Error(wrong)
	}
	for _, wrong := range ask[[]string](p, `import("/console/lib/format.js").then(({ ago, until }) => {
		const now = Date.UTC(2026, 10, 23, 12), hour = 3600e3;
		return [
			[ago(now - 2e3, now), "now"], [ago(now - 42e3, now), "42 s ago"], [ago(now - 4 * hour, now), "4 h ago"],
			[ago(now - 31 * 24 * hour, now), "23 Oct 2026"], [ago(null), "Never"],
			[until(now + 7 * 24 * hour - 900, now), "in 7 d"], [until(now + 31e3, now), "in 31 s"],
			[until(now + 59.8 * 60e3, now), "in 1 h"], [until(now - 1, now), "over"],
		].filter(([is, want]) => is !== want).map((pair) => pair.join(", want "));
	})`, chromedp.EvalAwaitPromise) {
		t.Error(wrong)
	}
}
