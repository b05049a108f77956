package signin

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// A program is signed in by its code, works as its user, gets new tokens, and is signed out.
func TestProgramIsSignedInByACodeThatItsUserConfirms(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		p := gatewaytest.Start(t, append(settings(), storage...)...)
		ada := p.Login(t)

		var server struct {
			Device, Token, Revoke string
		}
		found := p.Get(t, "/.well-known/oauth-authorization-server")
		server.Device, server.Token = gatewaytest.Field(t, found, "device_authorization_endpoint"), gatewaytest.Field(t, found, "token_endpoint")
		server.Revoke = gatewaytest.Field(t, found, "revocation_endpoint")
		issuer := gatewaytest.Field(t, found, "issuer")
		if server.Device != issuer+"/oauth/device_authorization" || server.Token != issuer+"/oauth/token" || server.Revoke != issuer+"/oauth/revoke" {
			t.Errorf("%+v", server)
		}

		c := begin(t, p)
		if !regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`).MatchString(c.User) || c.Complete != issuer+"/device?user_code="+c.User {
			t.Errorf("%+v", c)
		}
		checkOAuth(t, ask(t, p, c.Device), 400, "authorization_pending")
		checkOAuth(t, ask(t, p, c.Device), 400, "slow_down") // too early
		wish := p.Patiently(t, "/auth/device", `{"user_code":"`+strings.ToLower(strings.ReplaceAll(c.User, "-", " "))+`"}`, ada...)
		if wish.Status != 200 || gatewaytest.Field(t, wish, "client") != "claude-code/2.1.330" || gatewaytest.Field(t, wish, "address") != "127.0.0.1" {
			t.Errorf("%d %s", wish.Status, wish.Body)
		}
		if a := confirm(t, p, ada, c.User, `"approve":true`); a.Status != 204 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if a := confirm(t, p, ada, c.User, `"approve":false`); a.Status != 404 {
			t.Errorf("a code is answered twice: %d %s", a.Status, a.Body)
		}
		db := gatewaytest.OpenDatabase(t, storage)
		gatewaytest.Execute(t, db, "UPDATE device_codes SET asks_at = 0") // as after ten seconds
		var first tokens
		a := ask(t, p, c.Device)
		a.JSON(t, &first)
		if a.Status != 200 || first.Email != "ada@example.com" || first.Expires < 3590 || first.Expires > 3600 || a.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		checkOAuth(t, ask(t, p, c.Device), 400, "expired_token") // it is used
		if gatewaytest.Sum(t, db, "SELECT count(*) FROM sign_ins WHERE hash = $1", first.Access) != 0 {
			t.Error("the database has the token itself")
		}

		if a := call(t, p, first, hello); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if a := p.Call(t, http.MethodGet, "/auth/keys", "", first.header()...); a.Status != 401 {
			t.Errorf("a program manages keys: %d", a.Status)
		}
		list := p.Call(t, http.MethodGet, "/auth/sign-ins", "", ada...)
		if !strings.Contains(list.Body, `"client":"claude-code/2.1.330","address":"127.0.0.1"`) {
			t.Errorf("%s", list.Body)
		}

		var second, again tokens
		refresh(t, p, first.Refresh).JSON(t, &second)
		refresh(t, p, first.Refresh).JSON(t, &again) // of another process that shares the token
		if second.Access == first.Access || second.Access != again.Access || second.Refresh != again.Refresh {
			t.Errorf("%+v, %+v", second, again)
		}
		for _, s := range []tokens{first, second} { // the former access token works until its end
			if a := call(t, p, s, hello); a.Status != 200 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		a = post(t, p, "/oauth/revoke", url.Values{"token": {second.Refresh}, "token_type_hint": {"refresh_token"}})
		if a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		for _, s := range []tokens{first, second} {
			isRefusedWithinASecond(t, p, s, time.Now())
		}
		checkOAuth(t, refresh(t, p, second.Refresh), 401, "invalid_grant")
		if a = post(t, p, "/oauth/revoke", url.Values{"token": {second.Access}}); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

func checkOAuth(t *testing.T, a gatewaytest.Answer, status int, code string) {
	t.Helper()
	if a.Status != status || gatewaytest.Field(t, a, "error") != code || gatewaytest.Field(t, a, "error_description") == "" {
		t.Errorf("%d %s, not %d %s", a.Status, a.Body, status, code)
	}
}

// Each way to end a sign-in takes effect within a second, also on the other replica.
func TestSignInEndsWithinASecondOnEveryReplica(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		all := append(settings(), storage...)
		here := gatewaytest.Start(t, all...)
		there := here
		if strings.Contains(strings.Join(storage, " "), "postgres") {
			there = gatewaytest.Start(t, all...)
		}
		root := here.Administrator(t)
		team := gatewaytest.Field(t, here.Patiently(t, "/admin/teams", `{"name":"Research"}`, root...), "id")
		db := gatewaytest.OpenDatabase(t, storage)
		end := func(method, path, body string, by []string) {
			t.Helper()
			if a := here.Call(t, method, path, body, by...); a.Status >= 300 {
				t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
			}
		}
		for name, finish := range map[string]func(user []string, id string, s tokens){
			"disabled": func(_ []string, id string, _ tokens) { end("PATCH", "/admin/users/"+id, `{"disabled":true}`, root) },
			"deleted":  func(_ []string, id string, _ tokens) { end("DELETE", "/admin/users/"+id, "", root) },
			"removed":  func(_ []string, id string, _ tokens) { end("DELETE", "/admin/teams/"+team+"/members/"+id, "", root) },
			"password": func(user []string, _ string, _ tokens) {
				end("POST", "/auth/password", `{"current_password":"correct horse battery","new_password":"another horse battery"}`, user)
			},
			"everywhere": func(user []string, _ string, _ tokens) { end("POST", "/auth/logout", `{"everywhere":true}`, user) },
			"own": func(user []string, _ string, _ tokens) {
				end("DELETE", "/auth/sign-ins/"+onlySignIn(t, here, "/auth/sign-ins", user), "", user)
			},
			"by-root": func(_ []string, id string, _ tokens) {
				end("DELETE", "/admin/sign-ins/"+onlySignIn(t, here, "/admin/sign-ins?user_id="+id, root), "", root)
			},
			"replayed": func(_ []string, id string, s tokens) {
				if a := refresh(t, here, s.Refresh); a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				gatewaytest.Execute(t, db, "UPDATE sign_ins SET refreshed_at = refreshed_at - 61000000 WHERE user_id = $1", id) // a minute later
				checkOAuth(t, refresh(t, here, s.Refresh), 401, "invalid_grant")
			},
			"revoked": func(_ []string, _ string, s tokens) { post(t, here, "/oauth/revoke", url.Values{"token": {s.Access}}) },
		} {
			user := here.SignUp(t, name)
			id := gatewaytest.Field(t, here.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"`+name+`@example.com"}`, root...), "user_id")
			if id == "" { // whose address is not proven is invited
				id = userOf(t, here, root, name)
				gatewaytest.Execute(t, db, "INSERT INTO team_members (team_id, user_id, role, created_at) VALUES ($1, $2, 'member', 1)", team, id)
			}
			s := signIn(t, here, user, team)
			for _, p := range []*gatewaytest.Program{here, there} {
				if a := call(t, p, s, hello); a.Status != 200 {
					t.Fatalf("%s: %d %s", name, a.Status, a.Body)
				}
			}
			finish(user, id, s)
			isRefusedWithinASecond(t, there, s, time.Now())
			isRefusedWithinASecond(t, here, s, time.Now())
			checkOAuth(t, refresh(t, there, s.Refresh), 401, "invalid_grant")
		}
		if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM audit WHERE action = 'sign_in.end'"); n != 4 {
			t.Errorf("the audit has %d ends", n)
		}
		if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM audit WHERE action = 'sign_in.approve'"); n != 9 {
			t.Errorf("the audit has %d approvals", n)
		}
		if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE team_id = $1", team); n < 9 {
			t.Errorf("%d calls are booked for the team", n)
		}
	})
}

