package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

// delegated makes a session with a hostile name, of an agent with two others below it, and waits until the
// ledger has it. It returns its id.
func delegated(t *testing.T, p *page) (id string) {
	t.Helper()
	token := p.Administrator(t)
	key := gatewaytest.Field(t, p.Call(t, "POST", "/auth/keys", `{"name":"laptop"}`, token...), "key")
	const agent, parent = "X-Claude-Code-Agent-Id", "X-Claude-Code-Parent-Agent-Id"
	for i, headers := range [][]string{{agent, ""}, {agent, "planner"}, {agent, "reader " + hostile[:20], parent, "planner"}} {
		a := p.Chat(t, `{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"`+p.view.name+fmt.Sprint(i)+`"}]}`,
			append(headers, "Authorization", "Bearer "+key, "X-Claude-Code-Session-Id", hostile+p.view.name, "User-Agent", "claude-cli/2.1")...)
		if a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	gatewaytest.Until(t, "the ledger has the calls", func() bool {
		var list struct {
			Data []struct {
				ID, Name string
				Calls    int
			}
		}
		p.Call(t, "GET", "/admin/sessions?limit=1", "", token...).JSON(t, &list)
		if len(list.Data) == 0 || list.Data[0].Name != hostile+p.view.name || list.Data[0].Calls < 3 {
			return false
		}
		id = list.Data[0].ID
		return true
	})
	return id
}

func TestSessionsAreOpenedWithTheirAgentsAndFollowedToTheirCalls(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		id := delegated(t, p)
		p.visit("/sessions")
		p.see(hostile + p.view.name)
		p.inspect("sessions")

		p.await("Enter does not open the session", func() bool {
			ask[bool](p, `(document.querySelector("tr[data-key] a").focus(), true)`)
			p.press(kb.Enter)
			return p.shows("planner")
		})
		p.see("Main agent")
		p.see("claude-code")
		p.at("/sessions?session=" + id)
		indent := ask[[]int](p, `[...document.querySelectorAll(".agent")].map((el) => parseInt(getComputedStyle(el).paddingLeft))`)
		bars := ask[int](p, `document.querySelectorAll(".agents svg[aria-label$='of the cost']").length`)
		if fmt.Sprint(indent) != "[0 16 32]" || bars != 3 {
			t.Errorf("agents at %v, %d bars", indent, bars)
		}
		p.inspect("session")
		p.press(kb.Escape)
		p.at("/sessions")
		if on := ask[string](p, "document.activeElement.className"); on != "name" {
			t.Errorf("after Esc the focus is on %q", on)
		}

		p.choose("Program", "claude-code")
		p.see(hostile + p.view.name)
		p.choose("Time", "Last 24 hours")
		p.see(" session")
		ask[bool](p, `(document.querySelector("tr[data-key] .c-time").click(), true)`)
		p.click("Show its calls")
		p.at("/calls?session=" + id)
		p.see("3 calls")
		p.inspect("calls-of-session")
		p.openNewest()
		p.see("Session")
		ask[bool](p, `(document.querySelector(".drawer a[href^='/sessions']").click(), true)`)
		p.at("/sessions?session=" + id)
		p.see("planner")

		p.visit("/sessions?project=none")
		p.see("No sessions match.")
		p.click("Clear filters")
		p.see(hostile + p.view.name)
		p.visit("/sessions?session=session_77")
		p.see("There is no such session.")
		if strings.Contains(ask[string](p, "document.title"), "Not found") {
			t.Error("the page is not known")
		}
	})
}
