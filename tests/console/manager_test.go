package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

// A manager who is no administrator sees the calls of the own team, of all of its members, and
// beside them only the own ones.
func TestManagerSeesTheCallsOfTheTeam(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		root := p.Administrator(t)
		of := func(path, field, body string, credential ...string) string {
			t.Helper()
			a := p.Call(t, "POST", path, body, credential...)
			if a.Status != 200 && a.Status != 201 {
				t.Fatalf("%s: %d %s", path, a.Status, a.Body)
			}
			return gatewaytest.Field(t, a, field)
		}
		person := func(name string) (email string, token []string) {
			email = name + "." + p.view.name + "@example.com"
			login := `{"email":"` + email + `","password":"correct horse battery"`
			of("/auth/register", "id", login+`,"name":"`+name+`"}`)
			return email, []string{"Authorization", "Bearer " + of("/auth/login", "token", login+"}")}
		}
		lead, leadToken := person("lead")
		member, memberToken := person("member")
		_, strangerToken := person("stranger")
		name := "Crew " + p.view.name
		team := of("/admin/teams", "id", `{"name":"`+name+`"}`, root...)
		members := "/admin/teams/" + team + "/members"
		of(members, "user_id", `{"email":"`+lead+`","role":"manager"}`, root...)
		of(members, "user_id", `{"email":"`+member+`"}`, root...)
		hello(t, p, of("/auth/keys", "key", `{"name":"of the member","team_id":"`+team+`"}`, memberToken...), "a")
		hello(t, p, of("/auth/keys", "key", `{"name":"of the lead"}`, leadToken...), "b")
		hello(t, p, of("/auth/keys", "key", `{"name":"of a stranger"}`, strangerToken...), "c")
		for path, of := range map[string]string{"/auth/teams/" + team + "/calls": "of the member", "/v1/calls": "of the lead"} {
			gatewaytest.Until(t, "the ledger has the call "+of, func() bool {
				return strings.Contains(p.Call(t, "GET", path, "", leadToken...).Body, of)
			})
		}

		p.signIn(lead)
		p.visit("/usage?range=24h&by=key")
		p.see("of the lead")
		p.choose("Whose calls", "Team "+name)
		p.see("Team " + name + ". Days begin")
		p.choose("Group by", "By key")
		p.see("of the member")
		p.seeNot("of the lead")
		p.choose("Group by", "By user")
		p.see(member)
		p.inspect("usage-manager")

		p.visit("/calls")
		p.see("of the lead")
		p.seeNot("of the member")
		p.choose("Whose calls", "Team "+name)
		p.see("of the member")
		p.seeNot("of the lead")
		p.inspect("calls-manager")
		p.openNewest()
		p.see(member)
		p.inspect("call-manager")
		for _, path := range []string{"/usage", "/calls"} {
			p.visit(path + "?team_id=" + team + "&range=24h")
			p.see("Team " + name)
			p.seeNot("of a stranger")
		}
		raiseOfManager(t, p, team, of("/auth/keys", "key", `{"name":"spent","team_id":"`+team+`","budget_usd":0}`, memberToken...))
	})
}

// raiseOfManager finds the call with a key of the team that its budget has refused, and raises the budget in two clicks.
func raiseOfManager(t *testing.T, p *page, team, secret string) {
	t.Helper()
	served := func() bool {
		return p.Chat(t, `{"model":"claude-haiku-4-5",`+gatewaytest.HiMessages+`}`, "Authorization", "Bearer "+secret).Status == 200
	}
	if served() {
		t.Error("the budget refuses nothing")
	}
	p.visit("/calls?team_id=" + team + "&range=24h")
	p.choose("Outcome", "Refused by the gateway")
	p.see("this API key has")
	p.press("j")
	p.press(kb.Enter)
	p.see("status 402")
	p.click("Raise the budget of spent until…")
	p.see("Dollars more")
	p.click("Raise the budget")
	p.see("The budget of spent is raised")
	gatewaytest.Until(t, "calls are served", served)
}
