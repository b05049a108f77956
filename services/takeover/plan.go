// Package takeover makes what a LiteLLM has ours: its keys, people, teams, budgets, what they have spent
// and its usage; and writes what has changed here since for going back.
package takeover

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/litellm"
)

// Taken is what a user, a team or a key of a LiteLLM is here. Users and teams that it names are named by
// their ids there.
type Taken struct {
	Kind      models.TakenKind `json:"-"`
	ForeignID string           `json:"-"` // of a key its token

	Name      string                 `json:"name,omitzero"`
	NameHere  string                 `json:"name_here,omitzero"` // of a team, where another one has its name
	Email     string                 `json:"email,omitzero"`
	Admin     bool                   `json:"admin,omitzero"`
	Members   map[string]models.Role `json:"members,omitzero"` // of a team
	UserID    string                 `json:"user,omitzero"`    // of a key
	TeamID    string                 `json:"team,omitzero"`
	Shown     string                 `json:"shown,omitzero"`
	Blocked   bool                   `json:"blocked,omitzero"`
	CreatedAt int64                  `json:"created_at,omitzero"`
	Limits    models.Limits          `json:"limits,omitzero"`
	Spent     int64                  `json:"spent,omitzero"`      // micro-dollars in the window of the budget
	SpentDay  string                 `json:"spent_day,omitzero"`  // the first of that window
	Linked    bool                   `json:"linked,omitzero"`     // it was here before the takeover
	RevokedAt int64                  `json:"revoked_at,omitzero"` // when a takeover revoked a key here

	Former      string `json:"former,omitzero"` // the token before a rotation, valid until FormerUntil
	FormerUntil int64  `json:"former_until,omitzero"`
}

// Plan is what a LiteLLM becomes here.
type Plan struct {
	Taken  []Taken // users, then teams, then keys
	Losses []litellm.Loss

	source *litellm.Snapshot
	groups map[string][]string
	now    time.Time
	users  map[string]litellm.User // that become users
	notes  litellm.Losses
}

const (
	ownTeam       = "keys:" // the foreign id of the team of keys that have neither user nor team
	standInPrefix = "user:" // begins the foreign id of a team that stands for a user
	dashboard     = "litellm-dashboard"
	noModel       = "no-default-models" // LiteLLM's name for no model at all, which no model has
	longestName   = 100
	longestShown  = 32
)

// Make makes the plan of a snapshot. groups are the names of models by access group.
func Make(s *litellm.Snapshot, groups map[string][]string, now time.Time) *Plan {
	// Of teams with the same name it is always the same one that keeps it.
	slices.SortFunc(s.Teams, func(a, b litellm.Team) int { return cmp.Compare(a.ID, b.ID) })
	p := &Plan{source: s, groups: groups, now: now, users: map[string]litellm.User{}}
	p.takeUsers()
	p.takeTeams()
	p.takeKeys()
	p.Losses = append(slices.Clone(s.Losses), p.notes.List()...)
	return p
}

func (p *Plan) takeUsers() {
	address := func(u litellm.User) string {
		email, _ := account.NormalEmail(u.Email) // empty where it is not accepted
		return email
	}
	users := map[string]int{}
	for _, u := range p.source.Users {
		users[address(u)]++
	}
	for _, u := range p.source.Users {
		email, why := address(u), ""
		switch {
		case u.Email == "":
			why = "a user without an address"
		case email == "":
			why = "the address is not accepted"
		case users[email] > 1:
			why = "several users have this address"
		}
		if why != "" {
			p.standIn(u, why)
			continue
		}
		p.users[u.ID] = u
		if !slices.Contains([]string{"", "proxy_admin", "internal_user", "internal_user_viewer"}, u.Role) {
			p.notes.Lose("user "+u.Email, "", "the role "+u.Role+" is that of a user here",
				"make them a manager of their teams, or an administrator")
		}
		t := Taken{
			Kind: models.TakenUser, ForeignID: u.ID, Name: visible(u.Alias), Email: email, Admin: u.Role == "proxy_admin",
			CreatedAt: u.CreatedAt.Micro(),
		}
		p.limit(&t, "user "+u.Email, u.Limits, u.Spend)
		p.Taken = append(p.Taken, t)
	}
}

