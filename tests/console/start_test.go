package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

func TestFirstAdministratorSetsUpAndInvites(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	for _, v := range []view{desktop, night} {
		t.Run(v.name, func(t *testing.T) {
			gateway := start(t)
			p := open(browser, t, gateway, v)
			p.visit("/")
			p.see("Set up this gateway")
			p.inspect("setup")
			p.fill("Link from the log", "http://localhost:8080/signin#token="+gateway.SetupToken())
			p.fill("Name", "Ines")
			p.fill("E-mail", "root@example.com")
			p.fill("Password", "short")
			p.click("Create administrator")
			p.see("8 to 72")
			p.fill("Password", "correct horse battery")
			p.click("Create administrator")
			p.see("First steps")

			invitation := gateway.Call(t, "POST", "/admin/invitations", `{"email":"ada@example.com"}`, gateway.Administrator(t)...)
			token := linkToken(t, invitation)
			guest := open(browser, t, gateway, v)
			guest.visit("/signin#token=" + token)
			guest.see("You were invited")
			guest.inspect("invitation")
			if address := ask[string](guest, `document.querySelector("[name=email][readonly]").value + " " + document.activeElement.name`); address != "ada@example.com name" {
				t.Errorf("the address that is filled in, and the field with the focus: %s", address)
			}
			guest.fill("Name", `<img src=x onerror="fail()">`)
			guest.fill("Password", "correct horse battery")
			guest.press(kb.Enter)
			guest.see("First steps")
			guest.visit("/users")
			guest.see("Only administrators see users.")
			guest.inspect("refused")

			var ada struct{ Data []struct{ ID string } }
			gateway.Call(t, "GET", "/admin/users?q=ada", "", gateway.Administrator(t)...).JSON(t, &ada)
			reset := linkToken(t, gateway.Call(t, "POST", "/admin/users/"+ada.Data[0].ID+"/reset", "", gateway.Administrator(t)...))
			other := open(browser, t, gateway, v)
			other.visit("/signin#token=" + reset)
			other.see("Choose a password")
			other.fill("New password", "battery horse correct")
			other.inspect("reset")
			other.click("Set password")
			other.see("First steps")
			other.visit("/signin#token=" + reset)
			other.see("This link is not valid any more")
			guest.visit("/keys") // the reset has ended the first session
			guest.see("Sign in")
			guest.at("/signin?to=%2Fkeys")
		})
	}
}

// linkToken returns the token of a link in an answer.
func linkToken(t *testing.T, a gatewaytest.Answer) string {
	t.Helper()
	_, rest, ok := strings.Cut(a.Body, "mgw_")
	if !ok {
		t.Fatal(fmt.Sprint(a.Status, a.Body))
	}
	return "mgw_" + strings.FieldsFunc(rest, func(r rune) bool { return r == '"' || r == '&' })[0]
}
