package litellmtest

import (
	"fmt"
	"testing"
	"time"
)

// Company is who and what Fill put into a database.
type Company struct {
	Keys  []*Key
	Users []*User
	Teams []*Team
	Calls []*Call // in LiteLLM_SpendLogs
	// DeletedKey is the text of a key that was deleted: no row has it but that of deleted keys, where the version has that table.
	DeletedKey string
}

// Budget is what may be spent, and what is spent of it. Zero is none, and no limit.
type Budget struct {
	Max, Spend         float64 // dollars
	Duration           string  // 30d, 1mo, …
	ResetAt            time.Time
	RPM, TPM, Parallel int64
}

// Key is a row of LiteLLM_VerificationToken.
type Key struct {
	Text, Token, Name, Alias string // Token is the SHA-256 of Text in hex, Name is sk-… with the last four characters
	UserID, TeamID           string
	Budget
	Models   []string
	Expires  time.Time // zero: never
	Blocked  bool
	BudgetID string // of a row of LiteLLM_BudgetTable

	// PreviousText is the key before its rotation, which works until GraceEnds. Only
	// versions with LiteLLM_DeprecatedVerificationToken have them.
	PreviousText string
	GraceEnds    time.Time
}

// Expired reports whether the key's time was over at a time.
func (k *Key) Expired(at time.Time) bool { return !k.Expires.IsZero() && !k.Expires.After(at) }

// User is a row of LiteLLM_UserTable.
type User struct {
	ID, Email, Role, TeamID, OrganizationID string
	Budget
	Models []string
}

// Team is a row of LiteLLM_TeamTable.
type Team struct {
	ID, Alias, OrganizationID, Organization string
	Budget
	Models  []string
	Blocked bool
	Members []Member
	// AccessGroups are ids of LiteLLM_AccessGroupTable, where the version has it.
	AccessGroups []string
}

// Member is a user in a team. MaxBudget is what they may spend in it, zero for no limit.
type Member struct {
	UserID, Role, BudgetID string // admin or user
	MaxBudget              float64
}

// Fill puts a company into the database: always the same but for times, which are relative to now.
// There are 500 keys, 60 users and 12 teams in two organizations, and their calls of the last 40 days.
func (d *Database) Fill(t testing.TB) *Company {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	c := &Company{Teams: teams(now), Users: users(now)}
	for i, u := range c.Users {
		team := c.Teams[i%len(c.Teams)]
		u.TeamID, u.OrganizationID = team.ID, team.OrganizationID
		m := Member{UserID: u.ID, Role: "user"}
		if i < len(c.Teams) {
			m.Role = "admin"
		}
		if i%5 == 0 {
			m.BudgetID, m.MaxBudget = "budget-of-"+u.ID, 5.5
		}
		team.Members = append(team.Members, m)
	}
	c.Keys = keys(c, now)
	d.insertTeams(t, c)
	d.insertUsers(t, c)
	d.insertKeys(t, c, now)
	d.insertDays(t, c, now)
	d.insertCalls(t, c, now)
	d.insertModels(t)
	d.insertTools(t, c, now)
	return c
}

// budget is the budget of the n-th that has one: half spent, most with a window.
func budget(n int, now time.Time) Budget {
	windows := []struct {
		duration string
		length   time.Duration
	}{{"1d", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}, {"30d", 30 * 24 * time.Hour}, {"1mo", 31 * 24 * time.Hour},
		{"24h", 24 * time.Hour}, {}, {"2d", 48 * time.Hour}, {"14d", 14 * 24 * time.Hour}, {"1h", time.Hour}}
	w := windows[n%len(windows)]
	most := float64(n%50) + 12.345678
	b := Budget{Max: most, Spend: most/2 + 0.1 + 0.2, Duration: w.duration}
	switch {
	case w.duration == "":
	case n%11 == 10: // LiteLLM resets what is spent some time later
		b.ResetAt = now.Add(-20 * time.Minute)
	default:
		b.ResetAt = now.Add(w.length / 2)
	}
	return b
}

func teams(now time.Time) []*Team {
	aliases := []string{"Platform", "Search", "Mobile", "Data", "Support", "Finance", "Legal", "Former", "Sales", "Design", "Research", "Research"}
	models := [][]string{{}, {"gpt-4o", "claude-sonnet"}, {"beta-models"}, {"anthropic/*"}, {"all-proxy-models"}, {"no-default-models"}}
	var all []*Team
	for i, alias := range aliases {
		team := &Team{ID: fmt.Sprintf("team-%02d", i), Alias: alias, Models: []string{}, Blocked: alias == "Former"}
		team.Spend = float64(i) * 3.21
		if i%2 == 0 {
			team.Budget = budget(i, now)
			team.RPM, team.TPM = int64(100*(i+1)), 200_000
		}
		if i < len(models) {
			team.Models = models[i]
		}
		if i == 2 {
			team.AccessGroups = []string{"group-frontier"}
		}
		switch {
		case i < 6:
			team.OrganizationID, team.Organization = "org-north", "North"
		case i < 10:
			team.OrganizationID, team.Organization = "org-south", "South"
		}
		all = append(all, team)
	}
	return all
}

