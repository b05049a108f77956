package cli_test

import (
	"strings"
	"testing"

	"modelgateway/tests/storetest"
)

// TestFivePeopleWithBudgetsNeedSixCommands begins with an empty database.
func TestFivePeopleWithBudgetsNeedSixCommands(t *testing.T) {
	t.Parallel()
	onEach(t, func(g *gateway) {
		g.in = "correct horse battery\n"
		g.do("admin", "create", "--email", "root@example.com", "--password-stdin")
		keys := map[string]bool{}
		for _, name := range []string{"ada", "bea", "carl", "dora", "ed"} {
			out := g.do("user", "create", "--email", name+"@example.com", "--budget-usd", "50", "--budget-window", "month", "--key", "laptop", "-q")
			if strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "mgw_") {
				g.t.Errorf("%q", out)
			}
			keys[out] = true
		}
		users, _ := g.json("user", "list")["data"].([]any)
		if len(keys) != 5 || len(users) != 6 {
			g.t.Fatalf("%d keys, %d users", len(keys), len(users))
		}
		ed, _ := users[0].(map[string]any)
		root, _ := users[5].(map[string]any)
		if ed["budget_usd"] != 50.0 || ed["budget_window"] != "month" || ed["keys"] != 1.0 || ed["admin"] != false {
			g.t.Errorf("%v", ed)
		}
		if root["email"] != "root@example.com" || root["admin"] != true || root["verified"] != true {
			g.t.Errorf("%v", root)
		}
	})
}

func TestUserIsCreatedWithKeyLinkAndTeam(t *testing.T) {
	t.Parallel()
	onEach(t, func(g *gateway) {
		g.environ = append(g.environ, "PUBLIC_URL=https://gateway.example.com")
		g.do("team", "create", "--name", "research")
		u := g.json("user", "create", "--email", "Ada@Example.com", "--name", "Ada", "--team", "research", "--role", "manager", "--key", "laptop",
			"--rpm-limit", "60")
		key, _ := u["key"].(map[string]any)
		link, _ := u["link"].(map[string]any)
		teams, _ := u["teams"].([]any)
		url, _ := link["url"].(string)
		if text, _ := key["key"].(string); !strings.HasPrefix(text, "mgw_") || len(teams) != 1 || u["email"] != "ada@example.com" ||
			!strings.HasPrefix(url, "https://gateway.example.com/signin#token=mgw_reset_") || u["rpm_limit"] != 60.0 {
			g.t.Errorf("%v", u)
		}
		if out := g.do("user", "create", "--email", "bea@example.com", "-q"); !strings.HasPrefix(out, "https://gateway.example.com/signin#token=") {
			g.t.Errorf("%q", out)
		}
		g.in = "correct horse battery"
		if u := g.json("user", "create", "--email", "carl@example.com", "--password-stdin"); u["link"] != nil || u["key"] != nil {
			g.t.Errorf("%v", u)
		}
		text := g.do("user", "list")
		for _, part := range []string{"research (manager)", "60 requests a minute", "Ada"} {
			if !strings.Contains(text, part) {
				g.t.Errorf("%q is missing:\n%s", part, text)
			}
		}
		g.refuses(1, []string{"exists"}, "user", "create", "--email", "ada@example.com")
		g.refuses(1, []string{"no team"}, "user", "create", "--email", "eve@example.com", "--team", "sales")
		g.refuses(1, []string{"--role needs --team"}, "user", "create", "--email", "eve@example.com", "--role", "manager")
		g.refuses(1, []string{"no password"}, "user", "create", "--email", "eve@example.com", "--password-stdin")
		g.in = "short"
		g.refuses(1, []string{"password"}, "user", "create", "--email", "eve@example.com", "--password-stdin")
		g.refuses(2, []string{"email"}, "user", "create")
	})
}

func TestUserIsInvitedResetLimitedAndDeleted(t *testing.T) {
	t.Parallel()
	onEach(t, func(g *gateway) {
		g.do("team", "create", "--name", "research")
		g.do("user", "create", "--email", "ada@example.com", "--key", "laptop", "--team", "research")
		r := g.run("user", "invite", "--team", "research", "--role", "manager")
		if r.code != 0 || !strings.Contains(r.out, "token=mgw_invite_") || strings.Count(r.out, "\n") != 1 ||
			!strings.Contains(r.err, "one person can register") {
			g.t.Errorf("%+v", r)
		}
		if i := g.json("user", "invite", "--email", "Bea@example.com"); i["email"] != "bea@example.com" || i["url"] == nil || i["created_by"] != nil {
			g.t.Errorf("%v", i)
		}
		if out := g.do("user", "reset-password", "ada@example.com", "-q"); !strings.Contains(out, "token=mgw_reset_") {
			g.t.Errorf("%q", out)
		}
		if u := g.json("user", "limits", "ada@example.com", "--budget-usd", "20", "--budget-window", "day"); u["budget_window"] != "day" {
			g.t.Errorf("%v", u)
		}
		if deleted := g.json("user", "delete", "ada@example.com"); deleted["deleted"] != true {
			g.t.Errorf("%v", deleted)
		}
		if ids := g.do("key", "list", "-q"); ids != "" {
			g.t.Errorf("keys of a deleted user: %s", ids)
		}
		g.refuses(1, []string{"no user"}, "user", "delete", "ada@example.com")
		g.do("user", "create", "--email", "bea@example.com")
		g.refuses(1, []string{"bea@example.com is not deleted", "--delete"}, "user", "erase", "bea@example.com")
		if rows := g.json("user", "list")["data"].([]any); len(rows) != 1 {
			g.t.Errorf("%v", rows)
		}
		for _, args := range [][]string{{"user", "erase", "Ada@example.com"}, {"user", "erase", "bea@example.com", "--delete"}} {
			if erased := g.json(args...); erased["deleted"] != true {
				g.t.Errorf("%v", erased)
			}
			g.refuses(1, []string{"no user"}, args...)
		}
		if out := g.do("audit", "--limit", "0", "--json"); strings.Contains(out, "ada@") || strings.Contains(out, "bea@") || !strings.Contains(out, "user.erase") {
			g.t.Error(out)
		}
		g.refuses(1, []string{"no limit"}, "user", "limits", "ada@example.com")
	})
}

