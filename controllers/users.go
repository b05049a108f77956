package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
)

// Users answers GET /admin/users.
func (h *Admin) Users(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	filter := models.UserFilter{
		Email: c.Query("email"), TeamID: c.Query("team_id"),
		State: models.UsersIn(c.Query("state")), SignIn: models.SignIn(c.Query("sign_in")),
	}
	if filter.Containing, err = readSearch(c); err != nil {
		return err
	}
	users, more, err := h.Service.Users(c.Request.Context(), filter, page)
	if err != nil {
		return err
	}
	list := api.AdminUserList{Object: api.ObjectList, Data: make([]api.AdminUser, len(users)), HasMore: more}
	for i := range users {
		list.Data[i] = admin.ShowUser(&users[i])
	}
	return writeJSON(c, http.StatusOK, list)
}

// CreateUser answers POST /admin/users.
func (h *Admin) CreateUser(c *gin.Context) error {
	var in api.NewUser
	if err := readExactly(c, &in); err != nil {
		return err
	}
	u, err := h.Service.CreateUser(c.Request.Context(), actor(c), in)
	if err != nil {
		return err
	}
	shown := admin.ShowCreatedUser(u)
	if u.Key != nil {
		shown.Key.Link = linkOf(h.Service, u.Key)
	}
	return writeJSON(c, http.StatusCreated, shown)
}

// User answers GET /admin/users/{user_id}.
func (h *Admin) User(c *gin.Context) error {
	u, err := h.Service.User(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, admin.ShowUser(u))
}

// ChangeUser answers PATCH /admin/users/{user_id}.
func (h *Admin) ChangeUser(c *gin.Context) error {
	var in api.UserChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	u, err := h.Service.ChangeUser(c.Request.Context(), actor(c), c.Param("id"), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, admin.ShowUser(u))
}

// DeleteUser answers DELETE /admin/users/{user_id}.
func (h *Admin) DeleteUser(c *gin.Context) error {
	id := c.Param("id")
	if err := h.Service.DeleteUser(c.Request.Context(), actor(c), id); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Deleted{ID: id, Object: api.ObjectUser, Deleted: true})
}

// Reset answers POST /admin/users/{user_id}/reset with a link with which the user sets
// a password.
func (h *Admin) Reset(c *gin.Context) error {
	link, err := h.Service.ResetLink(c.Request.Context(), actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, admin.ShowLink(link))
}
