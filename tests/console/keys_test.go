package console

import (
	"testing"

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
		p.see("This cannot be undone.")
		p.inspect("key-revoke")
		p.click("Revoke key")
		p.see("is revoked")
		if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+secret); a.Status != 401 {
			t.Errorf("a call with a revoked key: %d", a.Status)
		}
	})
}
