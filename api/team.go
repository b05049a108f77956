package api

// Team is a team as its members and administrators see it.
type Team struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // team
	Name      string `json:"name"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
	Limits
	Members     int64      `json:"members"`
	Keys        int64      `json:"keys"`      // live ones
	Spend       USD        `json:"spend_usd"` // since ever, with the team's keys
	BudgetState *KeyBudget `json:"budget"`    // null without a budget
}

// OwnTeam is one entry of GET /auth/teams.
type OwnTeam struct {
	Team
	Role string `json:"role"` // of the caller
}

// NewTeam is the body of POST /admin/teams.
type NewTeam struct {
	Name string `json:"name"`
	KeyLimits
}

// TeamChange is the body of PATCH /admin/teams/{team_id}.
type TeamChange struct {
	Name Field[string] `json:"name"`
	KeyLimits
}

// TeamMember is a member of a team.
type TeamMember struct {
	Object    string `json:"object"` // team_member
	TeamID    string `json:"team_id"`
	UserID    string `json:"user_id"`
	Email     string `json:"email"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
}

// NewTeamMember is the body of POST /admin/teams/{team_id}/members: UserID or Email
// names the user.
type NewTeamMember struct {
	UserID string `json:"user_id"`
	Email  string `json:"email"`
	Role   string `json:"role"` // empty: member
}

// RoleChange is the body of PATCH /admin/teams/{team_id}/members/{user_id}.
type RoleChange struct {
	Role string `json:"role"`
}
