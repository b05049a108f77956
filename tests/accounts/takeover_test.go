package accounts

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"modelgateway/services/idp/idptest"
	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// A stranger registers an address that is not theirs. Whoever proves it first, by a mailed link, owns the
// account, and what the stranger has in it ends.
func TestTheFirstProofOfAnAddressOwnsTheAccount(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"verify", "forgot", "an administrator's reset"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			mails := mailtest.Serve(t)
			p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, "DATABASE_URL="+servertest.Postgres(t), "SMTP_URL="+mails.URL,
				"SMTP_FROM=gateway@example.com", "REQUIRE_AUTH=true")
			root := p.Administrator(t)
			stranger := p.Login(t) // as ada@example.com
			user := userID(t, p, "ada@example.com", root)
			wantRefusal(t, 403, "email_not_verified", p.Call(t, "POST", "/auth/keys", `{"name":"k"}`, stranger...))
			wantRefusal(t, 409, "email_not_verified", p.Call(t, "PATCH", "/admin/users/"+user, `{"admin":true}`, root...))
			verification := mails.Await(t, 1).Token()
			var a gatewaytest.Answer
			switch by {
			case "verify":
				a = p.Call(t, "POST", "/auth/verify", `{"token":"`+verification+`","new_password":"the owner's own one"}`)
			case "forgot":
				must(t, 202, p.Call(t, "POST", "/auth/password/forgot", `{"email":"ada@example.com"}`))
				a = p.Call(t, "POST", "/auth/password/reset", `{"token":"`+mails.Await(t, 2).Token()+`","new_password":"the owner's own one"}`)
			default:
				must(t, 201, p.Call(t, "POST", "/admin/users/"+user+"/reset", "", root...))
				a = p.Call(t, "POST", "/auth/password/reset", `{"token":"`+mails.Await(t, 2).Token()+`","new_password":"the owner's own one"}`)
			}
			must(t, 200, a)
			gatewaytest.Until(t, "the stranger's token ends", func() bool { return p.Call(t, "GET", "/auth/keys", "", stranger...).Status == 401 })
			wantRefusal(t, 401, "invalid_credentials", p.Call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`))
			wantRefusal(t, 403, "invalid_link", p.Call(t, "POST", "/auth/verify", `{"token":"`+verification+`","new_password":"another long one"}`))
			login := p.Call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"the owner's own one"}`)
			owner := []string{"Authorization", "Bearer " + gatewaytest.Field(t, login, "token")}
			must(t, 201, p.Call(t, "POST", "/auth/keys", `{"name":"k"}`, owner...))
			must(t, 200, p.Call(t, "PATCH", "/admin/users/"+user, `{"admin":true}`, root...))
			if rows := p.Call(t, "GET", "/admin/audit?action=user.takeover", "", root...).Body; !strings.Contains(rows, user) {
				t.Errorf("the audit: %s", rows)
			}
			// A verified account is never taken over: its keys stay.
			key := gatewaytest.Field(t, p.Call(t, "POST", "/auth/keys", `{"name":"kept"}`, owner...), "key")
			n := len(mails.Mails())
			must(t, 202, p.Call(t, "POST", "/auth/password/forgot", `{"email":"ada@example.com"}`))
			must(t, 200, p.Call(t, "POST", "/auth/password/reset", `{"token":"`+mails.Await(t, n+1).Token()+`","new_password":"the owner's next one"}`))
			must(t, 200, p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key))
		})
	}
}

// Without mail no address is ever verified: a promotion, a membership and a reset end no keys.
func TestWithoutMailNothingChangesForUnverifiedAccounts(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, "REQUIRE_AUTH=true")
	root, token := p.Administrator(t), p.Login(t)
	_, key := p.CreateKey(t, token)
	user := userID(t, p, "ada@example.com", root)
	team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"t"}`, root...), "id")
	must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"ada@example.com"}`, root...))
	must(t, 200, p.Call(t, "PATCH", "/admin/users/"+user, `{"admin":true}`, root...))
	link := p.Call(t, "POST", "/admin/users/"+user+"/reset", "", root...)
	_, linked, _ := strings.Cut(gatewaytest.Field(t, link, "url"), "token=")
	must(t, 200, p.Call(t, "POST", "/auth/password/reset", `{"token":"`+linked+`","new_password":"another long one"}`))
	must(t, 200, p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key))
}

// opened is what the page of a link shows.
type opened struct {
	Email      string
	Identities []struct{ Issuer string }
	Ends       *struct {
		Keys, Teams []string
		Identities  []struct{ Issuer string }
		Admin       bool
	}
}

