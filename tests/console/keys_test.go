package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

func TestKeyFromItsMakingToItsEnd(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		name := `bot-` + p.view.name + ` <b>"'&`
		p.visit("/keys?scope=own")
		p.click("Create key")
		p.fill("Name", name)
		p.fill("Budget in dollars", "ten")
		p.inspect("key-create")
		ask[any](p, `document.querySelector("dialog [type=submit]").click()`)
		p.see("Write a number")
		p.fill("Budget in dollars", "10")
		p.fill("Models", "nonsense")
		ask[any](p, `document.querySelector("dialog [type=submit]").click()`)
		p.see("the model `nonsense` does not exist; GET /v1/models")
		p.fill("Models", "haiku anthropic")
		p.see("$1.00 / $5.00")
		p.inspect("key-models")
		p.click("claude-haiku-4-5-20251001")
		p.fill("Models", "openai/*")
		p.see("of the models listed now")
		p.click("openai/*")
		p.press("gpt-4, gpt-55,")
		p.see("Not in the list of models: gpt-55.")
		p.press(kb.Backspace) // takes the last away
		p.seeNot("Not in the list of models")
		p.press(kb.Escape) // closes the list, not the dialog
		chosen := ask[string](p, `document.querySelector("dialog [name=models]").value`)
		if chosen != "claude-haiku-4-5-20251001,openai/*,gpt-4" {
			t.Errorf("the models are %s", chosen)
		}
		p.inspect("key-chosen")
		ask[any](p, `document.querySelector("dialog [type=submit]").click()`)
		p.see("Copy your key now")
		p.inspect("key-made")
		secret := ask[string](p, `document.querySelector("dialog .url code").textContent`)
		p.click("Done") // without copying: it asks
		p.see("The secret cannot be shown again.")
		ask[any](p, `[...document.querySelectorAll("dialog")].at(-1).querySelector("footer .first").click()`)
		p.see("of $10")

		if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+secret); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		ask[any](p, `document.querySelector(".brand").click()`) // in the same tab
		p.see("Latest calls")
		p.await("the snippet has no key", func() bool { return p.shows(secret) })
		p.inspect("home")
		p.visit("/keys?scope=own")
		p.see(name)
		p.inspect("keys")
		p.click("Actions for " + name)
		p.click("Revoke")
		p.see("For ten seconds you can undo it.")
		p.inspect("key-revoke")
		p.click("Revoke key")
		p.see("is revoked")
		p.shoot("key-undo")
		p.click("Undo")
		p.see("works again")
		p.await("the key does not work again", func() bool {
			return p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+secret).Status == 200
		})
		p.click("Actions for " + name)
		p.click("Revoke")
		p.click("Revoke key")
		p.see("is revoked")
		if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+secret); a.Status != 401 {
			t.Errorf("a call with a revoked key: %d", a.Status)
		}
	})
}

// A manager makes a key for a member, who alone sees its secret.
func TestMemberFetchesTheSecretOfAKeyThatAManagerMade(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		admin := p.Administrator(t)
		person := func(name string) string {
			email := name + "." + p.view.name + "@example.com"
			a := p.Patiently(t, "/auth/register", `{"email":"`+email+`","password":"correct horse battery","name":"`+name+` `+p.view.name+`"}`)
			if a.Status != 201 {
				t.Fatalf("register: %d %s", a.Status, a.Body)
			}
			return email
		}
		lead, mia := person("Lead"), person("Mia")
		name := "Crew " + p.view.name
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"`+name+`"}`, admin...), "id")
		for email, role := range map[string]string{lead: "manager", mia: "member"} {
			p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"`+email+`","role":"`+role+`"}`, admin...)
		}

		p.signIn(lead)
		p.visit("/teams")
		p.click(name)
		p.click("Create key")
		p.fill("Name", "laptop")
		p.choose("For", "Mia "+p.view.name)
		p.click("Create key")
		p.see("The key laptop waits for its owner")
		if address := ask[string](p, `document.querySelector("dialog .url code").textContent`); !strings.HasSuffix(address, "/keys?scope=own") {
			t.Errorf("the address to hand over: %s", address)
		}
		p.inspect("key-for-a-member")
		p.click("Done")
		p.see("Waiting to be fetched")
		p.inspect("team-waiting")
		p.click("Actions for laptop")
		p.see("Edit limits")
		p.seeNot("Rotate")
		p.visit("/keys?scope=" + team)
		p.see("Waiting to be fetched")
		p.seeNot("Fetch the secret")
		p.inspect("keys-waiting")

		p.signIn(mia)
		p.visit("/keys?scope=own")
		p.see("Fetch the secret")
		p.inspect("keys-to-fetch")
		p.click("Fetch the secret")
		p.see("Copy your key now")
		secret := ask[string](p, `document.querySelector("dialog .url code").textContent`)
		p.inspect("key-fetched")
		if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", secret); a.Status != 200 {
			t.Errorf("a call with the secret: %d %s", a.Status, a.Body)
		}
		ask[any](p, `document.querySelector("dialog .url button").click()`)
		p.click("Done")
		p.see(secret[:8] + "…")
		p.seeNot("Fetch the secret")

		id := ask[string](p, `document.querySelector("a.name[title=laptop]").href.split("/keys/")[1]`)
		if a := p.Call(t, "POST", "/admin/keys/"+id+"/rotate", `{"reveal":true}`, admin...); a.Status != 201 {
			t.Errorf("rotate: %d %s", a.Status, a.Body)
		}
		p.signIn(root)
		p.visit("/audit?action=key.")
		p.see("rotated the key laptop, secret shown to " + root)
		p.inspect("audit-secret-shown")
	})
}
