package storage

import (
	"slices"
	"strings"
	"testing"

	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
)

// downgrade makes the schema that of version 21, which has the same keys.
func downgrade(t *testing.T, address string) {
	t.Helper()
	db := gatewaytest.OpenSQL(t, address)
	defer func() { _ = db.Close() }()
	gatewaytest.Execute(t, db, "ALTER TABLE identities DROP COLUMN email")
	gatewaytest.Execute(t, db, "ALTER TABLE kept_responses DROP COLUMN team_id")
	for _, table := range []string{"api_keys", "users", "teams"} {
		drop := "DROP TRIGGER " + table + "_reserve_changed"
		if !strings.HasPrefix(address, "sqlite:") {
			drop += " ON " + table
		}
		gatewaytest.Execute(t, db, drop)
		gatewaytest.Execute(t, db, "ALTER TABLE "+table+" DROP COLUMN budget_reserve")
	}
	gatewaytest.Execute(t, db, "DELETE FROM schema_migrations WHERE version BETWEEN 22 AND 24")
}

// accountsOfBefore makes users whose addresses are verified and not, an administrator among the latter, and
// a team, each with a key, and returns the keys by whose they are.
func accountsOfBefore(t *testing.T, settings []string) map[string]string {
	t.Helper()
	keys := map[string]string{}
	do := func(args ...string) string { return strings.TrimSpace(gatewaytest.Command(t, settings, args...)) }
	p := gatewaytest.Start(t, settings...)
	for _, name := range []string{"unverified", "promoted", "member"} {
		email := name + "@example.com"
		p.Patiently(t, "/auth/register", `{"email":"`+email+`","password":"correct horse battery","name":"n"}`)
		a := p.Patiently(t, "/auth/login", `{"email":"`+email+`","password":"correct horse battery"}`)
		_, keys[name] = p.CreateKey(t, []string{"Authorization", "Bearer " + gatewaytest.Field(t, a, "token")})
	}
	keys["verified"] = do("user", "create", "--email", "verified@example.com", "--key", "app", "-q")
	team := do("team", "create", "--name", "core", "-q")
	do("team", "add", team, "member@example.com", "--role", "manager")
	keys["member in the team"] = do("key", "create", "--user", "member@example.com", "--team", team, "--name", "app", "-q")
	keys["team"] = do("key", "create", "--team", team, "--name", "app", "-q")
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	db := gatewaytest.OpenDatabase(t, settings)
	gatewaytest.Execute(t, db, "UPDATE users SET admin_at = 5 WHERE email = 'promoted@example.com'")
	if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM users WHERE verified_at = 0"); n != 3 {
		t.Fatalf("%d users whose address is not verified", n)
	}
	return keys
}

// Every key stays valid after an upgrade. If the gateway sends no mail, it also stays valid when its user
// becomes an administrator or a member of a team.
func TestAllKeysStayValidAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, fresh func() string) {
		for _, mails := range []bool{false, true} {
			address := fresh()
			settings := []string{"DATABASE_URL=" + address, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret}
			keys := accountsOfBefore(t, settings)
			downgrade(t, address)
			if mails {
				settings = append(settings, "SMTP_URL="+mailtest.Serve(t).URL, "SMTP_FROM=gateway@example.com")
			}
			p := gatewaytest.Start(t, slices.Concat(settings, []string{"ADMIN_EMAILS=unverified@example.com"})...)
			open := func(when string) {
				for whose, key := range keys {
					if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key); a.Status != 200 {
						t.Errorf("mail: %v, %s: the key of %s: %d %s", mails, when, whose, a.Status, a.Body)
					}
				}
			}
			open("after the upgrade")
			if mails {
				continue
			}
			login := p.Patiently(t, "/auth/login", `{"email":"promoted@example.com","password":"correct horse battery"}`)
			root := []string{"Authorization", "Bearer " + gatewaytest.Field(t, login, "token")}
			users := p.Call(t, "GET", "/admin/users?email=unverified@example.com", "", root...).Body
			_, id, _ := strings.Cut(users, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			if a := p.Call(t, "PATCH", "/admin/users/"+id, `{"admin":true}`, root...); a.Status != 200 {
				t.Errorf("promotion: %d %s", a.Status, a.Body)
			}
			gatewaytest.Command(t, settings, "team", "add", "core", "promoted@example.com")
			gatewaytest.Command(t, settings, "admin", "create", "--email", "member@example.com")
			open("after promotions")
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			p = gatewaytest.Start(t, settings...)
			open("after another start")
		}
	})
}
