package admin

import (
	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// ShowUser returns a user in the form of the API.
func ShowUser(u *UserState) api.AdminUser {
	teams := make([]api.UserTeam, len(u.Teams))
	for i, m := range u.Teams {
		teams[i] = api.UserTeam{ID: m.ID, Name: m.Name, Role: string(m.Role)}
	}
	return api.AdminUser{
		ID: u.ID, Object: api.ObjectUser, Email: u.Email, Name: u.Name, CreatedAt: api.Seconds(u.CreatedAt),
		DisabledAt: api.Moment(u.DisabledAt), LastUsedAt: api.Moment(u.LastUsedAt), Verified: u.VerifiedAt != 0, Admin: u.Admin,
		Limits: auth.ShowLimits(&u.Limits), Teams: teams, Keys: u.Keys, Spend: api.USD(u.Spend),
		SignIn:      signIn(u),
		BudgetState: auth.ShowBudget(&u.payer, &u.spent, u.at),
	}
}

// signIn are the ways in which a user can log in.
func signIn(u *UserState) []string {
	ways := []string{}
	if u.PasswordHash != "" {
		ways = append(ways, string(models.LoginByPassword))
	}
	if u.Linked {
		ways = append(ways, string(models.LoginByIdentityProvider))
	}
	return ways
}

// ShowCreatedUser returns a new user in the form of the API, with the first key and the
// link, which are not shown again.
func (a *Service) ShowCreatedUser(u *CreatedUser) api.CreatedUser {
	shown := api.CreatedUser{AdminUser: ShowUser(&u.UserState), Link: ShowLink(u.Link)}
	if u.Key != nil {
		key := a.ShowCreatedKey(u.Key, u.KeyText)
		shown.Key = &key
	}
	return shown
}

// ShowLink returns a link in the form of the API; nil for none.
func ShowLink(l *account.Link) *api.Link {
	if l == nil {
		return nil
	}
	return &api.Link{URL: address(l), ExpiresAt: api.Seconds(l.ExpiresAt)}
}

func address(l *account.Link) *string {
	if l.URL == "" {
		return nil
	}
	return &l.URL
}

// ShowInvitation returns an invitation in the form of the API.
func ShowInvitation(t *models.Invitation) api.Invitation {
	return api.Invitation{
		ID: t.ID, Object: "invitation", Email: api.Maybe(t.Email), TeamID: api.Maybe(t.TeamID), TeamName: api.Maybe(t.TeamName),
		Role: api.Maybe(t.Role), CreatedBy: api.Maybe(t.CreatedBy), CreatedByEmail: api.Maybe(t.CreatedByEmail),
		CreatedAt: api.Seconds(t.CreatedAt), ExpiresAt: api.Seconds(t.ExpiresAt),
	}
}

// ShowCreatedInvitation returns a new invitation with its link in the form of the API.
func ShowCreatedInvitation(made *Invited) api.CreatedInvitation {
	return api.CreatedInvitation{Invitation: ShowInvitation(&made.Invitation), URL: address(&made.Link)}
}

// ShowKey returns a key, its user and its team in the form of the API.
func ShowKey(k *OwnedKeyState) api.AdminKey {
	return api.AdminKey{
		Key: auth.ShowKey(&k.KeyState), UserID: api.Maybe(k.UserID), UserEmail: api.Maybe(k.UserEmail),
	}
}

// ShowTeam returns a team in the form of the API.
func ShowTeam(t *TeamState) api.Team {
	return api.Team{
		ID: t.ID, Object: "team", Name: t.Name, CreatedAt: api.Seconds(t.CreatedAt), Limits: auth.ShowLimits(&t.Limits),
		Members: t.Members, Keys: t.Keys, Spend: api.USD(t.Spend.Total), BudgetState: auth.ShowBudget(&t.Limits, &t.Spend, t.at),
	}
}

// ShowMember returns a member of a team in the form of the API.
func ShowMember(m *models.Member) api.TeamMember {
	return api.TeamMember{
		Object: "team_member", TeamID: m.TeamID, UserID: m.UserID, Email: m.Email, Name: m.Name, Role: string(m.Role),
		CreatedAt: api.Seconds(m.CreatedAt),
	}
}

// ShowOwnTeam returns a team of the user who asks in the form of the API.
func ShowOwnTeam(t *OwnTeam) api.OwnTeam {
	return api.OwnTeam{Team: ShowTeam(&t.TeamState), Role: string(t.Role)}
}
