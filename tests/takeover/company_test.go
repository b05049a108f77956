package takeover

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// spendAll makes budgets of the company spent: of keys by an amount, or exactly, or in a window that is over, of a user and of a team.
func (m *move) spendAll(t *testing.T) {
	t.Helper()
	c := m.company
	set := func(table, column, id string, b *litellmtest.Budget, spend float64, reset time.Time) {
		b.Spend, b.ResetAt = spend, reset
		var at any
		if !reset.IsZero() {
			at = reset
		}
		m.there.Exec(t, `UPDATE "LiteLLM_`+table+`" SET spend = $1, budget_reset_at = $2 WHERE `+column+` = $3`, spend, at, id)
	}
	next := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	for i, k := range c.Keys {
		switch {
		case k.Max == 0:
		case i%12 == 0:
			set("VerificationToken", "token", k.Token, &k.Budget, k.Max+0.000002, k.ResetAt)
		case i%12 == 3:
			set("VerificationToken", "token", k.Token, &k.Budget, k.Max, next)
		case i%12 == 6 && k.Duration != "":
			set("VerificationToken", "token", k.Token, &k.Budget, k.Max*2, next.Add(-2*time.Hour))
		}
	}
	set("UserTable", "user_id", c.Users[5].ID, &c.Users[5].Budget, c.Users[5].Max+1, next)
	set("UserTable", "user_id", c.Users[17].ID, &c.Users[17].Budget, c.Users[17].Max+1, next) // who has no address
	set("TeamTable", "team_id", c.Teams[4].ID, &c.Teams[4].Budget, c.Teams[4].Max, next)
}

// over reports whether LiteLLM refuses a call for a budget.
func over(b *litellmtest.Budget, now time.Time) bool {
	if b.Max == 0 || !b.ResetAt.IsZero() && !b.ResetAt.After(now) {
		return false
	}
	return b.Spend >= b.Max
}

// allows says whether LiteLLM lets lists of models call one.
func (m *move) allows(list, groups []string, team *litellmtest.Team, model string) bool {
	if len(list) == 0 {
		return true
	}
	members := map[string][]string{"beta-models": {"gpt-5", "claude-sonnet", "db-claude"}, "group-frontier": {"gpt-5", "claude-opus"}}
	if m.there.Version != "newest" {
		members["group-frontier"] = nil // that version names models by ids, or has no such groups
	}
	for _, entry := range append(slices.Clone(list), groups...) {
		prefix, open := strings.CutSuffix(entry, "*")
		switch {
		case entry == "all-proxy-models", entry == model, open && strings.HasPrefix(model, prefix), slices.Contains(members[entry], model):
			return true
		case entry == "all-team-models" && team != nil:
			return m.allows(team.Models, team.AccessGroups, nil, model)
		}
	}
	return false
}

// want is the status that a call with a key should have by LiteLLM's rules. A key of a user in a team is refused by the user's own budget as
// well, which is one of the losses.
func (m *move) want(k *litellmtest.Key, model string, now time.Time) int {
	c := m.company
	var team *litellmtest.Team
	var user *litellmtest.User
	if i := slices.IndexFunc(c.Teams, func(team *litellmtest.Team) bool { return team.ID == k.TeamID }); i >= 0 {
		team = c.Teams[i]
	}
	if i := slices.IndexFunc(c.Users, func(u *litellmtest.User) bool { return u.ID == k.UserID }); i >= 0 {
		user = c.Users[i]
	}
	hasAccount := user != nil && user.Email != "" && !strings.HasPrefix(strings.ToLower(user.Email), "twin")
	switch {
	case k.Blocked, team != nil && team.Blocked, k.Expired(now):
		return 401
	case !m.allows(k.Models, nil, team, model),
		team != nil && !m.allows(team.Models, team.AccessGroups, nil, model),
		team == nil && user != nil && !m.allows(user.Models, nil, nil, model):
		return 403
	case over(&k.Budget, now), team != nil && over(&team.Budget, now), user != nil && (team == nil || hasAccount) && over(&user.Budget, now):
		return 402
	}
	return 200
}

