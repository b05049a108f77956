package admin

import (
	"context"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// Invited is a new invitation and its link, which is not shown again.
type Invited struct {
	models.Invitation
	Link account.Link
}

// Invite makes an invitation with which one person can register, and which makes them a
// member of a team if in names one. It is mailed if the gateway sends mail and the invitation
// names an address, else its link has a URL.
func (a *Service) Invite(ctx context.Context, by Actor, in api.NewInvitation) (*Invited, error) {
	if by.Team != "" {
		in.TeamID = by.Team
	}
	if in.TeamID == "" && in.Role != "" {
		return nil, api.Invalid(api.CodeMissingField, "team_id", "team_id is missing: without a team there is no role")
	}
	role, err := checkRole(in.Role)
	switch {
	case err != nil:
		return nil, err
	case in.TeamID == "":
		role = ""
	case !auth.LooksLikeID(in.TeamID):
		return nil, auth.TeamNotFound()
	}
	var made Invited
	err = a.act(ctx, by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		if in.TeamID != "" {
			team, err := tx.Team(in.TeamID)
			if err != nil {
				return nil, orNotFound("look up team", err, auth.TeamNotFound)
			}
			made.TeamName = team.Name
		}
		link, err := a.accounts.Invite(tx, account.Invitation{
			Email: in.Email, TeamID: in.TeamID, Role: role, By: act.actor.ID, Vouched: by.Team == "",
		})
		if err != nil {
			return nil, err
		}
		made.OneTimeToken, made.Link = link.OneTimeToken, *link
		if !by.commandLine {
			made.CreatedByEmail = act.actor.Email
		}
		detail := invitationDetail(&made.OneTimeToken)
		detail.After = stateOf(&made.OneTimeToken)
		act.name, act.target = "invitation.create", made.ID
		return a.auditRow(act, detail)
	})
	if err != nil {
		return nil, api.OrUnavailable("add a one-time token", err)
	}
	return &made, a.accounts.Deliver(&made.Link)
}

func invitationDetail(t *models.OneTimeToken) linkDetail {
	return linkDetail{Email: t.Email, TeamID: t.TeamID, Role: string(t.Role)}
}

func stateOf(t *models.OneTimeToken) *linkState {
	return &linkState{ID: t.ID, ExpiresAt: api.Seconds(t.ExpiresAt)}
}

// Invitations lists the invitations that are neither used nor over, the newest first:
// all, or those of the team that the actor manages.
func (a *Service) Invitations(ctx context.Context, by Actor, page models.Page) (list []models.Invitation, more bool, err error) {
	return ReadPage(page, "invitations", func(page models.Page) ([]models.Invitation, error) {
		if by.Team != "" {
			if err := a.readTeam(ctx, by, by.Team); err != nil {
				return nil, err
			}
		}
		return a.store.Invitations(ctx, by.Team, a.now().UnixMicro(), page)
	})
}

// DeleteInvitation ends an invitation that is neither used nor over.
func (a *Service) DeleteInvitation(ctx context.Context, by Actor, id string) error {
	if !auth.LooksLikeID(id) {
		return invitationNotFound()
	}
	err := a.act(ctx, by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		t, err := tx.DeleteInvitation(id, by.Team, a.now().UnixMicro())
		if err != nil {
			return nil, err
		}
		detail := invitationDetail(t)
		detail.Before = stateOf(t)
		act.name, act.target = "invitation.delete", t.ID
		return a.auditRow(act, detail)
	})
	if err != nil {
		return orNotFound("delete invitation", err, invitationNotFound)
	}
	return nil
}

func invitationNotFound() error {
	return api.NotFound(api.CodeInvitationNotFound, "there is no such invitation: it is unknown, used or over")
}
