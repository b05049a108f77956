package takeover

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
	"modelgateway/tests/servertest"
)

// emptyMove is a move without a company.
func emptyMove(t *testing.T, version string, settings []string) *move {
	t.Helper()
	m := &move{there: litellmtest.Create(t, version), company: &litellmtest.Company{}, dir: t.TempDir()}
	if err := os.WriteFile(m.dir+"/config.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.settings = append(slices.Clone(settings), "LITELLM_DATABASE_URL="+m.there.Address, gatewaytest.JWTSecret, "REQUIRE_AUTH=true", "HOST=127.0.0.1", "PORT=0")
	gatewaytest.Command(t, m.settings, "migrate")
	m.db = gatewaytest.OpenDatabase(t, m.settings)
	return m
}

func TestOddDataIsTakenAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		m := emptyMove(t, "newest", settings)
		long, control := strings.Repeat("é,\"'", 500), "a\x01b\nc\x7f\u200b\u202ed"
		users := []struct{ id, set string }{
			{"u-null", ``},
			{"u-empty", `user_email = '', user_alias = '', user_role = '', models = '{}'`},
			{"u-bad", `user_email = 'no address', user_role = 'customer'`},
			{"u-control", `user_email = 'control@example.com', user_alias = '` + control + `'`},
			{"u-long", `user_email = 'long@example.com', user_alias = '` + strings.ReplaceAll(long, "'", "''") + `', max_budget = 1e300, spend = 1e5`},
			{"u-negative", `user_email = 'negative@example.com', spend = -5.5, max_budget = 10, rpm_limit = 2147483647`},
			{"u'; DROP TABLE users --", `user_email = 'quote@example.com'`},
		}
		for _, u := range users {
			m.there.Exec(t, `INSERT INTO "LiteLLM_UserTable" (user_id) VALUES ($1)`, u.id)
			if u.set != "" {
				m.there.Exec(t, `UPDATE "LiteLLM_UserTable" SET `+u.set+` WHERE user_id = $1`, u.id)
			}
		}
		teams := []struct{ id, set string }{
			{"t-null", ``},
			{"t-empty", `team_alias = '', members_with_roles = '{}'`},
			{"t-control", `team_alias = E'\x01\x02', members_with_roles = '[{"user_id": null, "role": null}, {"user_email": "x"}, 7, "x"]'`},
			{"t-long", `team_alias = '` + strings.ReplaceAll(long, "'", "''") + `', members = '{u-control,nobody}', admins = '{u-long}'`},
			{"t-longer", `team_alias = '` + strings.ReplaceAll(long, "'", "''") + `!', members_with_roles = '[]'`},
			{"t-own", `team_alias = 'LiteLLM', max_budget = -1`},
			{"t-case", `team_alias = 'litellm', models = '{"a,b", "", "*x*", "two words"}'`},
		}
		for _, team := range teams {
			m.there.Exec(t, `INSERT INTO "LiteLLM_TeamTable" (team_id) VALUES ($1)`, team.id)
			if team.set != "" {
				m.there.Exec(t, `UPDATE "LiteLLM_TeamTable" SET `+team.set+` WHERE team_id = $1`, team.id)
			}
		}
		keys := []struct {
			name, set string
			want      int
		}{
			{"plain", ``, 200},
			{"empty", `key_name = '', key_alias = '', user_id = '', team_id = '', budget_id = ''`, 200},
			{"control", `key_alias = '` + control + `', user_id = 'u-control'`, 200},
			{"long", `key_name = 'x` + strings.ReplaceAll(long, "'", "''") + `', key_alias = '` + strings.ReplaceAll(long, "'", "''") + `', user_id = 'u-long'`, 200},
			{"of nobody", `user_id = 'nobody'`, 200},
			{"of no team", `team_id = 'no-team', user_id = 'u-negative'`, 200},
			{"of a user who is not in the team", `team_id = 't-null', user_id = 'u-negative'`, 200},
			{"of a bad address", `user_id = 'u-bad'`, 200},
			{"of a quote", `user_id = 'u''; DROP TABLE users --'`, 200},
			{"huge", `max_budget = 1e300, spend = 5`, 200},
			{"spent a lot", `max_budget = 10, spend = 1e300`, 402},
			{"negative spend", `max_budget = 0.000001, spend = -1`, 200},
			{"negative budget", `max_budget = -5, budget_duration = '1d'`, 402},
			{"budget of nothing", `max_budget = 0`, 402},
			{"in a team without a budget", `team_id = 't-own'`, 402},
			{"in a team without models", `team_id = 't-case'`, 403},
			{"no requests", `rpm_limit = 0`, 403},
			{"negative tokens", `tpm_limit = -1`, 403},
			{"many requests", `rpm_limit = 9223372036854775807, tpm_limit = 9223372036854775807, max_parallel_requests = 2147483647`, 200},
			{"odd duration", `max_budget = 5, budget_duration = 'fortnight'`, 200},
			{"odd metadata", `metadata = '[]', aliases = 'null', permissions = '"x"', model_max_budget = '{}'`, 200},
			{"models of nothing", `models = '{""}'`, 403},
			{"a comma", `models = '{"gpt-4o,gpt-5"}'`, 403},
			{"a group that is not there", `models = '{"no-group"}'`, 403},
			{"all of no team", `models = '{"all-team-models"}'`, 403},
			{"at once", `expires = '1970-01-01'`, 401},
			{"long ago", `expires = '0001-01-01'`, 401},
			{"in a thousand years", `expires = '3025-01-01', created_at = NULL`, 200},
			{"of a program", `allowed_routes = '{"management_routes"}'`, 401},
		}
		text := func(name string) string { return "sk-odd-" + strings.ReplaceAll(name, " ", "-") + "-0123456789" }
		for i, k := range keys {
			token := litellmtest.Token(text(k.name))
			m.there.Exec(t, `INSERT INTO "LiteLLM_VerificationToken" (token, models) VALUES ($1, '{}')`, token)
			if k.set != "" {
				m.there.Exec(t, `UPDATE "LiteLLM_VerificationToken" SET `+k.set+` WHERE token = $1`, token)
			}
			m.there.Exec(t, `INSERT INTO "LiteLLM_DeprecatedVerificationToken" (id, token, active_token_id, revoke_at) VALUES ($1, $2, $3, $4)`,
				fmt.Sprint(i), litellmtest.Token(fmt.Sprint("former ", i)), []string{token, "nobody", litellmtest.Token(fmt.Sprint("former ", i))}[i%3], time.Now().UTC().Add(time.Hour))
		}
		m.there.Exec(t, `INSERT INTO "LiteLLM_VerificationToken" (token, key_name, user_id, team_id, models) VALUES
			('sk-of-a-login-in-plain-text', 'sk-...text', 'u-null', 'litellm-dashboard', '{}'), ('sk-another-one-in-plain-text', NULL, NULL, NULL, '{}'), ('', NULL, NULL, NULL, '{}')`)
		day := time.Now().UTC().Format(time.DateOnly)
		for i, values := range []string{
			"NULL, '" + day + "', '', NULL, NULL, 5, 5, 0.5", "'u-control', '', 'x', 'm', 'openai', 1, 1, 0.5", "'u-control', '9999-99-99', 'x', 'm', 'openai', 1, 1, 0.5",
			"'u-control', '" + day + "', 'x', 'm', 'openai', -7, -5, -0.5", "'nobody', '" + day + "', 'y', '" + control + "', '', 9223372036854775807, 1, 1e300",
		} {
			m.there.Exec(t, fmt.Sprintf(`INSERT INTO "LiteLLM_DailyUserSpend" (id, user_id, date, api_key, model, custom_llm_provider, prompt_tokens, api_requests, spend, updated_at)
				VALUES ('%d', %s, now())`, i, values))
		}
		m.thereUnchanged(t)

		p := m.gateway(t, 1)
		root := p.Administrator(t)
		first, _ := m.take(t)
		if again, kept := m.take(t); again != (counts{}) || kept != "" {
			t.Errorf("%+v, and then %+v %s", first, again, kept)
		}
		gatewaytest.Until(t, "the takeover is noticed", func() bool { return chat(t, p, text("plain"), "gpt-4o").Status == 200 })
		for _, k := range keys {
			if a := chat(t, p, text(k.name), "gpt-4o"); a.Status != k.want {
				t.Errorf("%s: %d, want %d: %s", k.name, a.Status, k.want, a.Body)
			}
		}
		for _, plain := range []string{"sk-of-a-login-in-plain-text", "sk-another-one-in-plain-text"} {
			must(t, 401, chat(t, p, plain, "gpt-4o"))
		}
		for _, path := range []string{"/admin/keys?limit=100", "/admin/users", "/admin/teams", "/admin/usage?group_by=day,user,key,model", "/admin/budgets"} {
			must(t, 200, p.Call(t, "GET", path, "", root...))
		}
		for _, row := range query(t, m.db, "SELECT name FROM teams UNION ALL SELECT name FROM users UNION ALL SELECT name FROM api_keys") {
			if n := len([]rune(row)); n > 120 || strings.ContainsAny(row, "\x01\n\x7f\u200b\u202e") {
				t.Errorf("the name %q", row)
			}
		}
		for _, row := range query(t, m.db, "SELECT name FROM teams") {
			if row == "" {
				t.Error("a team has no name")
			}
		}
		if n := gatewaytest.Sum(t, m.db, "SELECT count(*) FROM teams"); n != int64(len(teams))+1 {
			t.Errorf("%d teams", n)
		}
		if got := m.spent(t, "user", "u-negative", models.Total); got < 0 || got > 10 {
			t.Errorf("who has spent less than nothing has spent %d", got)
		}
		gatewaytest.Command(t, m.settings, "user", "rename", "negative@example.com", "New")
		calls, _ := m.undo(t)
		if !slices.ContainsFunc(calls, func(call string) bool {
			return strings.Contains(call, `"user_alias":"New"`)
		}) {
			t.Errorf("calls: %v", calls)
		}
	})
}