// checkCalls makes calls with every key.
func (m *move) checkCalls(t *testing.T, p *gatewaytest.Program) {
	t.Helper()
	seen := map[int]int{}
	for i, k := range m.company.Keys {
		for n, model := range names() {
			if n > 1 && (i+n)%4 != 0 {
				continue // some of them are enough
			}
			want := m.want(k, model, time.Now())
			a := chat(t, p, k.Text, model)
			if seen[want]++; a.Status != want {
				t.Errorf("key %d of user %q in team %q with %s: %d, want %d: %s", i, k.UserID, k.TeamID, model, a.Status, want, a.Body)
			}
		}
		if m.there.Has("DeprecatedVerificationToken") && k.PreviousText != "" {
			want := m.want(k, "gpt-4o", time.Now())
			if k.GraceEnds.Before(time.Now()) {
				want = 401
			}
			if a := chat(t, p, k.PreviousText, "gpt-4o"); a.Status != want {
				t.Errorf("the former text of key %d: %d, want %d: %s", i, a.Status, want, a.Body)
			}
		}
	}
	for _, status := range []int{200, 401, 402, 403} {
		if seen[status] < 20 {
			t.Errorf("%d calls should be %d", seen[status], status)
		}
	}
	for _, text := range []string{m.company.DeletedKey, newText(), m.company.Keys[0].Token, "sk-" + m.company.Keys[0].Token} {
		if a := chat(t, p, text, "gpt-4o"); a.Status != 401 {
			t.Errorf("%s: %d %s", text, a.Status, a.Body)
		}
	}
}

// window is that of a duration here: the same one, or the next longer.
func window(duration string) models.Window {
	switch duration {
	case "1d", "24h", "1h":
		return models.Day
	case "7d", "2d":
		return models.Week
	case "30d", "1mo", "14d":
		return models.Month
	}
	return models.Total
}

func micros(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }

// checkBudgets compares limits, and what is spent and left, with LiteLLM's.
func (m *move) checkBudgets(t *testing.T) {
	t.Helper()
	now := time.Now()
	tables := map[string]string{"key": "api_keys", "team": "teams", "user": "users"}
	check := func(kind, foreignID string, b *litellmtest.Budget, refusesAll bool) {
		id := m.idOf(t, kind, foreignID)
		if id == "" {
			t.Errorf("%s %s was not taken", kind, foreignID)
			return
		}
		spent, limit, w := micros(b.Spend), micros(b.Max), window(b.Duration)
		if !b.ResetAt.IsZero() && !b.ResetAt.After(now) {
			spent = 0
		}
		if b.Max == 0 {
			w = ""
		}
		want := fmt.Sprintf("%d|%s|%d|%d|%d", limit, w, b.RPM, b.TPM, b.Parallel)
		columns := "SELECT budget, budget_window, rpm_limit, tpm_limit, max_parallel FROM "
		if got := query(t, m.db, columns+tables[kind]+" WHERE id = '"+id+"'"); len(got) != 1 || got[0] != want {
			t.Errorf("%s %s: %v, want %s", kind, foreignID, got, want)
		}
		if w == "" {
			w = models.Total
		}
		if got := m.spent(t, kind, foreignID, w); got != spent {
			t.Errorf("%s %s has spent %d, want %d", kind, foreignID, got, spent)
		}
	}
	for _, k := range m.company.Keys {
		b := k.Budget
		if k.BudgetID != "" {
			if b.RPM == 0 {
				b.RPM = 120
			}
			if b.Max == 0 {
				b.Max, b.Duration = 25.25, "7d"
			}
		}
		check("key", k.Token, &b, false)
	}
	for _, team := range m.company.Teams {
		check("team", team.ID, &team.Budget, false)
	}
	for i, u := range m.company.Users {
		switch {
		case i < 17 || i > 23:
			check("user", u.ID, &u.Budget, false)
		case u.Max > 0 || u.RPM > 0:
			check("team", "user:"+u.ID, &u.Budget, false)
		}
	}
}

// checkPeople compares users and members.
func (m *move) checkPeople(t *testing.T) {
	t.Helper()
	want := query(t, m.db, "SELECT 'root@example.com|true|true' FROM users WHERE email = 'root@example.com'")
	for i, u := range m.company.Users {
		if i < 17 || i > 23 {
			want = append(want, fmt.Sprintf("%s|true|%t", u.Email, u.Role == "proxy_admin"))
		}
	}
	slices.Sort(want)
	if got := query(t, m.db, "SELECT email, CASE WHEN verified_at > 0 THEN 'true' ELSE 'false' END, CASE WHEN admin_at > 0 THEN 'true' ELSE 'false' END FROM users"); !slices.Equal(got, want) {
		t.Errorf("users %v, want %v", got, want)
	}
	want = nil
	for i, team := range m.company.Teams {
		name := team.Alias
		if team.Organization != "" {
			name = team.Organization + " / " + name
		}
		if i == 11 {
			name += " " + team.ID // the second of this name
		}
		for _, member := range team.Members {
			u := m.company.Users[slices.IndexFunc(m.company.Users, func(u *litellmtest.User) bool { return u.ID == member.UserID })]
			role := map[string]string{"admin": "manager", "user": "member"}[member.Role]
			if m.idOf(t, "user", u.ID) != "" {
				want = append(want, name+"|"+u.Email+"|"+role)
			}
		}
	}
	slices.Sort(want)
	got := query(t, m.db, `SELECT teams.name, users.email, role FROM team_members JOIN teams ON teams.id = team_id JOIN users ON users.id = user_id`)
	if !slices.Equal(got, want) {
		t.Errorf("members %v, want %v", got, want)
	}
}

