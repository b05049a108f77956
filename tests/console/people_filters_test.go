package console

import (
	"strings"
	"testing"
)

func TestUsersAreFilteredByTheGatewayAndTheAddressKeepsIt(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		root := p.Administrator(t)
		create := func(path, body string) {
			t.Helper()
			if a := p.Call(t, "POST", path, body, root...); a.Status != 201 {
				t.Fatalf("%s: %d %s", path, a.Status, a.Body)
			}
		}
		password, linked := p.view.name+"-pw@example.com", p.view.name+"-link@example.com"
		create("/admin/users", `{"email":"`+password+`","name":"Petra","password":"correct horse battery"}`)
		create("/admin/users", `{"email":"`+linked+`","name":"Lina"}`)
		create("/admin/invitations", `{"email":"`+p.view.name+`-guest@example.com"}`)
		p.signIn("root@example.com")
		p.visit("/users")
		p.see(linked)
		p.see("invited by root@example.com")
		p.choose("Sign-in", "None yet")
		p.see(linked)
		p.seeNot(password)
		p.seeNot("invited by")
		p.inspect("users-filtered")
		if query := ask[string](p, "location.search"); !strings.Contains(query, "sign_in=none") {
			t.Errorf("the address has %q", query)
		}
		p.visit("/users?sign_in=password&q=" + p.view.name + "-")
		p.see(password)
		p.seeNot(linked)
		p.visit("/users?q=" + p.view.name + "-nobody")
		p.see("No user matches.")
		p.click("Clear filters")
		p.see(password)
	})
}

func TestPeopleChangeTheirName(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		email := "name." + p.view.name + "@example.com"
		made := p.Call(t, "POST", "/auth/register", `{"email":"`+email+`","password":"correct horse battery","name":"Former"}`)
		if made.Status != 201 {
			t.Fatalf("register: %d %s", made.Status, made.Body)
		}
		p.signIn(email)
		p.visit("/account")
		p.fill("Your name", " ")
		p.click("Save name")
		p.see("name is missing")
		p.fill("Your name", markup+"Later")
		p.inspect("account-name")
		p.click("Save name")
		p.await("the name is not changed", func() bool {
			return strings.HasSuffix(ask[string](p, `document.querySelector("dl.facts dd")?.textContent ?? ""`), "Later")
		})
		p.see("Your name is changed")
	})
}
