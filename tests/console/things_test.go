package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

// Every list leads to the page of one of its things: by a click anywhere in the row, and by the keys.
func TestEveryThingHasItsPage(t *testing.T) {
	t.Parallel()
	const model = "claude-haiku-4-5-20251001"
	p := onDesktop(t)
	admin := p.Administrator(t)
	team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"Crew","budget_usd":5,"budget_window":"week"}`, admin...), "id")
	p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"`+root+`","role":"manager"}`, admin...)
	key := p.Call(t, "POST", "/auth/keys", `{"name":"of the crew","team_id":"`+team+`","budget_usd":2}`, admin...)
	asked := strings.Replace(gatewaytest.HelloRequest, "gpt-6-sol", model, 1)
	if a := p.Chat(t, asked, "X-API-Key", gatewaytest.Field(t, key, "key")); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	id := gatewaytest.Field(t, key, "id")
	var user string
	gatewaytest.Until(t, "the ledger has the call", func() bool {
		_, rest, found := strings.Cut(p.Call(t, "GET", "/admin/calls?key_id="+id, "", admin...).Body, `"user_id":"`)
		user, _, _ = strings.Cut(rest, `"`)
		return found
	})
	for _, thing := range []struct{ list, row, path, shows string }{
		{"/keys", "of the crew", "/keys/" + id, "No administrator or manager has changed it."},
		{"/users", "root", "/users/" + user, "Keys"},
		{"/teams", "Crew", "/teams/" + team, "created the team Crew"},
		{"/models?q=" + model, model, "/models/" + model, "Price"},
		{"/providers", "anthropic", "/providers/anthropic", "What happened"},
	} {
		p.visit(thing.list)
		p.clickBeside(thing.row)
		p.at(thing.path)
		p.see(thing.shows)
		p.see("Last calls")
		p.await("the call is not in the list", func() bool { return ask[int](p, `document.querySelectorAll("tr[data-id]").length`) == 1 })
		p.await("the spend is not that of one call", func() bool {
			return ask[string](p, `document.querySelector(".kpis button:nth-child(2) b")?.textContent ?? ""`) == "1"
		})
		p.inspect("thing" + strings.ReplaceAll(thing.path[:strings.LastIndex(thing.path, "/")], "/", "-"))

		p.visit(thing.list)
		p.await("there are no rows", func() bool { return ask[bool](p, `!!document.querySelector("a.row")`) })
		p.press("j")
		for range 9 { // providers and models have others before it
			if strings.Contains(ask[string](p, "document.activeElement.href ?? ''"), thing.path) {
				break
			}
			p.press(kb.ArrowDown)
		}
		p.press(kb.Enter)
		p.at(thing.path)
		p.see("Last calls")
		p.focuses(ask[string](p, `document.querySelector("h1").textContent`))
	}

	// A call is opened beside the page, whose address leads there again.
	p.press("j")
	p.press(kb.Enter)
	p.see("What took the time")
	p.visit(ask[string](p, "location.pathname + location.search"))
	p.see("What took the time")

	// What the row of a thing offers its page does too.
	p.visit("/keys/" + id)
	p.see("Team Crew")
	p.see("of $5 a week")
	p.click("Edit limits")
	p.fill("Budget in dollars", "7")
	p.click("Save limits")
	p.see("of $7 a month")
	p.see("budget $2 a month → $7 a month") // the audit log
	p.click("Actions for of the crew")
	p.click("Revoke")
	p.click("Revoke key")
	p.see("revoked the key of the crew")
	p.seeNot("Edit limits")
	p.look(phone)
	p.visit("/keys/" + id)
	p.see("Revoked")
	p.see("Last calls")
	p.inspect("thing-keys")

	for path, says := range map[string]string{
		"/keys/key_nothing": "There is no such key, or you may not see it.", "/users/nothing": "There is no such user",
		"/teams/nothing":         "There is no such team",
		"/models/acme/nothing-1": "There is no such model", "/providers/nothing": "There is no such provider",
	} {
		p.visit(path)
		p.see(says)
	}
}

// A member has pages of the own keys, a manager of what the team has; other things they are told not to see.
func TestThingsAreShownToThoseWhomTheyConcern(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	admin := p.Administrator(t)
	ids, tokens := map[string]string{}, map[string][]string{}
	for _, name := range []string{"lead", "mia", "other"} {
		body := fmt.Sprintf(`{"email":"%s@example.com","password":"correct horse battery","name":"%[1]s"}`, name)
		ids[name] = gatewaytest.Field(t, p.Call(t, "POST", "/auth/register", body), "id")
		tokens[name] = []string{"Authorization", "Bearer " + gatewaytest.Field(t, p.Call(t, "POST", "/auth/login",
			fmt.Sprintf(`{"email":"%s@example.com","password":"correct horse battery"}`, name)), "token")}
	}
	team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"Crew","rpm_limit":77}`, admin...), "id")
	for name, role := range map[string]string{"lead": "manager", "mia": "member"} {
		p.Call(t, "POST", "/admin/teams/"+team+"/members", fmt.Sprintf(`{"email":"%s@example.com","role":%q}`, name, role), admin...)
	}
	key := p.Call(t, "POST", "/auth/keys", `{"name":"of mia","team_id":"`+team+`"}`, tokens["mia"]...)
	hello(t, p, gatewaytest.Field(t, key, "key"), "a")
	id := gatewaytest.Field(t, key, "id")
	gatewaytest.Until(t, "the ledger has the call", func() bool {
		return strings.Contains(p.Call(t, "GET", "/v1/calls", "", tokens["mia"]...).Body, id)
	})

	one := func() bool { return ask[int](p, `document.querySelectorAll("tr[data-id]").length`) == 1 }
	for _, see := range []struct{ who, path, says string }{
		{"mia", "/keys/" + id, "77"}, {"lead", "/keys/" + id, "77"}, {"lead", "/users/" + ids["mia"], "of mia"},
		{"lead", "/teams/" + team, "of mia"},
		{"mia", "/models/claude-haiku-4-5", "your calls"},
	} {
		p.signIn(see.who + "@example.com")
		p.visit(see.path)
		p.see(see.says)
		p.see("Last calls")
		p.await("the call is not in the list", one)
		p.seeNot("Audit log")
	}
	for _, refused := range []struct{ who, path, says string }{
		{"other", "/keys/" + id, "There is no such key, or you may not see it."},
		{"mia", "/users/" + ids["lead"], "the managers of a team its members"},
		{"lead", "/users/" + ids["other"], "There is no such user, or you may not see it."},
		{"mia", "/teams/" + team, "Its managers and administrators see a team."},
		{"mia", "/providers/anthropic", "Only administrators see providers."},
	} {
		p.signIn(refused.who + "@example.com")
		p.visit(refused.path)
		p.see(refused.says)
		p.seeNot("Last calls")
	}
	p.inspect("thing-refused")
}

// clickBeside clicks into the row of a name, where there is no link.
func (p *page) clickBeside(name string) {
	p.t.Helper()
	p.await("there is no row of "+name, func() bool {
		return ask[bool](p, `((name) => {
			const link = [...document.querySelectorAll("a.row")].find((e) => e.textContent === name), row = link?.closest("tr, header");
			row?.querySelector("td.num, td:nth-child(2), p")?.click();
			return !!row;
		})(`+quoted(name)+`)`)
	})
}
