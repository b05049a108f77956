package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestPaletteDrawerAndColours(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.visit("/account")
		p.see("Change password")
		p.inspect("account")

		ofModel := func() bool { return strings.HasPrefix(ask[string](p, "location.pathname"), "/models/claude-haiku-4-5") }
		p.press("k", ctrl)
		p.see("Create key")
		p.inspect("palette")
		p.press("dark col")
		p.press(kb.Enter)
		p.await("the palette is still there", func() bool { return ask[bool](p, "!document.querySelector('dialog')") })
		p.await("it is not dark", func() bool { return ask[string](p, "document.documentElement.dataset.theme ?? ''") == "dark" })
		p.press("k", ctrl)
		p.see("Sign out everywhere")
		p.press("haiku-4-5")
		p.see("claude-haiku-4-5") // the models come later than what the palette has itself
		p.press(kb.Enter)
		p.await("it is not the page of the model", ofModel)
		if dark := ask[string](p, "document.documentElement.dataset.theme ?? ''"); dark != "dark" {
			t.Errorf("the colours are %q", dark)
		}
		if p.view.phone() {
			p.click("Menu")
			p.see("Search or jump to")
			p.inspect("drawer")
			p.press(kb.Escape)
			p.seeNot("Search or jump to")
			p.click("Menu")
		}
		p.click("Keys")
		p.see("You have no keys yet.")
		ask[any](p, "history.back()")
		p.await("back does not lead to the model", ofModel)
	})
}

func TestPersonChangesTheirPasswordAndSignsOut(t *testing.T) {
	t.Parallel()
	gateway := start(t)
	gateway.SetUp(t, root)
	p := open(newBrowser(t), t, gateway, phone)
	p.signIn(root)
	p.visit("/account")
	p.fill("Current password", "wrong horse battery")
	p.fill("New password", "battery horse correct")
	p.click("Change password")
	p.see("is wrong")
	p.fill("Current password", "correct horse battery")
	p.click("Change password")
	p.see("Your password is changed.")
	p.visit("/")
	p.see("Connect a client")
	p.visit("/account")
	p.click("Sign out everywhere")
	p.see("All your sessions and tokens end, on this device too, and your programs are signed out")
	p.click("Stay signed in")
	p.click("Sign out everywhere")
	p.see("Stay signed in")
	ask[any](p, `document.querySelector("dialog .danger").click()`)
	p.see("No account?")
	p.visit("/keys")
	p.at("/signin?to=%2Fkeys")
}