// standIn is the team that stands for a user who gets no account, so that the limits of the user's keys stay.
func (t Taken) standIn() Taken {
	t.Kind, t.ForeignID, t.Name = models.TakenTeam, standInPrefix+t.ForeignID, visible("LiteLLM / "+t.ForeignID)
	t.Email, t.Admin = "", false
	return t
}

func (p *Plan) standIn(u litellm.User, why string) {
	t := Taken{ForeignID: u.ID, CreatedAt: u.CreatedAt.Micro()}
	p.limit(&t, "user "+u.ID, u.Limits, u.Spend)
	if t.Limits != (models.Limits{}) {
		p.Taken = append(p.Taken, t.standIn())
	}
	p.notes.Lose("user "+u.ID, "", why+": there is no account; the keys work, as a team's",
		"give the user an address of their own in LiteLLM before the takeover, or the keys an owner afterwards")
}

func (p *Plan) takeTeams() {
	organizations := map[string]litellm.Organization{}
	for _, o := range p.source.Organizations {
		organizations[o.ID] = o
		p.notes.Note("organization "+o.Alias, "", "organizations are the beginning of the names of their teams here", "")
		if b := p.source.Budgets[o.BudgetID]; b.MaxBudget != nil || b.RPM != nil || b.TPM != nil {
			p.notes.Lose("organization "+o.Alias, "", "a budget or limit of several teams together", "share it out to the teams")
		}
	}
	names := map[string]bool{}
	add := func(t Taken) {
		if names[strings.ToLower(t.Name)] {
			t.Name = visible(t.Name + " " + t.ForeignID)
		}
		names[strings.ToLower(t.Name)] = true
		p.Taken = append(p.Taken, t)
	}
	add(Taken{Kind: models.TakenTeam, ForeignID: ownTeam, Name: "LiteLLM"})
	for _, team := range p.source.Teams {
		name, o := cmp.Or(visible(team.Alias), team.ID), organizations[team.OrganizationID]
		if o.Alias != "" {
			name = o.Alias + " / " + name
		}
		of := "team " + name
		t := Taken{
			Kind: models.TakenTeam, ForeignID: team.ID, Name: visible(name), Members: p.members(team), CreatedAt: team.CreatedAt.Micro(),
		}
		t.Limits.Models = both(p.models(of, team.Models, team.AccessGroups, false), p.models("organization "+o.Alias, o.Models, nil, false))
		p.limit(&t, of, team.Limits, team.Spend)
		add(t)
		p.loseOf(of, team.Blocked, team.ModelBudgets, team.BudgetLimits, team.Metadata)
		if team.AliasesID != 0 {
			p.notes.Lose(of, "", "names of models for one team", "give the names to all, in MODEL_ALIASES")
		}
	}
	for _, m := range p.source.Members {
		if b, ok := p.source.Budgets[m.BudgetID]; ok && b.MaxBudget != nil {
			p.notes.Lose("member "+m.UserID+" of team "+m.TeamID, "", "a budget of a member inside a team",
				"give the member's keys budgets of their own")
		}
	}
}

// members are the members of a team who are users here, with their roles.
func (p *Plan) members(team litellm.Team) map[string]models.Role {
	roles := map[string]models.Role{"admin": models.RoleManager}
	all := map[string]models.Role{}
	add := func(id, role string) {
		if _, ok := p.users[id]; ok && all[id] != models.RoleManager {
			all[id] = cmp.Or(roles[role], models.RoleMember)
		}
	}
	var listed []struct {
		UserID string `json:"user_id"`
		Role   string `json:"role"`
	}
	_ = json.Unmarshal(team.WithRoles, &listed) // {} where there are none
	for _, m := range listed {
		add(m.UserID, m.Role)
	}
	for _, id := range team.Members {
		add(id, "user")
	}
	for _, id := range team.Admins {
		add(id, "admin")
	}
	return all
}

