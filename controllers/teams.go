package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/services/admin"
)

// Teams answers GET /admin/teams.
func (h *Admin) Teams(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	teams, more, err := h.Service.Teams(c.Request.Context(), page)
	if err != nil {
		return err
	}
	list := api.TeamList{Object: api.ObjectList, Data: make([]api.Team, len(teams)), HasMore: more}
	for i := range teams {
		list.Data[i] = admin.ShowTeam(&teams[i])
	}
	return writeJSON(c, http.StatusOK, list)
}

// CreateTeam answers POST /admin/teams.
func (h *Admin) CreateTeam(c *gin.Context) error {
	var in api.NewTeam
	if err := readExactly(c, &in); err != nil {
		return err
	}
	team, err := h.Service.CreateTeam(c.Request.Context(), actor(c), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, admin.ShowTeam(team))
}

// Team answers GET /admin/teams/{team_id}.
func (h *Admin) Team(c *gin.Context) error {
	team, err := h.Service.Team(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, admin.ShowTeam(team))
}

// ChangeTeam answers PATCH /admin/teams/{team_id}.
func (h *Admin) ChangeTeam(c *gin.Context) error {
	var in api.TeamChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	team, err := h.Service.ChangeTeam(c.Request.Context(), actor(c), c.Param("id"), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, admin.ShowTeam(team))
}

// DeleteTeam answers DELETE /admin/teams/{team_id}.
func (h *Admin) DeleteTeam(c *gin.Context) error {
	id := c.Param("id")
	if err := h.Service.DeleteTeam(c.Request.Context(), actor(c), id); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Deleted{ID: id, Object: "team", Deleted: true})
}

// AddMember answers POST /admin/teams/{team_id}/members.
func (h *Admin) AddMember(c *gin.Context) error {
	var in api.NewTeamMember
	if err := readExactly(c, &in); err != nil {
		return err
	}
	member, invited, err := h.Service.AddMember(c.Request.Context(), actor(c), c.Param("id"), in)
	if err != nil {
		return err
	}
	if invited != nil {
		return writeJSON(c, http.StatusAccepted, admin.ShowCreatedInvitation(invited))
	}
	return writeJSON(c, http.StatusCreated, admin.ShowMember(member))
}

// Members answers GET /admin/teams/{team_id}/members.
func (h *Admin) Members(c *gin.Context) error { return listMembers(c, h.Service, actor(c)) }

func listMembers(c *gin.Context, service *admin.Service, by admin.Actor) error {
	members, err := service.Members(c.Request.Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	list := api.TeamMemberList{Object: api.ObjectList, Data: make([]api.TeamMember, len(members))}
	for i := range members {
		list.Data[i] = admin.ShowMember(&members[i])
	}
	return writeJSON(c, http.StatusOK, list)
}

// ChangeMember answers PATCH /admin/teams/{team_id}/members/{user_id}.
func (h *Admin) ChangeMember(c *gin.Context) error { return changeMember(c, h.Service, actor(c)) }

func changeMember(c *gin.Context, service *admin.Service, by admin.Actor) error {
	var in api.RoleChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	member, err := service.ChangeMember(c.Request.Context(), by, c.Param("id"), c.Param("user"), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, admin.ShowMember(member))
}

// RemoveMember answers DELETE /admin/teams/{team_id}/members/{user_id}.
func (h *Admin) RemoveMember(c *gin.Context) error { return removeMember(c, h.Service, actor(c)) }

func removeMember(c *gin.Context, service *admin.Service, by admin.Actor) error {
	id := c.Param("user")
	if err := service.RemoveMember(c.Request.Context(), by, c.Param("id"), id); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Deleted{ID: id, Object: "team_member", Deleted: true})
}
