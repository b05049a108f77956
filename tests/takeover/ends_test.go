package takeover

import (
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// small is a LiteLLM with a user in a team, a key of each kind, and the former secret of one of them.
func small(t *testing.T) *move {
	t.Helper()
	m := emptyMove(t, "newest", []string{"DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db"})
	m.there.Exec(t, `INSERT INTO "LiteLLM_UserTable" (user_id, user_email) VALUES ('u', 'ada@example.com')`)
	m.there.Exec(t, `INSERT INTO "LiteLLM_TeamTable" (team_id, team_alias, members_with_roles) VALUES ('t', 'Core', '[{"user_id":"u","role":"user"}]')`)
	for text, set := range map[string]string{
		"sk-the-key-of-a-user":     `user_id = 'u', max_budget = 10, spend = 9, budget_duration = '30d', budget_reset_at = now() + interval '20 days'`,
		"sk-the-key-in-a-team":     `user_id = 'u', team_id = 't'`,
		"sk-the-key-without-owner": `models = '{all-team-models}', team_id = 'gone'`,
	} {
		m.there.Exec(t, `INSERT INTO "LiteLLM_VerificationToken" (token, key_name, models) VALUES ($1, 'sk-...', '{}')`, litellmtest.Token(text))
		m.there.Exec(t, `UPDATE "LiteLLM_VerificationToken" SET `+set+` WHERE token = $1`, litellmtest.Token(text))
	}
	m.there.Exec(t, `INSERT INTO "LiteLLM_DeprecatedVerificationToken" (id, token, active_token_id, revoke_at) VALUES ('d', $1, $2, now() + interval '2 days')`,
		litellmtest.Token("sk-the-former-secret"), litellmtest.Token("sk-the-key-of-a-user"))
	return m
}

func TestWhatEndsThereEndsHere(t *testing.T) {
	t.Parallel()
	m := small(t)
	m.take(t)
	p := m.gateway(t, 1)
	becomes := func(text string, want int) {
		t.Helper()
		gatewaytest.Until(t, text, func() bool { return chat(t, p, text, "gpt-4o").Status == want })
	}
	for _, text := range []string{"sk-the-key-of-a-user", "sk-the-former-secret", "sk-the-key-in-a-team"} {
		becomes(text, 200)
	}
	becomes("sk-the-key-without-owner", 403) // all models of no team are none

	m.there.Exec(t, `DELETE FROM "LiteLLM_DeprecatedVerificationToken"`)
	m.there.Exec(t, `UPDATE "LiteLLM_VerificationToken" SET blocked = true WHERE team_id = 't'`)
	m.take(t, "--force")
	becomes("sk-the-former-secret", 401)
	becomes("sk-the-key-in-a-team", 401)
	becomes("sk-the-key-of-a-user", 200)

	gatewaytest.Execute(t, m.db, "DELETE FROM team_members")
	m.there.Exec(t, `UPDATE "LiteLLM_VerificationToken" SET blocked = false`)
	m.take(t)
	time.Sleep(time.Second + time.Second/2)
	becomes("sk-the-key-in-a-team", 401) // whose user is no member here any more
}

func TestAWindowThatBeginsIsNoChangeForLiteLLM(t *testing.T) {
	t.Parallel()
	m := small(t)
	m.take(t)
	month := time.Now().UTC().Format("2006-01-") + "01"
	gatewaytest.Execute(t, m.db, "UPDATE spend SET day = replace(day, ?, '2026-01-01')", month)
	gatewaytest.Execute(t, m.db, "UPDATE takeovers SET taken = replace(taken, ?, '2026-01-01')", month)
	if calls, byHand := m.undo(t); len(calls) > 0 || !strings.Contains(byHand, "needs no change") {
		t.Errorf("%q %s", calls, byHand)
	}
}

func TestATableThatMayNotBeReadEndsTheRun(t *testing.T) {
	t.Parallel()
	m := small(t)
	m.there.Exec(t, `REVOKE SELECT ON "LiteLLM_TeamTable" FROM CURRENT_USER`)
	code, out, faults := gatewaytest.TryCommand(t, m.settings, "", "takeover", "litellm", "--accept-losses", "--out", m.dir)
	if code != 1 || !strings.Contains(faults, "permission denied") {
		t.Errorf("exit code %d: %s%s", code, out, faults)
	}
	if n := gatewaytest.Sum(t, m.db, "SELECT COUNT(*) FROM takeovers"); n != 0 {
		t.Errorf("%d things are taken over", n)
	}
}