func (p *Plan) takeKeys() {
	blocked, former := map[string]bool{}, map[string]litellm.Deprecated{}
	for _, t := range p.source.Teams {
		blocked[t.ID] = t.Blocked
	}
	for _, d := range p.source.Deprecated {
		if d.RevokeAt.After(p.now) && d.RevokeAt.After(former[d.Active].RevokeAt.Time) {
			former[d.Active] = d
		}
	}
	teamKeys := map[string]bool{} // users who have keys in teams
	for _, k := range p.source.Keys {
		name := cmp.Or(k.Alias, k.Shown, k.Token[:min(len(k.Token), 8)])
		of := "key " + name
		if k.TeamID == dashboard || !p.calls(of, k) {
			continue
		}
		budget, there := p.source.Budgets[k.BudgetID]
		if k.BudgetID != "" && !there {
			p.notes.Lose(of, "", "the budget that it names is gone, so that it has none", "give it one")
		}
		t := Taken{
			Kind: models.TakenKey, ForeignID: k.Token, Name: visible(name), UserID: k.UserID, TeamID: k.TeamID,
			Shown: strings.ToValidUTF8(k.Shown[:min(len(k.Shown), longestShown)], ""), CreatedAt: k.CreatedAt.Micro(),
			Blocked: k.Blocked || blocked[k.TeamID], Former: former[k.Token].Token, FormerUntil: former[k.Token].RevokeAt.Micro(),
		}
		_, inTeam := blocked[k.TeamID]
		if k.TeamID != "" && !inTeam {
			p.notes.Lose(of, "", "its team is gone: it is the user's own, or of the team LiteLLM", "revoke it if it is of no use")
		}
		t.Limits.Models = p.models(of, k.Models, k.AccessGroups, inTeam)
		owner, known := p.users[k.UserID]
		switch {
		case known && !inTeam: // a user's list binds the user's own keys, as there
			t.Limits.Models = both(t.Limits.Models, p.models("user "+owner.Email, owner.Models, nil, false))
		case known && owner.MaxBudget != nil:
			teamKeys[owner.Email] = true
		}
		t.Limits.ExpiresAt = k.Expires.Micro()
		p.limit(&t, of, or(k.Limits, budget.Limits), k.Spend)
		p.Taken = append(p.Taken, t)
		p.loseOf(of, false, k.ModelBudgets, k.BudgetLimits, k.Metadata)
		if !empty(k.Aliases) {
			p.notes.Lose(of, "", "names of models for one key", "give the names to all, in MODEL_ALIASES")
		}
		if k.RPM == nil && budget.RPM == nil {
			p.notes.Note("keys without rpm_limit", "", "RATE_LIMIT_RPM holds for them here, which is 600 where nothing sets it",
				"the settings that are written set it to 0")
		}
	}
	for _, email := range slices.Sorted(maps.Keys(teamKeys)) {
		p.notes.Lose("user "+email, "", "the personal budget also binds the user's keys of teams here",
			"raise the user's budget, or give the keys to the team alone")
	}
}

// calls says whether a key may call models.
func (p *Plan) calls(of string, k litellm.Key) bool {
	open := slices.ContainsFunc(k.Routes, func(route string) bool {
		return slices.Contains([]string{"llm_api_routes", "openai_routes", "anthropic_routes"}, route)
	})
	if len(k.Routes) == 0 || open {
		return true
	}
	paths := slices.ContainsFunc(k.Routes, func(route string) bool { return strings.HasPrefix(route, "/") })
	if paths {
		p.notes.Lose(of, "", "its routes are limited there; here it may call all that its models allow", "revoke it if that is too much")
	} else {
		p.notes.Lose(of, "", "a key for other things than calls", "administer with `modelgateway`, or with a login")
	}
	return paths
}
