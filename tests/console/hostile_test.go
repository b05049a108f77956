package console

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// Texts that would run a script, or load a picture, where a page took them for HTML, a URL, a
// template or a part of a script.
var corpus = []string{
	`<img src=x onerror=window.hit=1>`, `"><script>window.hit=1</script>`, `'-window.hit=1-'`, `<svg onload=alert(1)>`,
	`javascript:window.hit=1`, `{{constructor.constructor('window.hit=1')()}}`, "${window.hit=1}",
	`<a href="javascript:window.hit=1">x</a>`, `</title></textarea><iframe srcdoc='<script>parent.hit=1</script>'>`,
	"</style><style>@import'//evil.example'", `&ltimg src=x onerror=window.hit=1&gt`, `%3Cimg%20src=x%20onerror=alert(1)%3E`,
}

// What is accepted before the @ of an address.
var hostileMails = []string{
	`'-window.hit=1-'`, "`${window.hit=1}`", `{{window.hit=1}}`, `&ltimg/src=x/onerror=window.hit=1&gt`, `%3cimg/src=x/onerror=hit=1%3e`,
}

// hostileRows fills a gateway: users, invitations, teams, keys, calls, and the audit entries of
// all of them.
func hostileRows(t *testing.T, p *gatewaytest.Program) {
	t.Helper()
	token := p.Administrator(t)
	must := func(status int, a gatewaytest.Answer) gatewaytest.Answer {
		t.Helper()
		if a.Status != status {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return a
	}
	email := func(i int, domain string) string {
		return quoted(fmt.Sprintf("%s%d@%s", hostileMails[i%len(hostileMails)], i, domain))
	}
	for i, text := range corpus {
		name := quoted(text)
		must(201, p.Call(t, "POST", "/admin/teams", `{"name":`+name+`}`, token...))
		must(201, p.Call(t, "POST", "/auth/register", `{"email":`+email(i, "example.com")+`,"password":"correct horse battery","name":`+name+`}`))
		must(201, p.Call(t, "POST", "/admin/invitations", `{"email":`+email(i, "invited.example.com")+`}`, token...))
		made := must(201, p.Call(t, "POST", "/auth/keys", `{"name":`+name+`}`, token...))
		id := gatewaytest.Field(t, made, "id")
		must(200, p.Call(t, "PATCH", "/admin/keys/"+id, `{"name":`+quoted(text+" 2")+`,"budget_usd":5}`, token...))
		bearer := []string{"Authorization", "Bearer " + gatewaytest.Field(t, made, "key"), "User-Agent", text}
		must(200, p.Chat(t, gatewaytest.HelloRequest, bearer...))
		must(404, p.Chat(t, `{"model":`+name+`,`+gatewaytest.HiMessages+`}`, bearer...))
		if i == 0 { // a key that is refused has a note
			must(200, p.Call(t, "PATCH", "/admin/keys/"+id, `{"budget_usd":0.000001}`, token...))
		}
	}
}

func TestStoredTextsAreShownAsTexts(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	gateway := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret) // whose accounts anybody may make
	hostileRows(t, gateway)
	for _, v := range []view{desktop, phone} {
		t.Run(v.name, func(t *testing.T) {
			p := open(browser, t, gateway, v)
			p.signIn(root)
			for _, path := range []string{
				"/playground", "/models?q=" + corpus[0], "/account", "/providers", "/settings?q=" + corpus[0],
				"/calls?q=" + corpus[0], "/calls?model=" + corpus[1], "/usage?range=24h&by=user", "/usage?range=24h&by=team",
			} {
				p.harmless(path)
			}
			renamed := corpus[0] + " 2"
			p.harmless("/", corpus[len(corpus)-1]+" 2") // it has the latest calls
			p.harmless("/keys", renamed, renamed+" has spent its budget", corpus[1])
			p.harmless("/usage?range=24h&by=key", renamed)
			p.harmless("/usage?range=24h&by=key", corpus[9])
			p.harmless("/users", append([]string{hostileMails[1] + "1@example.com", hostileMails[3] + "3@invited.example.com"}, corpus...)...)
			p.harmless("/teams", corpus...)
			p.harmless("/audit", "limited the key "+corpus[len(corpus)-1]+" 2", "invited "+hostileMails[1]+"11@invited.example.com")
			p.harmless("/calls", renamed, corpus[3])
			p.openNewest()
			p.see(corpus[len(corpus)-1]) // the client's name for itself
			p.unharmed("the panel of a call")
			p.harmless("/keys")
			p.click("Actions for " + corpus[1])
			p.click("Revoke")
			p.see("Revoke " + corpus[1])
			p.unharmed("the question before a revocation")
			p.click("Keep key")
			p.press("k", ctrl)
			p.press(corpus[0][:8])
			p.await("the palette has no key", func() bool {
				return strings.Contains(ask[string](p, `document.querySelector("#palette-list").textContent`), renamed)
			})
			p.unharmed("the palette")
		})
	}
}

// harmless opens a page, and fails the test where it does not show these texts, or took one for
// something else.
func (p *page) harmless(path string, texts ...string) {
	p.t.Helper()
	p.visit(path)
	p.await("it has no title", func() bool { return ask[bool](p, `!!document.querySelector("h1")`) })
	for _, text := range texts {
		p.see(text)
	}
	p.unharmed(path)
}

func (p *page) unharmed(where string) {
	p.t.Helper()
	if found := ask[string](p, `window.hit ? "a script ran" : [...document.querySelectorAll(
		"img[src=x], svg[onload], iframe, body style, body script:not([src^='/console/']), a[href^=javascript]",
	)].map((e) => e.outerHTML).join(" ")`); found != "" {
		p.t.Errorf("%s, %s: %s", where, p.view.name, found)
	}
}
