package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestCallsAreFollowedLiveAndOpened(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		secret, name := called(t, p, 3)
		p.signIn("root@example.com")
		p.visit("/calls")
		p.see(name)
		p.see("claude-haiku-4-5")
		p.inspect("calls")

		p.press("j")
		p.press("j")
		p.press(kb.Enter)
		p.see("What took the time")
		p.see("logit_bias")
		p.see(hostile) // the client's name for itself
		p.inspect("call")
		opened := ask[string](p, "location.search")
		p.press("k")
		p.await("k does not open the newer call", func() bool { return ask[string](p, "location.search") != opened })
		p.press(kb.Escape)
		p.at("/calls")
		if on := ask[string](p, "document.activeElement.className"); on != "name" {
			t.Errorf("after Esc the focus is on %q", on)
		}

		// The list has the focus: a new call waits until it is asked for.
		hello(t, p, secret, "new")
		p.see("1 new call")
		rows := func() int { return ask[int](p, `document.querySelectorAll("tr[data-id]").length`) }
		before := rows()
		p.click("1 new call")
		p.await("the new call is not shown", func() bool { return rows() == before+1 })

		p.choose("Outcome", "Failed")
		p.see("No calls match. Filters: last hour, failed.")
		p.click("Clear filters")
		p.see(name)
		p.fill("Find a call", "req_0000000000")
		p.see("No calls match")
		p.fill("Find a call", "")
		p.see(name)
	})
}

func TestCallsComeInPages(t *testing.T) {
	t.Parallel()
	const calls = 60
	eachView(t, func(t *testing.T, p *page) {
		if p.view.name != desktop.name {
			return // one is enough: the pages are the same
		}
		called(t, p, calls)
		p.signIn("root@example.com")
		p.visit("/calls")
		p.see(fmt.Sprintf("50 of %d calls of the last hour", calls))
		p.click("Load older")
		p.see(fmt.Sprintf("%d of %d calls", calls, calls))
		p.seeNot("Load older")
		if moved := ask[float64](p, `new Promise((done) => new PerformanceObserver((list) =>
			done(list.getEntries().filter((e) => !e.hadRecentInput).reduce((sum, e) => sum + e.value, 0))).observe({ type: "layout-shift", buffered: true }) ||
			setTimeout(() => done(0), 100))`, chromedp.EvalAwaitPromise); moved > 0.02 {
			t.Errorf("the page has moved by %f while it was loaded", moved)
		}
		id := ask[string](p, `document.querySelector("tr[data-id]").dataset.id`)
		p.visit("/calls?call=" + id)
		p.see("What took the time")
		if q := ask[string](p, "location.search"); !strings.Contains(q, id) {
			t.Errorf("the open call is not in the address: %s", q)
		}
	})
}

func TestPromptIsShownAndTheLookWritten(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		_, name := called(t, p, 1)
		p.signIn("root@example.com")
		p.visit("/calls")
		p.see(name)
		p.press("j")
		p.press(kb.Enter)
		p.see("This look is written to the audit log.")
		p.click("Show prompt")
		p.see(`"content": "hello ` + p.view.name + `0"`)
		p.see("This look is in the audit log.")
		p.inspect("call-prompt")
		id := ask[string](p, `new URLSearchParams(location.search).get("call")`)
		if a := p.Call(t, "GET", "/admin/audit?action=call.read", "", p.Administrator(t)...); !strings.Contains(a.Body, quoted(id)) {
			t.Errorf("the audit does not name the call %s: %s", id, a.Body)
		}
	}, "LOG_PROMPTS=all", "ENCRYPTION_KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
}