// What ends the sign-ins of a user ends those also that are confirmed and not fetched yet.
func TestConfirmedCodeEndsWithTheSignInsOfItsUser(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		p := gatewaytest.Start(t, append(settings(), storage...)...)
		for _, end := range []struct{ name, path, body string }{
			{"password", "/auth/password", `{"current_password":"correct horse battery","new_password":"another horse battery"}`},
			{"everywhere", "/auth/logout", `{"everywhere":true}`},
		} {
			user := p.SignUp(t, end.name)
			c := begin(t, p)
			if a := confirm(t, p, user, c.User, `"approve":true`); a.Status != 204 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if a := p.Patiently(t, end.path, end.body, user...); a.Status >= 300 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			checkOAuth(t, ask(t, p, c.Device), 400, "access_denied")
		}
	})
}

func onlySignIn(t *testing.T, p *gatewaytest.Program, path string, by []string) string {
	t.Helper()
	var list struct {
		Data []struct{ ID string }
	}
	p.Call(t, "GET", path, "", by...).JSON(t, &list)
	if len(list.Data) != 1 {
		t.Fatalf("%d sign-ins", len(list.Data))
	}
	return list.Data[0].ID
}

func userOf(t *testing.T, p *gatewaytest.Program, root []string, name string) string {
	t.Helper()
	var list struct {
		Data []struct{ ID string }
	}
	p.Call(t, "GET", "/admin/users?email="+name+"@example.com", "", root...).JSON(t, &list)
	if len(list.Data) != 1 {
		t.Fatalf("%d users are called %s", len(list.Data), name)
	}
	return list.Data[0].ID
}

// Without credentials there is nothing to sign in to.
func TestNoSignInWhereCallersNeedNoCredential(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=false")
	if a := p.Get(t, "/.well-known/oauth-authorization-server"); a.Status != 404 || !strings.Contains(a.Body, "REQUIRE_AUTH") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	a := post(t, p, "/oauth/device_authorization", nil)
	checkOAuth(t, a, 404, "invalid_request")
}
