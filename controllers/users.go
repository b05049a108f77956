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
	filter := models.UserFilter{
		Email: c.Query("email"), TeamID: c.Query("team_id"),
		State: models.UsersIn(c.Query("state")), SignIn: models.LoginWay(c.Query("sign_in")),
	}
	var err error
	if filter.Containing, err = readSearch(c); err != nil {
		return err
	}
	return answerPages(c, "users", admin.ShowUser, func(u *api.AdminUser) string { return u.ID },
		func(page models.Page) ([]admin.UserState, bool, error) {
			return h.Service.Users(c.Request.Context(), filter, page)
		})
}

// Erase answers POST /admin/users/{user_id}/erase.
func (h *Admin) Erase(c *gin.Context) error {
	in, err := readOptional[api.Erasure](c)
	if err != nil {
		return err
	}
	id := lastID(c)
	return answer(c, http.StatusOK)(deleted(id, api.ObjectUser), h.Service.EraseUser(c.Request.Context(), actor(c), id, in.Delete))
}

// Reset answers POST /admin/users/{user_id}/reset with a link with which the user sets
// a password.
func (h *Admin) Reset(c *gin.Context) error {
	return answerAs(c, http.StatusCreated, admin.ShowLink)(h.Service.ResetLink(c.Request.Context(), actor(c), lastID(c)))
}
