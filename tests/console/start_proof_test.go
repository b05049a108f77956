package console

import (
	"testing"

	"modelgateway/services/mail/mailtest"
)

// The page that proves an address lists what others may have made with it, before it ends.
func TestThePageOfALinkListsWhatEnds(t *testing.T) {
	t.Parallel()
	mails := mailtest.Serve(t)
	gateway := start(t, "SMTP_URL="+mails.URL, "SMTP_FROM=gateway@example.com")
	admin := gateway.Administrator(t)
	gateway.Login(t) // ada@example.com, without proof
	team := gateway.Call(t, "POST", "/admin/teams", `{"name":"Research"}`, admin...)
	var made struct{ ID string }
	team.JSON(t, &made)
	mails.Await(t, 1)
	if a := gateway.Call(t, "POST", "/admin/teams/"+made.ID+"/members", `{"email":"ada@example.com"}`, admin...); a.Status != 202 {
		t.Fatal(a.Status, a.Body)
	}
	for i, v := range []view{desktop, phone} {
		p := open(newBrowser(t), t, gateway, v)
		p.visit("/signin#token=" + mails.Await(t, 2).Token())
		p.see("You were invited to this gateway, to the team Research")
		p.see("registered without proof, perhaps by another person")
		p.inspect("invitation-proof")
		if i == 1 {
			p.fill("Name", "Ada")
			p.fill("Password", "correct horse battery")
			p.click("Create account")
			p.see("First steps")
			p.visit("/account")
			p.see("Research (member)")
		}
	}
}
