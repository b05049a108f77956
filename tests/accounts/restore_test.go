package accounts

import (
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// Only the person who revoked a key or disabled a user can take it back, within a minute, and every replica follows.
func TestWhoRevokedAKeyOrDisabledAUserTakesItBack(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", "AUTH_RATE_LIMIT_RPM=0", gatewaytest.JWTSecret, adminSetting)
		here := gatewaytest.Start(t, settings...)
		there := here
		if strings.Contains(settings[0], "postgres") {
			there = gatewaytest.Start(t, settings...)
		}
		db := gatewaytest.OpenDatabase(t, settings)
		root, bob, eve := loginAs(t, here, "root"), loginAs(t, here, "bob"), loginAs(t, here, "eve")
		bobs, eves := userID(t, here, "bob@example.com", root), userID(t, here, "eve@example.com", root)
		must(t, 200, here.Call(t, "PATCH", "/admin/users/"+eves, `{"admin":true}`, root...))
		id, key := here.CreateKey(t, bob)
		opens := func(p *gatewaytest.Program) bool {
			return p.Call(t, "GET", "/v1/models", "", "X-API-Key", key).Status == 200
		}
		await := func(what string, open bool) {
			t.Helper()
			began := time.Now()
			gatewaytest.Until(t, what, func() bool { return opens(here) == open && opens(there) == open })
			if took := time.Since(began); took > 5*time.Second { // a second, on a machine that has the time
				t.Errorf("%s: %s", what, took)
			}
		}
		revoke := func(at string, by []string) { t.Helper(); must(t, 200, here.Call(t, "DELETE", at, "", by...)) }
		restore := func(at, code string, by []string) {
			t.Helper()
			a := there.Call(t, "POST", at+"/restore", "", by...)
			if code == "" {
				must(t, 200, a)
			} else if a.APIError(t).Code != code {
				t.Errorf("%s: %d %s, not %s", at, a.Status, a.Body, code)
			}
		}
		own, all, user := "/auth/keys/"+id, "/admin/keys/"+id, "/admin/users/"+bobs
		restore(own, "cannot_restore", bob) // it is not revoked
		restore(user, "cannot_restore", root)
		restore("/auth/keys/key_X", "key_not_found", bob)
		restore("/admin/users/usr_X", "user_not_found", root)

		await("it works", true)
		revoke(own, bob)
		await("the revoked key is refused", false)
		restore(all, "cannot_restore", root) // another person
		restore(own, "key_not_found", eve)   // not hers
		restore(all, "admin_required", bob)
		restore(own, "", bob)
		await("the restored key works", true)
		restore(own, "cannot_restore", bob) // twice

		revoke(all, root)
		restore(own, "cannot_restore", bob) // an administrator did it
		restore(all, "cannot_restore", eve)
		gatewaytest.Execute(t, db, "UPDATE api_keys SET revoked_at = revoked_at - 61000000")
		restore(all, "cannot_restore", root) // too late
		gatewaytest.Execute(t, db, "UPDATE api_keys SET revoked_at = revoked_at + 61000000, expires_at = 1")
		restore(all, "", root)
		if a := there.Call(t, "GET", "/v1/models", "", "X-API-Key", key); a.Status != 401 || a.APIError(t).Code != "api_key_expired" {
			t.Errorf("expired: %d %s", a.Status, a.Body)
		}
		must(t, 200, here.Call(t, "PATCH", all, `{"expires_at":null}`, root...))
		await("it works", true)

		must(t, 200, here.Call(t, "PATCH", user, `{"disabled":true}`, root...))
		await("the keys of a disabled user are refused", false)
		restore(user, "cannot_restore", eve)
		restore(user, "", root)
		await("they work again", true)
		if a := there.Call(t, "GET", "/auth/keys", "", bob...); a.Status != 401 {
			t.Errorf("a token of before: %d", a.Status)
		}
		must(t, 200, here.Call(t, "PATCH", user, `{"disabled":true}`, root...))
		must(t, 200, here.Call(t, "PATCH", user, `{"disabled":false}`, eve...))
		restore(user, "cannot_restore", root) // it is enabled

		revoke(all, root)
		revoke(user, root)
		restore(all, "cannot_restore", root) // its user is gone
		restore(user, "user_not_found", root)
		await("the key of a deleted user is refused", false)
		var kept []string
		for _, act := range auditActions(t, here, root) {
			if name, _, _ := strings.Cut(act, " "); strings.HasSuffix(name, ".restore") {
				kept = append(kept, name)
			}
		}
		if strings.Join(kept, " ") != "user.restore key.restore key.restore" {
			t.Errorf("the audit has %q", kept)
		}
	})
}

// Keys of a team come back only while their user is in it, and while there is room.
func TestAKeyOfATeamIsRestoredWhileItCouldBeMade(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "AUTH_RATE_LIMIT_RPM=0", gatewaytest.JWTSecret, adminSetting)...)
		root, eve, mia := loginAs(t, p, "root"), loginAs(t, p, "eve"), loginAs(t, p, "mia")
		team := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Research"}`, root...)), "id")
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"eve@example.com","role":"manager"}`, root...))
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"mia@example.com"}`, root...))
		id := member(t, must(t, 201, p.Call(t, "POST", "/auth/keys", `{"name":"n","team_id":"`+team+`"}`, mia...)), "id")
		at := "/auth/teams/" + team + "/keys/" + id
		must(t, 200, p.Call(t, "DELETE", at, "", eve...))
		must(t, 403, p.Call(t, "POST", at+"/restore", "", mia...))
		must(t, 409, p.Call(t, "POST", "/auth/keys/"+id+"/restore", "", mia...)) // the manager did it
		must(t, 200, p.Call(t, "POST", at+"/restore", "", eve...))
		must(t, 200, p.Call(t, "DELETE", at, "", eve...))
		must(t, 200, p.Call(t, "DELETE", "/admin/teams/"+team+"/members/"+userID(t, p, "mia@example.com", root), "", root...))
		must(t, 409, p.Call(t, "POST", at+"/restore", "", eve...)) // she has left the team
		own, _ := p.CreateKey(t, mia)
		must(t, 200, p.Call(t, "DELETE", "/auth/keys/"+own, "", mia...))
		db := gatewaytest.OpenDatabase(t, settings)
		for i := range 100 {
			gatewaytest.Execute(t, db, "INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at) SELECT id || '"+
				strings.Repeat("x", i+1)+"', user_id, name, hash || '"+strings.Repeat("x", i+1)+"', prefix, created_at FROM api_keys WHERE id = '"+own+"'")
		}
		if a := p.Call(t, "POST", "/auth/keys/"+own+"/restore", "", mia...); a.APIError(t).Code != "too_many_keys" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}