func users(now time.Time) []*User {
	emails := map[int]string{17: "", 18: "", 19: "",
		20: "Twin.One@example.com", 21: "twin.one@example.com", 22: "twin.two@example.com", 23: "Twin.Two@Example.com"}
	var all []*User
	for i := range 60 {
		u := &User{ID: fmt.Sprintf("user-%02d", i), Email: fmt.Sprintf("person%02d@example.com", i), Role: "internal_user", Models: []string{}}
		if email, other := emails[i]; other {
			u.Email = email
		}
		switch {
		case i < 2:
			u.Role = "proxy_admin"
		case i%9 == 8:
			u.Role = "internal_user_viewer"
		}
		u.Spend = float64(i) * 0.77
		if i%6 == 5 {
			u.Budget = budget(i, now)
		}
		if i%10 == 3 {
			u.RPM, u.Parallel = 30, 3
		}
		if i == 40 {
			u.Models = []string{"gpt-4o"}
		}
		if i == 41 {
			u.Models = []string{"no-default-models"}
		}
		all = append(all, u)
	}
	return all
}

func (d *Database) insertTeams(t testing.TB, c *Company) {
	t.Helper()
	for i, id := range []string{"org-north", "org-south"} {
		d.insert(t, "BudgetTable", row{"budget_id": "budget-" + id, "max_budget": 1000.5, "budget_duration": "30d", "created_by": "admin", "updated_by": "admin"})
		d.insert(t, "OrganizationTable", row{"organization_id": id, "organization_alias": []string{"North", "South"}[i], "budget_id": "budget-" + id,
			"models": []string{}, "spend": 123.456, "created_by": "admin", "updated_by": "admin"})
	}
	d.insert(t, "ModelTable", row{"id": 1, "aliases": row{"gpt-4": "gpt-4o"}, "created_by": "admin", "updated_by": "admin"})
	var rows, members, budgets []row
	for i, team := range c.Teams {
		roles := []row{}
		for _, m := range team.Members {
			roles = append(roles, row{"role": m.Role, "user_id": m.UserID, "user_email": nil})
			members = append(members, row{"user_id": m.UserID, "team_id": team.ID, "spend": 0.75, "total_spend": 3.5, "budget_id": null(m.BudgetID)})
			if m.BudgetID != "" {
				budgets = append(budgets, row{"budget_id": m.BudgetID, "max_budget": m.MaxBudget, "created_by": "admin", "updated_by": "admin"})
			}
		}
		r := row{"team_id": team.ID, "team_alias": team.Alias, "organization_id": null(team.OrganizationID), "admins": []string{}, "members": []string{},
			"members_with_roles": roles, "models": team.Models, "blocked": team.Blocked, "model_id": nil,
			"access_group_ids": append([]string{}, team.AccessGroups...), "object_permission_id": nil}
		if i == 3 {
			r["model_id"], r["object_permission_id"] = 1, "permission-1"
		}
		rows = append(rows, team.columns(r))
	}
	d.insert(t, "TeamTable", rows...)
	d.insert(t, "BudgetTable", budgets...)
	d.insert(t, "TeamMembership", members...)
	groups := "access_model_names"
	if d.Version == "2026-02" {
		groups = "access_model_ids"
	}
	d.insert(t, "AccessGroupTable", row{"access_group_id": "group-frontier", "access_group_name": "frontier", groups: []string{"gpt-5", "claude-opus"},
		"assigned_team_ids": []string{c.Teams[2].ID}})
}

func (d *Database) insertUsers(t testing.TB, c *Company) {
	t.Helper()
	var rows, members []row
	for _, u := range c.Users {
		rows = append(rows, u.columns(row{"user_id": u.ID, "user_email": null(u.Email), "user_role": u.Role, "teams": []string{u.TeamID},
			"organization_id": null(u.OrganizationID), "models": u.Models}))
		if u.OrganizationID != "" {
			members = append(members, row{"user_id": u.ID, "organization_id": u.OrganizationID, "user_role": "internal_user", "spend": 1.5})
		}
	}
	d.insert(t, "UserTable", rows...)
	d.insert(t, "OrganizationMembership", members...)
	d.insert(t, "EndUserTable", row{"user_id": "customer-1", "spend": 4.2, "blocked": false}, row{"user_id": "customer-2", "spend": 0.0, "blocked": true})
}

// columns adds those of a budget to a row.
func (b *Budget) columns(r row) row {
	r["max_budget"], r["spend"] = null(b.Max), b.Spend
	r["budget_duration"], r["budget_reset_at"] = null(b.Duration), null(b.ResetAt)
	r["rpm_limit"], r["tpm_limit"], r["max_parallel_requests"] = null(b.RPM), null(b.TPM), null(b.Parallel)
	return r
}

// null is NULL for a zero value.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