func TestTeamsAndTheirMembers(t *testing.T) {
	t.Parallel()
	onEach(t, func(g *gateway) {
		team := g.json("team", "create", "--name", "research", "--budget-usd", "500")
		g.do("user", "create", "--email", "ada@example.com")
		g.do("user", "create", "--email", "bea@example.com")
		g.do("team", "add", "research", "ada@example.com", "--role", "manager")
		g.do("team", "add", "research", "bea@example.com")
		if m := g.json("team", "add", "research", "bea@example.com", "--role", "manager"); m["role"] != "manager" {
			g.t.Errorf("%v", m)
		}
		if emails := strings.Fields(g.do("team", "members", "research", "-q")); strings.Join(emails, " ") != "ada@example.com bea@example.com" {
			g.t.Errorf("%q", emails)
		}
		g.do("key", "create", "--team", "research", "--user", "bea@example.com", "--name", "ci")
		g.do("key", "create", "--team", "research", "--name", "shared")
		if ids := strings.Fields(g.do("key", "list", "--team", "research", "-q")); len(ids) != 2 {
			g.t.Errorf("%q", ids)
		}
		g.do("team", "create", "--name", "sales")
		g.refuses(1, []string{"member"}, "key", "create", "--user", "bea@example.com", "--team", "sales", "--name", "x")
		limits := g.json("team", "limits", "research", "--budget-usd", "none", "--models", "gpt-4")
		if models, _ := limits["models"].([]any); limits["budget_usd"] != nil || len(models) != 1 || limits["id"] != team["id"] {
			g.t.Errorf("%v", limits)
		}
		if text := g.do("team", "list"); !strings.Contains(text, "research") || !strings.Contains(text, "only gpt-4") {
			g.t.Error(text)
		}
		g.do("team", "remove", "research", "bea@example.com")
		if ids := strings.Fields(g.do("key", "list", "-q")); len(ids) != 1 {
			g.t.Errorf("the key of a member who has left works: %q", ids)
		}
		g.refuses(1, []string{"no team"}, "team", "delete", "marketing")
		g.do("team", "delete", "research")
		if ids := g.do("key", "list", "-q"); ids != "" {
			g.t.Errorf("keys of a deleted team: %s", ids)
		}
	})
}

// A stranger may have registered an administrator's address before: what they know must
// not become an administrator's. ada has a password, and her address is not verified.
func TestAdministratorWithoutAVerifiedAddressLosesPasswordAndKeys(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		g.environ = append(g.environ, "SMTP_URL=smtp://127.0.0.1:1", "SMTP_FROM=gateway@example.com")
		d.Query(g.t, "UPDATE users SET verified_at = 0 RETURNING id")
		g.do("key", "create", "--user", "ada@example.com", "--name", "stranger")
		admin := g.json("admin", "create", "--email", "ada@example.com")
		if link, _ := admin["link"].(map[string]any); admin["admin"] != true || admin["verified"] != true || admin["keys"] != 0.0 || link["url"] == nil {
			g.t.Errorf("%v", admin)
		}
		if left := d.Query(g.t, "SELECT password_hash, generation FROM users WHERE id = 'ada'"); left[0] != "" || left[1] != "2" {
			g.t.Errorf("%q", left)
		}
		g.do("key", "create", "--user", "bob@example.com", "--name", "stranger")
		g.in = "correct horse battery"
		if bob := g.json("admin", "create", "--email", "bob@example.com", "--password-stdin"); bob["keys"] != 0.0 || bob["link"] != nil {
			g.t.Errorf("%v", bob)
		}
	})
}

// Without mail users cannot verify their addresses: one who becomes an administrator keeps the keys.
func TestAdministratorKeepsKeysWhereTheGatewaySendsNoMail(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		d.Query(g.t, "UPDATE users SET verified_at = 0 RETURNING id")
		g.do("key", "create", "--user", "ada@example.com", "--name", "laptop")
		if ada := g.json("admin", "create", "--email", "ada@example.com"); ada["admin"] != true || ada["keys"] != 1.0 || ada["link"] == nil {
			g.t.Errorf("%v", ada)
		}
		if left := d.Query(g.t, "SELECT password_hash, generation FROM users WHERE id = 'ada'"); left[0] != "" || left[1] != "2" {
			g.t.Errorf("%q", left)
		}
	})
}

func TestAUserWhomTheOperatorCreatedKeepsKeysAsAdministrator(t *testing.T) {
	t.Parallel()
	onEach(t, func(g *gateway) {
		u := g.json("user", "create", "--email", "ada@example.com", "--key", "own")
		if ada := g.json("admin", "create", "--email", "ada@example.com"); ada["keys"] != 1.0 || ada["id"] != u["id"] || ada["link"] == nil {
			g.t.Errorf("%v", ada)
		}
		g.do("admin", "create", "--email", "root@example.com")
		g.do("user", "disable", "ada@example.com")
		g.refuses(1, []string{"disabled"}, "admin", "create", "--email", "ada@example.com")
	})
}
