package console

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

// markup is text that would run if a page took it for HTML.
const markup = `<img src=x onerror=alert(1)> `

func TestAdministratorInvitesAndLimits(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		name, email := markup+p.view.name, "ana."+p.view.name+"@example.com"
		p.acceptInvitation(name, email)

		p.visit("/users")
		p.see(name)
		p.inspect("users")
		p.click("Actions for " + name)
		p.click("Edit limits")
		p.fill("Budget in dollars", "abc")
		p.click("Save limits")
		p.see("Write a number, such as 25 or 0.5.")
		p.fill("Budget in dollars", "25")
		p.choose("Resets", "Each week")
		p.inspect("users-limits")
		p.click("Save limits")
		p.await("the limits are not in the row of the user", func() bool {
			return ask[bool](p, `[...document.querySelectorAll("tr")].some((e) =>
				e.innerText.includes(`+quoted(email)+`) && e.innerText.includes("of $25 a week"))`)
		})

		p.click("Actions for " + name)
		p.click("Disable")
		p.see("Every sign-in ends within a second.")
		p.click("Disable user")
		p.see("is disabled")
		p.press("z", ctrl)
		p.see("is enabled again")
		p.click("Actions for " + name)
		p.click("Disable")
		p.click("Disable user")
		p.await("the user is not disabled", func() bool {
			return ask[bool](p, `[...document.querySelectorAll(".p-state")].some((e) => e.textContent === "Disabled")`)
		})
		p.await("a disabled user can log in", func() bool {
			return p.Call(t, "POST", "/auth/login", `{"email":"`+email+`","password":"correct horse battery"}`).Status != 200
		})
		p.click("Actions for " + name)
		p.click("Enable")
		p.see("is enabled")

		p.visit("/audit?q=" + email)
		p.see("limited the user " + name)
		for _, entry := range []string{"invited " + email, "disabled " + name, "enabled " + name} {
			p.see(entry)
		}
		p.see("budget none → $25 a week")
		p.inspect("audit")
		p.visit("/audit?action=user.disable")
		p.see("disabled " + name)
		p.seeNot("enabled " + name)
	})
}

// Who leaves is disabled, as the dialog of Delete offers first, or deleted, and named beside the usage until erased.
func TestLeaverKeepsANameForAdministratorsUntilErased(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		admin, email := p.Administrator(t), "leaver."+p.view.name+"@example.com"
		id := gatewaytest.Field(t, p.Call(t, "POST", "/admin/users", `{"email":"`+email+`"}`, admin...), "id")
		key := p.Call(t, "POST", "/admin/keys", `{"name":"old","user_id":"`+id+`","reveal":true}`, admin...)
		hello(t, p, gatewaytest.Field(t, key, "key"), "a")
		var call string
		gatewaytest.Until(t, "the ledger has the call", func() (found bool) {
			_, rest, found := strings.Cut(p.Call(t, "GET", "/admin/calls?user_id="+id, "", admin...).Body, `"id":"`)
			call, _, _ = strings.Cut(rest, `"`)
			return found
		})
		p.signIn(root)
		p.visit("/users?q=" + email)
		p.click("Actions for " + email)
		p.click("Delete")
		p.see("Disable keeps the keys")
		p.see("1 key is revoked for ever.")
		p.see("administrators see " + email + " beside it until it is erased")
		p.focuses("Keep user") // the safe button
		p.inspect("users-delete")
		p.press(kb.Tab)
		p.focuses("Delete user")
		p.press(kb.Tab)
		p.focuses("Disable user")
		p.press(kb.Enter)
		p.see("is disabled")
		p.await("the user is not disabled", func() bool {
			return ask[bool](p, `[...document.querySelectorAll(".p-state")].some((e) => e.textContent === "Disabled")`)
		})
		p.click("Actions for " + email)
		p.click("Delete")
		p.see("Delete cannot be undone.")
		p.seeNot("Disable keeps the keys")
		p.click("Delete user")
		p.see("is deleted")

		former := email + ", deleted " + time.Now().Format("2 Jan") // a day that ends meanwhile is as good
		p.visit("/usage?range=24h&by=user")
		p.see(former)
		p.inspect("usage-deleted")
		p.visit("/calls?call=" + call)
		p.see(former)
		p.inspect("call-deleted")

		if a := p.Call(t, "POST", "/admin/users/"+id+"/erase", "", admin...); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		p.visit("/calls?call=" + call)
		p.see("a deleted user")
		p.visit("/audit?target=" + id)
		p.see("erased the name of the user " + id)
		p.see("deleted the user erased")
		p.seeNot(email)
		p.inspect("audit-erased")
	})
}

