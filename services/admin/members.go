package admin

import (
	"context"
	"errors"
	"fmt"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// Members lists the members of a team, the first one first.
func (a *Service) Members(ctx context.Context, by Actor, teamID string) ([]models.Member, error) {
	if err := a.readTeam(ctx, by, teamID); err != nil {
		return nil, err
	}
	members, err := a.store.Members(ctx, teamID)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("list members: %w", err))
	}
	return members, nil
}

// AddMember makes a user a member of a team. A user whose address may be another person's is sent an
// invitation instead, which it returns.
func (a *Service) AddMember(ctx context.Context, by Actor, teamID string, in api.NewTeamMember) (*models.Member, *Invited, error) {
	role, err := checkRole(in.Role)
	if err != nil {
		return nil, nil, err
	}
	find, err := userOf(in)
	if err != nil {
		return nil, nil, err
	}
	var member models.Member
	invite := ""
	err = a.actOnTeam(ctx, by, teamID, func(tx *models.Transaction, act action, team *models.Team) (*models.Audit, error) {
		u, err := find(tx)
		if err != nil {
			return nil, orNotFound("look up user", err, userNotFound)
		}
		if err := a.checkProven(u, "email", "a member"); err != nil {
			if u.DisabledAt == 0 && a.accounts.Invites() {
				invite = u.Email
			}
			return nil, err
		}
		member = models.Member{TeamMember: models.TeamMember{TeamID: team.ID, UserID: u.ID, Role: role}, Email: u.Email, Name: u.Name}
		return nil, a.addMember(tx, act, &member.TeamMember, u.Email)
	})
	if err != nil && invite != "" {
		made, err := a.Invite(ctx, by, api.NewInvitation{Email: invite, TeamID: teamID, Role: string(role)})
		return nil, made, err
	}
	if err != nil {
		return nil, nil, api.OrUnavailable("add member", err)
	}
	return &member, nil, nil
}

// userOf returns the look-up of the user that a new member is.
func userOf(in api.NewTeamMember) (find func(*models.Transaction) (*models.User, error), err error) {
	switch {
	case (in.UserID == "") == (in.Email == ""):
		return nil, api.Invalid(api.CodeMissingField, "user_id", "either user_id or email must name the user")
	case in.Email != "":
		email, err := account.NormalEmail(in.Email)
		return func(tx *models.Transaction) (*models.User, error) { return tx.UserByEmail(email) }, err
	case !auth.LooksLikeID(in.UserID):
		return nil, userNotFound()
	}
	return func(tx *models.Transaction) (*models.User, error) { return tx.User(in.UserID) }, nil
}

// addMember adds a member with a row of the audit. The team may be unknown.
func (a *Service) addMember(tx *models.Transaction, act action, m *models.TeamMember, email string) error {
	if _, err := tx.Team(m.TeamID); err != nil {
		return orNotFound("look up team", err, auth.TeamNotFound)
	}
	m.CreatedAt = a.now().UnixMicro()
	err := tx.AddMember(m)
	if errors.Is(err, models.ErrTaken) {
		return api.Conflict(api.CodeMemberExists, "", "the user is a member of the team already")
	}
	if err != nil {
		return err
	}
	act.name, act.target = "member.add", m.TeamID
	return a.record(tx, act, memberDetail{UserID: m.UserID, Email: email, After: &memberState{m.Role}})
}

// ChangeMember changes the role of a member. The last manager of a team with other
// members stays one.
func (a *Service) ChangeMember(ctx context.Context, by Actor, teamID, userID string, in api.RoleChange) (*models.Member, error) {
	if in.Role == "" {
		return nil, api.Missing("role")
	}
	role, err := checkRole(in.Role)
	if err != nil {
		return nil, err
	}
	var member models.Member
	err = a.actOnMember(ctx, by, teamID, userID, func(tx *models.Transaction, act action, m *models.Member) (*models.Audit, error) {
		before := m.Role
		m.Role = role
		member = *m
		if before == role {
			return nil, nil
		}
		if before == models.RoleManager {
			managers, err := tx.Managers(teamID)
			if err != nil {
				return nil, err
			}
			if managers == 1 {
				return nil, api.Conflict(api.CodeLastManager, "role",
					"this is the last manager of the team: make another member a manager first")
			}
		}
		if err := tx.SetRole(&m.TeamMember, role); err != nil {
			return nil, err
		}
		act.name = "member.change"
		return a.auditRow(act, memberDetail{UserID: userID, Email: m.Email, Before: &memberState{before}, After: &memberState{role}})
	})
	if err != nil {
		return nil, api.OrUnavailable("change member", err)
	}
	return &member, nil
}

// RemoveMember ends a membership and revokes the member's keys in the team; the keys of
// the team alone stay. The last manager of a team with other members stays. Members may
// remove themselves.
func (a *Service) RemoveMember(ctx context.Context, by Actor, teamID, userID string) error {
	by.leaves = by.Team != "" && by.UserID == userID
	var keys []models.Key
	err := a.actOnMember(ctx, by, teamID, userID, func(tx *models.Transaction, act action, m *models.Member) (_ *models.Audit, err error) {
		if err := checkManaged(tx, userID, teamID); err != nil {
			return nil, err
		}
		if keys, err = tx.RemoveMember(&m.TeamMember, a.now().UnixMicro()); err != nil {
			return nil, err
		}
		act.name = "member.remove"
		return a.auditRow(act, memberDetail{UserID: userID, Email: m.Email, Before: &memberState{m.Role}, RevokedKeys: idsOf(keys)})
	})
	if err != nil {
		return api.OrUnavailable("remove member", err)
	}
	a.invalidate(ctx, keys)
	return nil
}

// actOnMember is actOnTeam on a member of a team.
func (a *Service) actOnMember(ctx context.Context, by Actor, teamID, userID string,
	do func(tx *models.Transaction, act action, m *models.Member) (*models.Audit, error),
) error {
	if !auth.LooksLikeID(userID) {
		return memberNotFound()
	}
	return a.actOnTeam(ctx, by, teamID, func(tx *models.Transaction, act action, _ *models.Team) (*models.Audit, error) {
		m, err := tx.Member(teamID, userID)
		if err != nil {
			return nil, orNotFound("look up member", err, memberNotFound)
		}
		u, err := tx.User(userID)
		if err != nil {
			return nil, err
		}
		return do(tx, act, &models.Member{TeamMember: *m, Email: u.Email, Name: u.Name})
	})
}

func memberNotFound() error {
	return api.NotFound(api.CodeMemberNotFound, "the team has no such member")
}

// checkRole returns the role with this name; an empty one is that of a member.
func checkRole(name string) (models.Role, error) {
	switch role := models.Role(name); role {
	case "":
		return models.RoleMember, nil
	case models.RoleManager, models.RoleMember:
		return role, nil
	}
	return "", api.Invalid(api.CodeInvalidValue, "role", "role must be %s or %s", models.RoleManager, models.RoleMember)
}
