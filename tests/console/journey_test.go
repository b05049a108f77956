package console

import (
	"os"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// The first administrator sets the gateway up and invites a person, who opens the link
// elsewhere, chooses a password, makes a key, calls with it, finds the call in Calls and Usage,
// meets the key's budget and revokes the key.
func TestWholeWayFromTheSetUpLinkToARevokedKey(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	for _, v := range []view{desktop, phone} {
		t.Run(v.name, func(t *testing.T) {
			gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
				if embedded := len(settings) == 1; embedded != v.phone() && os.Getenv("CONSOLE") != "all" {
					t.Skip("CONSOLE=all walks it on both widths with both storages")
				}
				gateway := start(t, settings...)
				p := open(browser, t, gateway, v)
				p.setUp()
				link := p.invited("ada@example.com")
				guest := open(browser, t, gateway, v)
				guest.join(link, "ada@example.com")
				guest.keyFromItsMakingToItsEnd()
				p.visit("/audit")
				p.see("invited ada@example.com")
				p.visit("/usage?range=24h&by=user")
				p.see("ada@example.com")
			})
		})
	}
}

// setUp makes the first administrator, with the link of the log.
func (p *page) setUp() {
	p.t.Helper()
	p.visit("/signin#token=" + p.SetupToken())
	p.see("Set up this gateway")
	p.fill("Name", "Root")
	p.fill("E-mail", root)
	p.fill("Password", "correct horse battery")
	p.click("Create administrator")
	p.at("/")
	p.see("First steps")
}

// invited makes an invitation and returns its link.
func (p *page) invited(email string) (link string) {
	p.t.Helper()
	p.visit("/users")
	p.click("Invite")
	p.fill("E-mail addresses", email)
	p.click("Make links")
	p.see("Copy this link now.")
	return ask[string](p, `document.querySelector("dialog .url code").textContent`)
}

// join opens the link of an invitation, makes an account and signs in.
func (p *page) join(link, email string) {
	p.t.Helper()
	_, path, found := strings.Cut(strings.TrimPrefix(link, "http://"), "/")
	if !found {
		p.t.Fatalf("the link is %q", link)
	}
	p.visit("/" + path)
	p.see("Create your account")
	if address := ask[string](p, `document.querySelector("[name=email][readonly]").value`); address != email {
		p.t.Errorf("the address of the invitation is %q", address)
	}
	p.fill("Name", "Ada")
	p.fill("Password", "correct horse battery")
	p.click("Create account")
	p.see("First steps")
}

// keyFromItsMakingToItsEnd makes a key of one's own and uses it until it is revoked.
func (p *page) keyFromItsMakingToItsEnd() {
	p.t.Helper()
	p.visit("/keys")
	p.see("You have no keys yet.")
	p.click("Create key")
	p.fill("Name", "journey")
	p.fill("Budget in dollars", "10")
	p.submit()
	p.see("Copy your key now")
	key := ask[string](p, `document.querySelector("dialog .url code").textContent`)
	called := func() int {
		return p.Chat(p.t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key).Status
	}
	if status := called(); status != 200 {
		p.t.Fatalf("a call with the new key: %d", status)
	}
	p.visit("/calls")
	p.see("journey")
	p.see("1 call of the last hour")
	p.visit("/usage?range=24h&by=key")
	p.see("journey")

	p.visit("/keys")
	p.see("of $10")
	p.click("Actions for journey")
	p.click("Edit limits")
	p.fill("Budget in dollars", "0.000001")
	p.submit()
	p.see("has spent its budget of $0.000001 a month. Its calls get 402")
	p.await("a call over the budget is served", func() bool { return called() == 402 })

	p.click("Actions for journey")
	p.click("Revoke")
	p.click("Revoke key")
	p.see("journey is revoked")
	p.await("the key is still accepted", func() bool { return called() == 401 })
	p.click("All")
	p.see("Revoked")
}

// submit presses the button that ends the dialog's form.
func (p *page) submit() {
	p.t.Helper()
	ask[any](p, `document.querySelector("dialog [type=submit]").click()`)
}
