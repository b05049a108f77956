package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

func TestCallsAreFollowedLiveAndOpened(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		secret, name := called(t, p, 3)
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

// openNewest opens the first call of the list with the keys.
func (p *page) openNewest() {
	p.t.Helper()
	p.await("the list has no call", func() bool { return ask[bool](p, `!!document.querySelector("tr[data-id]")`) })
	p.press("j")
	p.press(kb.Enter)
	p.see("What took the time")
}

func TestCallsComeInPages(t *testing.T) {
	t.Parallel()
	const calls = 60
	p := onDesktop(t)
	called(t, p, calls)
	p.visit("/calls")
	p.see(fmt.Sprintf("50 of %d calls of the last hour", calls))
	p.click("Load older")
	p.see(fmt.Sprintf("%d calls of the last hour", calls))
	p.seeNot("Load older")
	p.steady(0.02)
	id := ask[string](p, `document.querySelector("tr[data-id]").dataset.id`)
	p.visit("/calls?call=" + id)
	p.see("What took the time")
	if q := ask[string](p, "location.search"); !strings.Contains(q, id) {
		t.Errorf("the open call is not in the address: %s", q)
	}
	seeRefusals(t, p)
}

func TestPromptIsShownAndTheLookWritten(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		called(t, p, 1)
		p.visit("/calls")
		p.openNewest()
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

// seeRefusals finds calls that the gateway has refused: on their key, in Usage and in Calls.
func seeRefusals(t *testing.T, p *page) {
	t.Helper()
	id, secret := p.CreateLimitedKey(t, p.Administrator(t), `"budget_usd":0`)
	for range 2 {
		p.Chat(t, `{"model":"claude-haiku-4-5",`+gatewaytest.HiMessages+`}`, "Authorization", "Bearer "+secret)
	}
	gatewaytest.Until(t, "the refusals are counted", func() bool {
		return strings.Contains(p.Call(t, "GET", "/admin/usage", "", p.Administrator(t)...).Body, `"refused":{"budget_exceeded":2}`)
	})
	p.visit("/usage")
	p.see("2 refused by the gateway: over budget")
	p.visit("/keys")
	p.see("2 refused today: over budget")
	p.shoot("keys-refused")
	p.click("2 refused today: over budget")
	p.see("2 calls of the last 24 hours")
	p.see("this API key has")
	p.press("j")
	p.press(kb.Enter)
	p.see("status 402")
	p.shoot("refusal")
	raiseFromRefusal(t, p, id, secret)
	at := ask[string](p, "location.pathname + location.search")
	p.press(kb.Escape)
	p.choose("Outcome", "Refused by the provider")
	p.see("No calls match")
	p.click("Show refused by the gateway")
	p.see("this API key has")
	p.visit(at)
	p.see("status 402")
}

// raiseFromRefusal raises the budget of the key whose refusal is open, in two clicks, and sees that on the page of the key.
func raiseFromRefusal(t *testing.T, p *page, id, secret string) {
	t.Helper()
	p.click("Raise the budget of app until…")
	p.see("Dollars more")
	p.inspect("raise-budget")
	p.click("Raise the budget")
	p.see("The budget of app is raised")
	gatewaytest.Until(t, "calls are served", func() bool {
		return p.Chat(t, `{"model":"claude-haiku-4-5",`+gatewaytest.HiMessages+`}`, "Authorization", "Bearer "+secret).Status == 200
	})
	at := ask[string](p, "location.pathname + location.search")
	p.visit("/keys/" + id)
	p.see("Raised by $5 until")
	p.see("budget raised by nothing → $5 until")
	p.click("Raise until…")
	p.fill("Dollars more", "ten")
	ask[any](p, `document.querySelector("dialog [type=submit]").click()`)
	p.see("Write a number")
	p.fill("Dollars more", "10")
	ask[any](p, `document.querySelector("dialog [type=submit]").click()`)
	p.see("Raised by $10 until")
	p.visit(at)
	p.see("status 402")
}
