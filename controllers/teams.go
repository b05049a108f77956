package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
)

// Teams answers GET /admin/teams.
func (h *Admin) Teams(c *gin.Context) error {
	return answerPages(c, "teams", admin.ShowTeam, func(t *api.Team) string { return t.ID },
		func(page models.Page) ([]admin.TeamState, bool, error) {
			return h.Service.Teams(c.Request.Context(), page)
		})
}

// OwnTeams answers GET /auth/teams.
func (h *Admin) OwnTeams(c *gin.Context) error {
	return answerList(c, admin.ShowOwnTeam)(h.Service.OwnTeams(c.Request.Context(), user(c)))
}

// Members answers GET /admin/teams/{team_id}/members, and that of a manager.
func (h *Admin) Members(c *gin.Context) error {
	return answerList(c, admin.ShowMember)(h.Service.Members(c.Request.Context(), actor(c), c.Param("id")))
}

// AddMember answers POST /admin/teams/{team_id}/members with a member, or with an invitation.
func (h *Admin) AddMember(c *gin.Context) error {
	in, err := readBody[api.NewTeamMember](c)
	if err != nil {
		return err
	}
	member, invited, err := h.Service.AddMember(c.Request.Context(), actor(c), c.Param("id"), in)
	if invited != nil {
		return answerAs(c, http.StatusAccepted, admin.ShowCreatedInvitation)(invited, err)
	}
	return answerAs(c, http.StatusCreated, admin.ShowMember)(member, err)
}

// ChangeMember answers PATCH /admin/teams/{team_id}/members/{user_id}, and that of a manager.
func (h *Admin) ChangeMember(c *gin.Context) error {
	in, err := readBody[api.RoleChange](c)
	if err != nil {
		return err
	}
	member, err := h.Service.ChangeMember(c.Request.Context(), actor(c), c.Param("id"), c.Param("user"), in)
	return answerAs(c, http.StatusOK, admin.ShowMember)(member, err)
}

// RemoveMember answers DELETE /admin/teams/{team_id}/members/{user_id}, and that of a manager.
func (h *Admin) RemoveMember(c *gin.Context) error {
	id := c.Param("user")
	err := h.Service.RemoveMember(c.Request.Context(), actor(c), c.Param("id"), id)
	return answer(c, http.StatusOK)(deleted(id, "team_member"), err)
}