// checkOwners compares the users and teams of keys.
func (m *move) checkOwners(t *testing.T) {
	t.Helper()
	var got, want []string
	for _, row := range query(t, m.db, `SELECT hash, COALESCE(users.email, ''), COALESCE(teams.name, '') FROM api_keys
		LEFT JOIN users ON users.id = user_id LEFT JOIN teams ON teams.id = team_id`) {
		got = append(got, strings.TrimPrefix(row, "litellm:"))
	}
	for _, k := range m.company.Keys {
		email, team := "", strings.Join(query(t, m.db, "SELECT name FROM teams WHERE id = '"+m.idOf(t, "team", k.TeamID)+"'"), "")
		i := slices.IndexFunc(m.company.Users, func(u *litellmtest.User) bool { return u.ID == k.UserID })
		switch {
		case i >= 0 && (i < 17 || i > 23):
			email = m.company.Users[i].Email
		case k.TeamID != "":
		case i >= 0 && (m.company.Users[i].Max > 0 || m.company.Users[i].RPM > 0):
			team = "LiteLLM / " + k.UserID
		default:
			team = "LiteLLM"
		}
		want = append(want, k.Token+"|"+email+"|"+team)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("owners %v, want %v", got[:5], want[:5])
	}
}

func TestACompanyIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		version  string
		settings func(testing.TB) []string
	}{{"newest", sqlite}, {"newest", servers}, {"2026-02", servers}, {"2025-03", sqlite}} {
		settings := of.settings(t)
		t.Run(of.version+" "+settings[0][:21], func(t *testing.T) {
			t.Parallel()
			m := newMove(t, of.version, settings)
			m.spendAll(t)
			m.thereUnchanged(t)

			before := dump(t, m.db)
			for _, flags := range [][]string{{"--dry-run"}, {}} {
				code, out, faults := m.try(t, flags...)
				if code != 3 || !strings.Contains(faults, "lost") || !strings.Contains(faults, "nothing was written") {
					t.Errorf("%v: exit code %d\n%s%s", flags, code, out, faults)
				}
				sameTables(t, fmt.Sprint(flags), before, dump(t, m.db))
			}
			code, out, faults := m.try(t, "--dry-run", "--accept-losses")
			if code != 0 || countsIn(t, out).made < 550 {
				t.Errorf("a dry run: exit code %d\n%s%s", code, out, faults)
			}
			sameTables(t, "a dry run", before, dump(t, m.db))

			p := m.gateway(t, 1)
			root := p.Administrator(t)
			first := m.company.Keys[slices.IndexFunc(m.company.Keys, func(k *litellmtest.Key) bool { return m.want(k, "gpt-4o", time.Now()) == 200 })]
			must(t, 401, chat(t, p, first.Text, "gpt-4o"))
			began := time.Now()
			done, _ := m.take(t)
			if took := time.Since(began); took > 20*time.Second { // ten, on a machine that does nothing else
				t.Errorf("a takeover took %v", took)
			}
			if would := countsIn(t, out); would != done {
				t.Errorf("taken %+v, and a dry run said %+v", done, would)
			}
			m.checkBudgets(t)
			m.checkPeople(t)
			m.checkOwners(t)
			gatewaytest.Eventually(t, 5*time.Second, "the gateway notices the takeover", func() bool { return chat(t, p, first.Text, "gpt-4o").Status == 200 })
			m.checkCalls(t, p)

			m.checkHistory(t, p, root)
			spend := dump(t, m.db)["spend"]
			if again, kept := m.take(t); again != (counts{}) || kept != "" {
				t.Errorf("a second run: %+v %s", again, kept)
			}
			if after := dump(t, m.db)["spend"]; after != spend {
				t.Error("a second run changes what is spent")
			}
			m.mergeUsage(t)
			m.checkHistory(t, p, root)
		})
	}
}