// acceptInvitation invites a person, who makes an account with the link.
func (p *page) acceptInvitation(name, email string) {
	p.t.Helper()
	p.visit("/users")
	p.click("Invite")
	p.fill("E-mail addresses", email+"\nnot an address")
	p.click("Make links")
	p.see("is not an e-mail address")
	p.fill("E-mail addresses", email)
	p.click("Make links")
	p.see("Copy this link now.")
	p.inspect("users-invited")
	link := ask[string](p, `document.querySelector("dialog .url code").textContent`)
	p.click("Done")
	p.see(email)

	_, path, _ := strings.Cut(link, "/signin")
	p.visit("/signin" + path)
	p.fill("Name", name)
	p.fill("Password", "correct horse battery")
	p.inspect("link")
	p.click("Create account")
	p.see("First steps")
	p.signIn(root)
}

func TestTeamHasBudgetMembersAndKeys(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		team, email := markup+"Crew "+p.view.name, "lead."+p.view.name+"@example.com"
		made := p.Call(t, "POST", "/auth/register", `{"email":"`+email+`","password":"correct horse battery","name":"Lead"}`)
		if made.Status != 201 {
			t.Fatalf("register: %d %s", made.Status, made.Body)
		}
		p.visit("/teams")
		p.click("Create team")
		p.fill("Name", team)
		p.fill("Budget in dollars", "40")
		p.click("Create team")
		p.see("of $40 a month")
		p.click("Add member")
		p.fill("E-mail address", email)
		p.choose("Role", "Manager")
		p.click("Add member")
		p.see("is a manager now")
		p.see("1 member, 0 keys") // the row of the member moves what is below it
		p.click("Create key")
		p.fill("Name", "crew-bot")
		p.fill("Calls a minute", "30")
		p.click("Create key")
		p.see("It is shown only here.")
		secret := ask[string](p, `document.querySelector("dialog .url code").textContent`)
		p.click("Done")
		p.see("In effect")
		p.inspect("team")
		if a := p.Call(t, "GET", "/v1/models", "", "Authorization", "Bearer "+secret); a.Status != 200 {
			t.Errorf("the new key: %d %s", a.Status, a.Body)
		}
		p.visit("/audit?action=member.")
		p.see("added " + email + " to the team " + team + " as its manager")

		p.signIn(email)
		p.visit("/users")
		p.see("Only administrators see users.")
		p.visit("/teams")
		p.click(team)
		p.see("crew-bot")
		p.seeNot("Edit limits")
		p.inspect("team-manager")
	})
}

func TestAdministratorSeesProvidersAndSettings(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.visit("/providers")
		p.see("Healthy")
		p.see("No circuit has opened and no key has been refused.")
		p.inspect("providers")
		p.click("Add a provider")
		p.choose("Provider", "ollama")
		p.fill("Key", "sk-of-a-test")
		p.click("Try the key")
		p.see("Ollama has no address yet")
		p.seeNot("sk-of-a-test")
		p.choose("Provider", "other")
		p.fill("Name", "Blue box")
		p.see("keys: {env: BLUE_BOX_KEY}")
		p.inspect("provider-add")
		p.press(kb.Escape)
		p.visit("/alerts")
		p.see("Nothing needed telling yet.")
		p.see("ALERT_EMAIL")
		p.inspect("alerts")
		p.visit("/settings")
		p.see("every answer is generated by this process")
		p.fill("Find a setting", "JWT_SECRET")
		p.see("set, hidden")
		p.seeNot("RATE_LIMIT_RPM")
		p.inspect("settings")
	})
}
