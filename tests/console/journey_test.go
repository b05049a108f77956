package console

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// A person sets the gateway up, makes a key with a budget, calls with it, finds the call, meets
// the budget and revokes the key.
func TestWholeWayFromTheSetUpLinkToARevokedKey(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		gateway := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)...)
		p := open(browser, t, gateway, desktop)
		p.visit("/signin#token=" + gateway.SetupToken())
		p.see("Set up this gateway")
		p.fill("Name", "Root")
		p.fill("E-mail", "root@example.com")
		p.fill("Password", "correct horse battery")
		p.click("Create administrator")
		p.at("/")

		p.visit("/keys")
		p.click("Create key")
		p.fill("Name", "journey")
		p.fill("Budget", "0.000001")
		p.click("Create key")
		p.see("Copy your key now")
		key := ask[string](p, `document.body.innerText.match(/mgw_[A-Za-z0-9_-]{20,}/)?.[0] ?? document.querySelector("dialog code, dialog input")?.textContent`)
		if !strings.HasPrefix(key, "mgw_") {
			t.Fatalf("the key is %q", key)
		}
		answer := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key)
		if answer.Status != 402 { // the least budget pays for no call
			t.Fatalf("%d %s", answer.Status, answer.Body)
		}
		_, paying := p.CreateKey(t, p.loginOf("root@example.com"))
		if answer := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+paying); answer.Status != 200 {
			t.Fatalf("%d %s", answer.Status, answer.Body)
		}
		p.visit("/calls")
		p.see("gpt-4")
		p.visit("/usage")
		p.see("gpt-4")
		p.visit("/keys")
		p.click("Actions for journey")
		p.click("Revoke")
		p.click("Revoke key")
		p.await("the key is still accepted", func() bool {
			return p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key).Status == 401
		})
	})
}

// loginOf returns the header of a token of a user.
func (p *page) loginOf(email string) []string {
	p.t.Helper()
	a := p.Call(p.t, "POST", "/auth/login", fmt.Sprintf(`{"email":%q,"password":"correct horse battery"}`, email))
	return []string{"Authorization", "Bearer " + gatewaytest.Field(p.t, a, "token")}
}

// Every stored text is markup that would run a script, or load a picture, where a page took it
// for HTML.
func TestStoredTextsAreShownAsTexts(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	gateway := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret)
	root := gateway.Administrator(t)
	corpus := []string{
		`<img src=x onerror=window.hit=1>`, `"><script>window.hit=1</script>`, `'-window.hit=1-'`, `<svg onload=window.hit=1>`,
		`javascript:window.hit=1`, `{{constructor.constructor('window.hit=1')()}}`, "${window.hit=1}", `<a href="javascript:window.hit=1">x</a>`,
	}
	must := func(status int, a gatewaytest.Answer) {
		t.Helper()
		if a.Status != status {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for i, text := range corpus {
		must(201, gateway.Call(t, "POST", "/admin/teams", `{"name":`+quoted(text)+`}`, root...))
		must(201, gateway.Call(t, "POST", "/auth/register", fmt.Sprintf(
			`{"email":"xss%d@example.com","password":"correct horse battery","name":%s}`, i, quoted(text))))
		made := gateway.Call(t, "POST", "/auth/keys", `{"name":`+quoted(text)+`}`, root...)
		must(201, made)
		must(200, gateway.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+gatewaytest.Field(t, made, "key"), "User-Agent", text))
		gateway.Chat(t, `{"model":`+quoted(text)+`,`+gatewaytest.HiMessages+`}`, "Authorization", "Bearer "+gatewaytest.Field(t, made, "key"))
	}
	p := open(browser, t, gateway, desktop)
	p.signIn("root@example.com")
	for path, shown := range map[string]string{
		"/": "", "/keys": corpus[0], "/usage?group=key": "", "/calls": corpus[0], "/playground": "", "/models": "", "/account": "",
		"/users": corpus[0], "/teams": corpus[0], "/providers": "", "/audit": "", "/settings": "",
	} {
		p.visit(path)
		p.await("it has no title", func() bool { return ask[bool](p, `!!document.querySelector("h1")`) })
		if shown != "" {
			p.see(shown)
		}
		if found := ask[string](p, `window.hit ? "a script ran" :
			[...document.querySelectorAll("img[src=x], svg[onload], a[href^=javascript]")].map((e) => e.outerHTML).join(" ")`); found != "" {
			t.Errorf("%s: %s", path, found)
		}
	}
}
