package takeover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// usable are keys with which a call of gpt-4o is answered, without budgets and limits of their own; those of users without accounts are not
// among them.
func (m *move) usable(fits func(*litellmtest.Key) bool) (all []*litellmtest.Key) {
	for _, k := range m.company.Keys {
		if m.want(k, "gpt-4o", time.Now()) == 200 && k.Max == 0 && k.PreviousText == "" && k.BudgetID == "" && k.Alias != "" && fits(k) {
			all = append(all, k)
		}
	}
	return all
}

func hasAccount(k *litellmtest.Key) bool {
	return k.UserID != "" && (k.UserID < "user-17" || k.UserID > "user-23")
}

// update changes a key there.
func (m *move) update(t *testing.T, k *litellmtest.Key, set string, values ...any) {
	t.Helper()
	m.there.Exec(t, fmt.Sprintf(`UPDATE "LiteLLM_VerificationToken" SET %s WHERE token = $%d`, set, len(values)+1), append(values, k.Token)...)
}

// column is one of a key here.
func (m *move) column(t *testing.T, k *litellmtest.Key, name string) string {
	t.Helper()
	return strings.Join(query(t, m.db, "SELECT "+name+" FROM api_keys WHERE id = '"+m.idOf(t, "key", k.Token)+"'"), " ")
}

