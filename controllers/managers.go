package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/services/admin"
)

// Managers serves the endpoints of a user's teams. Apart from List and from leaving a
// team they are for managers of the team.
type Managers struct {
	Service *admin.Service
}

// manager is the user and the address of the request, for a team of theirs.
func manager(c *gin.Context) admin.Actor {
	by := actor(c)
	by.Team = c.Param("id")
	return by
}

// List answers GET /auth/teams.
func (h *Managers) List(c *gin.Context) error {
	teams, err := h.Service.OwnTeams(c.Request.Context(), user(c))
	if err != nil {
		return err
	}
	list := api.OwnTeamList{Object: api.ObjectList, Data: make([]api.OwnTeam, len(teams))}
	for i := range teams {
		list.Data[i] = api.OwnTeam{Team: admin.ShowTeam(&teams[i].TeamState), Role: string(teams[i].Role)}
	}
	return writeJSON(c, http.StatusOK, list)
}

// Members answers GET /auth/teams/{team_id}/members.
func (h *Managers) Members(c *gin.Context) error { return listMembers(c, h.Service, manager(c)) }

// ChangeMember answers PATCH /auth/teams/{team_id}/members/{user_id}.
func (h *Managers) ChangeMember(c *gin.Context) error { return changeMember(c, h.Service, manager(c)) }

// RemoveMember answers DELETE /auth/teams/{team_id}/members/{user_id}.
func (h *Managers) RemoveMember(c *gin.Context) error { return removeMember(c, h.Service, manager(c)) }

// Invite answers POST /auth/teams/{team_id}/invitations.
func (h *Managers) Invite(c *gin.Context) error { return invite(c, h.Service, manager(c)) }

// Invitations answers GET /auth/teams/{team_id}/invitations.
func (h *Managers) Invitations(c *gin.Context) error {
	return listInvitations(c, h.Service, manager(c))
}

// DeleteInvitation answers DELETE /auth/teams/{team_id}/invitations/{invitation_id}.
func (h *Managers) DeleteInvitation(c *gin.Context) error {
	return deleteInvitation(c, h.Service, manager(c), c.Param("invitation"))
}

// Keys answers GET /auth/teams/{team_id}/keys.
func (h *Managers) Keys(c *gin.Context) error {
	query, page, err := readKeyPage(c)
	if err != nil {
		return err
	}
	keys, more, err := h.Service.TeamKeys(c.Request.Context(), manager(c), query, page)
	return writeKeys(c, keys, more, err)
}

// CreateKey answers POST /auth/teams/{team_id}/keys.
func (h *Managers) CreateKey(c *gin.Context) error { return createKey(c, h.Service, manager(c)) }

// ChangeKey answers PATCH /auth/teams/{team_id}/keys/{key_id}.
func (h *Managers) ChangeKey(c *gin.Context) error {
	return changeKey(c, h.Service, manager(c), c.Param("key"))
}

// RevokeKey answers DELETE /auth/teams/{team_id}/keys/{key_id}.
func (h *Managers) RevokeKey(c *gin.Context) error {
	return revokeKey(c, h.Service, manager(c), c.Param("key"))
}

// RotateKey answers POST /auth/teams/{team_id}/keys/{key_id}/rotate.
func (h *Managers) RotateKey(c *gin.Context) error {
	return rotateKey(c, h.Service, manager(c), c.Param("key"))
}