func openLink(t testing.TB, p *gatewaytest.Program, token string) (o opened) {
	t.Helper()
	a := must(t, 200, p.Call(t, "POST", "/auth/link", `{"token":"`+token+`"}`))
	if err := json.Unmarshal([]byte(a.Body), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// A new member whose address was never verified is invited: the invitation gives the account to the one who reads the mail.
func TestAMemberByAnUnverifiedAddressIsInvited(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		mails := mailtest.Serve(t)
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "SMTP_URL="+mails.URL,
			"SMTP_FROM=gateway@example.com", "REQUIRE_AUTH=true")...)
		root := p.Administrator(t)
		stranger := p.Login(t) // as ada@example.com
		user := userID(t, p, "ada@example.com", root)
		mails.Await(t, 1)
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"t"}`, root...), "id")
		invited := must(t, 202, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"user_id":"`+user+`","role":"manager"}`, root...))
		if gatewaytest.Field(t, invited, "object") != "invitation" || gatewaytest.Field(t, invited, "email") != "ada@example.com" {
			t.Error(invited.Body)
		}
		if members := p.Call(t, "GET", "/admin/teams/"+team+"/members", "", root...).Body; strings.Contains(members, user) {
			t.Error("a stranger is a member:", members)
		}
		token := mails.Await(t, 2).Token()
		if o := openLink(t, p, token); o.Email != "ada@example.com" || o.Ends == nil || o.Ends.Admin || len(o.Ends.Keys) > 0 {
			t.Errorf("%+v", o)
		}
		register := func(email string) gatewaytest.Answer {
			return p.Call(t, "POST", "/auth/register", `{"email":"`+email+`","password":"the owner's own one","name":"Ada L","invitation":"`+token+`"}`)
		}
		wantRefusal(t, 403, "invalid_invitation", register("eve@example.com"))
		if id := gatewaytest.Field(t, must(t, 201, register("ada@example.com")), "id"); id != user {
			t.Error("another account:", id)
		}
		gatewaytest.Until(t, "the stranger's token ends", func() bool { return p.Call(t, "GET", "/auth/keys", "", stranger...).Status == 401 })
		wantRefusal(t, 401, "invalid_credentials", p.Call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`))
		owner := bearer(t, p.Call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"the owner's own one"}`))
		if teams := p.Call(t, "GET", "/auth/teams", "", owner...).Body; !strings.Contains(teams, `"role":"manager"`) {
			t.Error(teams)
		}
		if rows := p.Call(t, "GET", "/admin/audit?action=user.takeover", "", root...).Body; !strings.Contains(rows, user) {
			t.Errorf("the audit: %s", rows)
		}
		// A verified address is a member at once, and needs no invitation.
		wantRefusal(t, 409, "member_exists", p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"ada@example.com"}`, root...))
		wantRefusal(t, 409, "email_taken", p.Call(t, "POST", "/admin/invitations", `{"email":"ada@example.com"}`, root...))
	})
}

// Of two mails a person opens one: who confirms the address first is a member as well, and the invitation is used.
func TestAProofOfTheAddressAcceptsItsInvitations(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		mails := mailtest.Serve(t)
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "SMTP_URL="+mails.URL,
			"SMTP_FROM=gateway@example.com", "REQUIRE_AUTH=true")...)
		root := p.Administrator(t)
		p.Login(t) // as ada@example.com
		verification := mails.Await(t, 1).Token()
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"t"}`, root...), "id")
		must(t, 202, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"ada@example.com","role":"manager"}`, root...))
		invitation := mails.Await(t, 2).Token()
		must(t, 200, p.Call(t, "POST", "/auth/verify", `{"token":"`+verification+`","new_password":"the owner's own one"}`))
		owner := bearer(t, p.Call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"the owner's own one"}`))
		if teams := p.Call(t, "GET", "/auth/teams", "", owner...).Body; !strings.Contains(teams, `"role":"manager"`) {
			t.Error(teams)
		}
		wantRefusal(t, 403, "invalid_invitation", p.Call(t, "POST", "/auth/link", `{"token":"`+invitation+`"}`))
		if open := p.Call(t, "GET", "/admin/invitations", "", root...).Body; strings.Contains(open, "ada@example.com") {
			t.Error(open)
		}
	})
}

// Without mail, accounts are unverified and have keys, identities and teams. Once the gateway sends mail, the page of the link
// that proves the address lists what ends.
func TestThePageThatProvesAnAddressListsWhatEnds(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p, provider := startWithIDP(t, settings...)
		root, token := p.Administrator(t), p.Login(t)
		user := userID(t, p, "ada@example.com", root)
		_, key := p.CreateKey(t, token)
		provider.Set(func(m *idptest.Provider) { m.Person["email"] = "eve@example.com" })
		must(t, 200, newBrowser(t, p).link(t, token))
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"Research"}`, root...), "id")
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"ada@example.com"}`, root...))
		must(t, 200, p.Call(t, "PATCH", "/admin/users/"+user, `{"admin":true}`, root...))
		must(t, 200, p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key))

		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		mails := mailtest.Serve(t)
		p, _ = startWithIDP(t, append(settings, "SMTP_URL="+mails.URL, "SMTP_FROM=gateway@example.com")...)
		must(t, 202, p.Call(t, "POST", "/auth/password/forgot", `{"email":"ada@example.com"}`))
		reset := mails.Await(t, 1).Token()
		o := openLink(t, p, reset)
		if e := o.Ends; e == nil || len(e.Keys) != 1 || len(e.Identities) != 1 || e.Identities[0].Issuer != provider.URL ||
			!slices.Equal(e.Teams, []string{"Research"}) || !e.Admin || len(o.Identities) != 0 {
			t.Errorf("%+v", o)
		}
		must(t, 200, p.Call(t, "POST", "/auth/password/reset", `{"token":"`+reset+`","new_password":"the owner's own one"}`))
		wantRefusal(t, 401, "invalid_api_key", p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key))
		owner := bearer(t, p.Call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"the owner's own one"}`))
		session := p.Call(t, "GET", "/auth/session", "", owner...).Body
		for _, ended := range []string{`"teams":[]`, `"identities":[]`, `"admin":false`} {
			if !strings.Contains(session, ended) {
				t.Errorf("no %s in %s", ended, session)
			}
		}
	})
}
