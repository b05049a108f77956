package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

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
	return answerPage(c, admin.ShowUser)(h.Service.Users(c.Request.Context(), filter, page))
}

// Reset answers POST /admin/users/{user_id}/reset with a link with which the user sets
// a password.
func (h *Admin) Reset(c *gin.Context) error {
	return answerAs(c, http.StatusCreated, admin.ShowLink)(h.Service.ResetLink(c.Request.Context(), actor(c), lastID(c)))
}
