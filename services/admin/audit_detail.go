package admin

import (
	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// userRow returns the row of a change to a user; nil if nothing has changed.
func (a *Service) userRow(act action, before, after *models.User) (*models.Audit, error) {
	act.target = after.ID
	switch {
	case *before == *after:
		return nil, nil
	case act.name != "":
	case before.DisabledAt == 0 && after.DisabledAt != 0:
		act.name = "user.disable"
	case before.DisabledAt != 0 && after.DisabledAt == 0:
		act.name = "user.enable"
	case before.AdminAt == 0 && after.AdminAt != 0:
		act.name = "user.grant_admin"
	case before.AdminAt != 0 && after.AdminAt == 0:
		act.name = "user.take_admin"
	case before.Limits != after.Limits:
		act.name = "user.limit"
	default:
		act.name = "user.rename"
	}
	return a.auditRow(act, userDetail{Email: after.Email, Before: a.userDetails(before), After: a.userDetails(after)})
}

// userDetail is the detail of a row about a user.
type userDetail struct {
	Email       string     `json:"email"`
	Before      *userState `json:"before,omitzero"`
	After       *userState `json:"after,omitzero"`
	RevokedKeys []string   `json:"revoked_keys,omitempty"`
}

type userState struct {
	Name     string `json:"name"`
	Disabled bool   `json:"disabled"`
	Admin    bool   `json:"admin"` // by name or by the settings
	api.Limits
}

func (a *Service) userDetails(u *models.User) *userState {
	return &userState{Name: u.Name, Disabled: u.DisabledAt != 0, Admin: a.isAdmin(u), Limits: auth.ShowLimits(&u.Limits)}
}

// linkDetail is the detail of a row about a link. The link itself is not in it.
type linkDetail struct {
	Email  string     `json:"email"`
	TeamID string     `json:"team_id,omitzero"`
	Role   string     `json:"role,omitzero"`
	Before *linkState `json:"before,omitzero"`
	After  *linkState `json:"after,omitzero"`
}

type linkState struct {
	ID        string `json:"id"`
	ExpiresAt int64  `json:"expires_at"` // Unix seconds
}

// teamDetail is the detail of a row about a team.
type teamDetail struct {
	Name        string     `json:"name"`
	Before      *teamState `json:"before,omitzero"`
	After       *teamState `json:"after,omitzero"`
	RevokedKeys []string   `json:"revoked_keys,omitempty"`
}

type teamState struct {
	Name string `json:"name"`
	api.Limits
}

func teamDetails(t *models.Team) *teamState {
	return &teamState{Name: t.Name, Limits: auth.ShowLimits(&t.Limits)}
}

// memberDetail is the detail of a row about a member of a team.
type memberDetail struct {
	UserID      string       `json:"user_id"`
	Email       string       `json:"email"`
	Before      *memberState `json:"before,omitzero"`
	After       *memberState `json:"after,omitzero"`
	RevokedKeys []string     `json:"revoked_keys,omitempty"`
}

type memberState struct {
	Role models.Role `json:"role"`
}

// keyRow returns the row of a change to a key; nil if nothing has changed.
func (a *Service) keyRow(act action, before, after *models.Key) (*models.Audit, error) {
	switch {
	case *before == *after:
		return nil, nil
	case act.name != "":
	case before.RevokedAt != after.RevokedAt:
		act.name = "key.revoke"
	case before.Hash != after.Hash:
		act.name = "key.rotate"
	case before.Limits != after.Limits || before.LimitedBy != after.LimitedBy:
		act.name = "key.limit"
	default:
		act.name = "key.rename"
	}
	detail := keyDetail{
		UserID: after.UserID, TeamID: after.TeamID, Prefix: after.Prefix, Before: keyStateOf(before), After: keyStateOf(after),
	}
	if act.name == "key.rotate" {
		detail.ShownTo = shownTo(act, after)
	}
	return a.auditRow(act, detail)
}

// keyDetail is the detail of a row about a key.
type keyDetail struct {
	UserID string `json:"user_id"`
	TeamID string `json:"team_id,omitzero"`
	Prefix string `json:"prefix"`

	// ShownTo is who is shown the secret of another user's key.
	ShownTo string `json:"secret_shown_to,omitzero"`

	Before *keyState `json:"before,omitzero"`
	After  *keyState `json:"after,omitzero"`
}

// keyState is a key in a row of the audit log.
type keyState struct {
	Name    string `json:"name"`
	Revoked bool   `json:"revoked"`
	api.Limits
	LimitedBy         *string `json:"limited_by"`
	PreviousExpiresAt *int64  `json:"previous_expires_at,omitzero"` // Unix seconds
}

func keyStateOf(k *models.Key) *keyState {
	state := &keyState{Name: k.Name, Revoked: k.RevokedAt != 0, Limits: auth.ShowLimits(&k.Limits), LimitedBy: auth.ShowLimitedBy(k)}
	if k.PreviousExpiresAt != 0 {
		at := api.Seconds(k.PreviousExpiresAt)
		state.PreviousExpiresAt = &at
	}
	return state
}
