package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

// hostile is the beginning of names that would be run, were they ever taken for HTML.
const hostile = `"><img src=x onerror=console.error('run')><script>console.error('run')</script>`

// called makes a key with a hostile name and calls with it, and waits until the ledger has
// them. It returns the secret and the name of the key.
func called(t *testing.T, p *page, calls int) (secret, name string) {
	t.Helper()
	token := p.Administrator(t)
	name = hostile + " " + p.view.name
	a := p.Call(t, "POST", "/auth/keys", fmt.Sprintf(`{"name":%s}`, quoted(name)), token...)
	if a.Status != 201 {
		t.Fatalf("create key: %d %s", a.Status, a.Body)
	}
	secret = gatewaytest.Field(t, a, "key")
	for i := range calls {
		hello(t, p, secret, fmt.Sprint(i))
	}
	path := "/admin/calls?limit=200&key_id=" + gatewaytest.Field(t, a, "id")
	gatewaytest.Until(t, "the ledger has the calls", func() bool {
		return strings.Count(p.Call(t, "GET", path, "", token...).Body, `"object":"call"`) == calls
	})
	return secret, name
}

// hello makes a call; the answer is another one for each text, which no cache has.
func hello(t *testing.T, p *page, secret, text string) {
	t.Helper()
	a := p.Chat(t, `{"model":"claude-haiku-4-5","seed":7,"logit_bias":{"1":1},"messages":[{"role":"user","content":"hello `+
		p.view.name+text+`"}]}`, "Authorization", "Bearer "+secret, "User-Agent", hostile)
	if a.Status != 200 {
		t.Fatalf("call: %d %s", a.Status, a.Body)
	}
}

func TestUsageIsReadFilteredAndFollowedToItsCalls(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		_, name := called(t, p, 3)
		p.visit("/usage?range=24h&by=key")
		p.see(name)
		p.see("Time to first token")
		p.inspect("usage")
		readWithKeys(p)
		tabled(p)

		p.choose("Then by", "and model")
		p.see("Usage by key and model")
		p.await("there is no row of a key and a model", func() bool {
			return ask[bool](p, `!!document.querySelector(".breakdown td.then a")?.textContent.includes("haiku")`)
		})
		p.inspect("usage-two-groups")
		p.choose("Then by", "One group")
		p.click("Tokens")
		p.see("Tokens by key")
		p.openRow(name)
		p.see("Key: " + name)
		p.await("the filter is not in the address", func() bool {
			return strings.Contains(ask[string](p, "location.search"), "key_id=key_")
		})
		p.await("other calls are counted", func() bool {
			return ask[string](p, `document.querySelector(".kpis button:nth-child(2) b").textContent`) == "3"
		})
		p.do("go back", chromedp.NavigateBack())
		p.seeNot("Key: " + name)

		p.focusPlot()
		p.press(kb.End)
		p.press(kb.Enter)
		p.see("newest first")
		p.see(name)
	})
}

// openRow presses a name in the table below the plots; the legend has it as well.
func (p *page) openRow(name string) {
	p.t.Helper()
	ask[any](p, fmt.Sprintf(`[...document.querySelectorAll(".breakdown a")].find((a) => a.textContent === %s).click()`, quoted(name)))
}

// focusPlot puts the focus on the first plot, once it is there.
func (p *page) focusPlot() {
	p.t.Helper()
	p.await("the plot does not take the focus", func() bool {
		return ask[bool](p, `document.querySelector(".plot")?.focus(), !!document.activeElement?.closest(".plot")`)
	})
}

// readWithKeys reads the last two bars of the plot with the keys, as a screen reader does.
func readWithKeys(p *page) {
	p.t.Helper()
	said := func() string { return ask[string](p, `document.querySelector(".plot [aria-live]").textContent`) }
	p.focusPlot()
	p.press(kb.ArrowLeft)
	p.await("the latest bar is not read", func() bool {
		return strings.Contains(said(), "$") && strings.Contains(said(), "still counting")
	})
	last := said()
	p.press(kb.ArrowLeft)
	p.await("the bar before is not read", func() bool { return said() != last && !strings.Contains(said(), "still counting") })
	p.press(kb.Escape)
	p.await("the tooltip is still there", func() bool { return ask[bool](p, `document.querySelector(".plot .tip").hidden`) })
}

// tabled looks whether the table of the plot has its numbers.
func tabled(p *page) {
	p.t.Helper()
	p.click("Show as table")
	p.await("the table is empty", func() bool {
		return strings.Contains(
			ask[string](p, `document.querySelector("details.data[open] tbody td.num:last-child")?.textContent ?? ""`), "$")
	})
	p.click("Show as table")
}

func TestUsageWithoutCallsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.visit("/usage")
		p.see("No calls in the last 7 days")
		p.see("Create key")
		p.inspect("usage-empty")
		p.click("Show 12 months")
		p.see("No calls in the last 12 months")
		p.visit("/calls?outcome=failed")
		p.see("No calls match. Filters: last hour, failed. In the last 24 hours there are none.")
		p.inspect("calls-empty")
		p.click("Clear filters")
		p.see("There are no calls in the last hour")
	})
}

func TestAxesNameRoundValuesAndTimes(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	p := open(browser, t, gatewaytest.Start(t, "SIMULATOR=true"), desktop)
	p.visit("/")
	for expression, want := range map[string]string{
		`axis.rounded(37, 4).join()`:                                "0,10,20,30,40",
		`axis.rounded(0.26, 4).join()`:                              "0,0.1,0.2,0.3",
		`axis.rounded(2, 4, true).join()`:                           "0,1,2",
		`axis.rounded(9, 4, true).join()`:                           "0,5,10",
		`axis.spanOf(day(1), day(2))`:                               "Sun 1 Nov",
		`axis.spanOf(day(1), day(8))`:                               "Week of 1 Nov",
		`axis.spanOf(day(1), day(1) + 18e5)`:                        "Sun 1 Nov, 00:00–00:30",
		`axis.between(day(1), day(3))`:                              "Sun 1 Nov – Mon 2 Nov",
		`named(day(1), 60, 6e4, 400)`:                               "0 1 Nov,15 00:15,30 00:30,45 00:45",
		`named(day(1), 84, 72e5, 400)`:                              "12 2 Nov,36 4 Nov,60 6 Nov",
		`named(day(1), 30, 864e5, 400)`:                             "5 6 Nov,11 12 Nov,17 18 Nov,23 24 Nov,29 30 Nov",
		`step("range=1h")`:                                          "1m",
		`step("range=24h")`:                                         "30m",
		`step("range=7d")`:                                          "2h",
		`step("range=30d")`:                                         "1d",
		`step("range=12mo")`:                                        "7d",
		`step("from=2026-01-01&to=2026-01-01")`:                     "30m",
		`step("from=2026-01-01T10:00:00Z&to=2026-01-01T10:20:00Z")`: "15m",
	} {
		got := ask[string](p, `Promise.all([import("/console/lib/plot/axis.js"), import("/console/lib/range.js")]).then(([axis, range]) => {
			const day = (d) => new Date(2026, 10, d).getTime();
			const named = (from, n, step, width) =>
				axis.timesNamed(Array.from({ length: n }, (_, i) => from + i * step), from + n * step, width)
					.map((t) => t.join(" ")).join();
			const step = (query) => range.timeOf(new URLSearchParams(query), "30d", new Date(2026, 10, 20, 12).getTime()).step;
			return String(`+expression+`);
		})`, chromedp.EvalAwaitPromise)
		if got != want {
			t.Errorf("%s is %q, not %q", expression, got, want)
		}
	}
}