func TestARunTakesWhatHasChangedSince(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		m := newMove(t, "newest", settings)
		m.take(t)
		p := m.gateway(t, 1)
		opens := func(text string) bool { return chat(t, p, text, "gpt-4o").Status == 200 }
		becomes := func(text string, want bool) {
			t.Helper()
			gatewaytest.Until(t, fmt.Sprintf("%s opens: %t", text, want), func() bool { return opens(text) == want })
		}
		personal := m.usable(func(k *litellmtest.Key) bool { return hasAccount(k) && k.TeamID == "" })
		budget, blocked, deleted, rotated, spends := personal[0], personal[1], personal[2], personal[3], personal[4]
		bothChanged, otherChanged, revoked, revokedAndBlocked, rotatedTwice := personal[5], personal[6], personal[7], personal[8], personal[9]
		noGrace := personal[10]
		unblocked := m.company.Keys[slices.IndexFunc(m.company.Keys, func(k *litellmtest.Key) bool {
			open := *k
			open.Blocked = false
			return k.Blocked && m.want(&open, "gpt-4o", time.Now()) == 200
		})]
		for _, k := range personal[:11] {
			becomes(k.Text, true)
		}
		becomes(unblocked.Text, false)

		// There.
		added, newText, gone := *personal[0], "sk-a-new-key-of-today", personal[11]
		added.Text, added.Token = newText, litellmtest.Token(newText)
		m.there.Exec(t, `INSERT INTO "LiteLLM_VerificationToken" (token, key_name, key_alias, user_id, models, spend) VALUES ($1, 'sk-...oday', 'new', $2, '{}', 0.5)`,
			added.Token, added.UserID)
		m.update(t, budget, "max_budget = 99.123456, budget_duration = '7d', spend = 3.000001")
		m.update(t, blocked, "blocked = true")
		m.update(t, unblocked, "blocked = false")
		m.there.Exec(t, `DELETE FROM "LiteLLM_VerificationToken" WHERE token = $1`, deleted.Token)
		rotate := func(k *litellmtest.Key, text string, grace time.Duration) {
			m.update(t, k, "token = $1, key_name = $2", litellmtest.Token(text), "sk-..."+text[len(text)-4:])
			if grace > 0 {
				m.there.Exec(t, `INSERT INTO "LiteLLM_DeprecatedVerificationToken" (id, token, active_token_id, revoke_at) VALUES ($1, $2, $3, $4)`,
					text, k.Token, litellmtest.Token(text), time.Now().UTC().Add(grace))
			}
		}
		formerID := m.idOf(t, "key", rotated.Token)
		rotate(rotated, "sk-rotated-with-grace", 20*time.Second)
		rotate(noGrace, "sk-rotated-without-grace", 0)
		rotatedBoth := personal[12]
		gatewaytest.Command(t, m.settings, "key", "rotate", m.idOf(t, "key", rotatedBoth.Token), "--overlap", "1h")
		rotate(rotatedBoth, "sk-rotated-on-both-sides", time.Hour)
		m.there.Spend(t, spends.Token, 0.123456)
		m.update(t, bothChanged, "max_budget = 7")
		m.update(t, otherChanged, "max_budget = 8")
		m.update(t, revokedAndBlocked, "blocked = true")
		m.update(t, revoked, "spend = 9")
		m.there.Exec(t, `UPDATE "LiteLLM_TeamTable" SET max_budget = 77.5, spend = 1.25 WHERE team_id = 'team-10'`) // it is the last of its table now
		m.there.Exec(t, `UPDATE "LiteLLM_TeamTable" SET members_with_roles = '[{"role": "user", "user_id": "user-00"}, {"role": "admin", "user_id": "user-12"}]' WHERE team_id = 'team-00'`)

		// Here.
		id := func(k *litellmtest.Key) string { return m.idOf(t, "key", k.Token) }
		gatewaytest.Command(t, m.settings, "key", "limits", id(bothChanged), "--budget-usd", "5", "--budget-window", "month")
		gatewaytest.Command(t, m.settings, "key", "limits", id(otherChanged), "--rpm-limit", "44")
		for _, k := range []*litellmtest.Key{revoked, revokedAndBlocked} {
			gatewaytest.Command(t, m.settings, "key", "revoke", id(k))
		}
		gatewaytest.Command(t, m.settings, "user", "delete", "person16@example.com")
		m.there.Exec(t, `INSERT INTO "LiteLLM_VerificationToken" (token, key_name, user_id, models) VALUES ($1, 'sk-...gone', 'user-16', '{}')`, litellmtest.Token("sk-of-a-user-who-is-gone"))

		done, kept := m.take(t)
		if done.made != 2 || done.revoked != 3 || done.changed < 8 {
			t.Errorf("%+v", done)
		}
		if strings.Count(kept, "\n") != 3 || !strings.Contains(kept, "sk-...gone") ||
			!strings.Contains(kept, "the key "+rotatedBoth.Alias+" was rotated here and in LiteLLM") || !strings.Contains(kept, "the budget of the key "+bothChanged.Alias) {
			t.Errorf("kept: %s", kept)
		}
		becomes(newText, true)
		if got := m.spent(t, "key", added.Token, models.Total); got < 500_000 || got > 500_100 {
			t.Errorf("the new key has spent %d", got)
		}
		becomes(budget.Text, true)
		if got := m.column(t, budget, "budget") + m.column(t, budget, "budget_window"); got != "99123456week" {
			t.Errorf("the budget is %s", got)
		}
		becomes(blocked.Text, false)
		becomes(unblocked.Text, true)
		becomes(deleted.Text, false)
		becomes("sk-rotated-without-grace", true)
		becomes(noGrace.Text, false)
		becomes("sk-rotated-with-grace", true)
		rotatedNow := *rotated
		rotatedNow.Token = litellmtest.Token("sk-rotated-with-grace")
		if id(&rotatedNow) != formerID || id(rotated) != "" {
			t.Errorf("the rotated key is another one")
		}
		becomes(rotated.Text, true)
		if got := m.spent(t, "key", spends.Token, models.Total) - micros(spends.Spend+0.123456); got < 0 || got > 100 { // and the calls here
			t.Errorf("%d more is spent", got)
		}
		if got := m.column(t, bothChanged, "budget"); got != "5000000" {
			t.Errorf("the budget that was changed here is %s", got)
		}
		if got := m.column(t, otherChanged, "budget") + " " + m.column(t, otherChanged, "rpm_limit"); got != "8000000 44" {
			t.Errorf("budget and requests are %s", got)
		}
		if got := query(t, m.db, `SELECT name, budget FROM teams WHERE name LIKE 'Research%'`); !slices.Equal(got, []string{"Research team-11|0", "Research|77500000"}) {
			t.Errorf("teams: %v", got)
		}
		if got := query(t, m.db, `SELECT email, role FROM team_members JOIN users ON users.id = user_id JOIN teams ON teams.id = team_id WHERE teams.name = 'North / Platform'`); !slices.Equal(got, []string{
			"person00@example.com|member", "person12@example.com|manager"}) {
			t.Errorf("members: %v", got)
		}
		becomes("sk-rotated-on-both-sides", false)
		becomes(revoked.Text, false)
		becomes(rotated.Text, false) // its time is over

		// A key that was revoked in the gateway stays revoked when LiteLLM blocks and unblocks it.
		m.there.Exec(t, `DELETE FROM "LiteLLM_VerificationToken" WHERE key_name = 'sk-...gone'`)
		m.update(t, revokedAndBlocked, "blocked = false")
		m.update(t, blocked, "blocked = false")
		m.update(t, bothChanged, "max_budget = 7") // no change
		if done, kept := m.take(t); done.revoked != 0 || done.made != 0 || kept != "" {
			t.Errorf("%+v %s", done, kept)
		}
		becomes(blocked.Text, true)
		for _, k := range []*litellmtest.Key{revoked, revokedAndBlocked, deleted} {
			becomes(k.Text, false)
		}

		// Rotated twice between two runs; another window; a member who has left.
		rotate(rotatedTwice, "sk-rotated-the-first-time", time.Hour)
		second := *rotatedTwice
		second.Token = litellmtest.Token("sk-rotated-the-first-time")
		rotate(&second, "sk-rotated-the-second-time", time.Hour)
		m.update(t, budget, "budget_duration = NULL, spend = 3.5")
		m.there.Exec(t, `UPDATE "LiteLLM_TeamTable" SET members_with_roles = '[{"role": "admin", "user_id": "user-12"}]' WHERE team_id = 'team-00'`)
		m.there.Exec(t, `UPDATE "LiteLLM_VerificationToken" SET rpm_limit = 1, max_parallel_requests = 1 WHERE token = $1`, gone.Token)
		m.take(t)
		gatewaytest.Until(t, "of two requests a minute one is refused", func() bool { return chat(t, p, gone.Text, "gpt-4o").Status == 429 })
		becomes("sk-rotated-the-second-time", true)
		becomes("sk-rotated-the-first-time", true)
		if got := m.spent(t, "key", budget.Token, models.Total); got < 3_500_000 || got > 3_500_100 {
			t.Errorf("%d is spent of a budget that has another window", got)
		}
		if got := query(t, m.db, `SELECT email FROM team_members JOIN users ON users.id = user_id JOIN teams ON teams.id = team_id WHERE teams.name = 'North / Platform'`); !slices.Equal(got, []string{
			"person12@example.com"}) {
			t.Errorf("members: %v", got)
		}

		// Too many.
		m.there.Exec(t, `UPDATE "LiteLLM_VerificationToken" SET blocked = true WHERE token IN (SELECT token FROM "LiteLLM_VerificationToken" ORDER BY token LIMIT 90)`)
		keys := dump(t, m.db)["takeovers"]
		code, out, faults := m.try(t, "--accept-losses")
		if code != 1 || !strings.Contains(faults, "--force") {
			t.Errorf("exit code %d\n%s%s", code, out, faults[max(0, len(faults)-300):])
		}
		if dump(t, m.db)["takeovers"] != keys {
			t.Error("the run that stopped has written something")
		}
		if done, _ := m.take(t, "--force"); done.revoked < 60 {
			t.Errorf("%+v", done)
		}
		if done, kept := m.take(t); done != (counts{}) || kept != "" {
			t.Errorf("at the end: %+v %s", done, kept)
		}
	})
}