func TestOtherDatabasesThanThatOfALiteLLM(t *testing.T) {
	t.Parallel()
	m := emptyMove(t, "2025-03", sqlite(t))
	if done, _ := m.take(t); done.made != 1 { // the team of keys without owners
		t.Errorf("an empty LiteLLM: %+v", done)
	}
	if done, _ := m.take(t); done != (counts{}) {
		t.Errorf("an empty LiteLLM again: %+v", done)
	}
	before := dump(t, m.db)
	for address, want := range map[string]string{
		servertest.Postgres(t): "is it that of a LiteLLM?",
		"postgres://litellm:the-secret-password@127.0.0.1:" + gatewaytest.FreePort(t) + "/litellm": "connect",
		"postgres://litellm:the-secret-password@[/x":                                               "must be postgres://",
		"mysql://litellm:the-secret-password@127.0.0.1/litellm":                                    "must be postgres://",
		"file:litellm.db": "must be postgres://",
	} {
		for _, more := range [][]string{{"--accept-losses"}, {"--dry-run"}, {"--audit", "7"}} {
			code, out, faults := m.try(t, append(more, "--from", address)...)
			if code != 1 || more[0] != "--audit" && !strings.Contains(faults, want) || strings.Contains(out+faults, "the-secret-password") {
				t.Errorf("%s %v: exit code %d: %s%s", address, more, code, out, faults)
			}
		}
	}
	sameTables(t, "other databases", before, dump(t, m.db))
}
