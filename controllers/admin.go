package controllers

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/admin"
)

// Admin serves the endpoints of administrators.
type Admin struct {
	Service *admin.Service
}

// Users answers GET /admin/users.
func (h *Admin) Users(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	users, more, err := h.Service.Users(c.Request.Context(), c.Query("email"), page)
	if err != nil {
		return err
	}
	list := api.AdminUserList{Object: api.ObjectList, Data: make([]api.AdminUser, len(users)), HasMore: more}
	for i := range users {
		list.Data[i] = shownUser(&users[i])
	}
	return writeJSON(c, http.StatusOK, list)
}

// ChangeUser answers PATCH /admin/users/{user_id}.
func (h *Admin) ChangeUser(c *gin.Context) error {
	var in api.UserChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	if in.Disabled == nil {
		return api.Invalid(api.CodeMissingField, "disabled", "disabled is missing: true or false")
	}
	u, err := h.Service.SetDisabled(c.Request.Context(), actor(c), c.Param("id"), *in.Disabled)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, shownUser(u))
}

// Keys answers GET /admin/keys.
func (h *Admin) Keys(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	keys, more, err := h.Service.Keys(c.Request.Context(), c.Query("user_id"), page)
	if err != nil {
		return err
	}
	list := api.AdminKeyList{Object: api.ObjectList, Data: make([]api.AdminKey, len(keys)), HasMore: more}
	for i := range keys {
		list.Data[i] = shownOwnedKey(&keys[i])
	}
	return writeJSON(c, http.StatusOK, list)
}

// ChangeKey answers PATCH /admin/keys/{key_id}.
func (h *Admin) ChangeKey(c *gin.Context) error {
	var in api.AdminKeyChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	key, err := h.Service.ChangeKey(c.Request.Context(), actor(c), c.Param("id"), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, shownOwnedKey(key))
}

// RevokeKey answers DELETE /admin/keys/{key_id}.
func (h *Admin) RevokeKey(c *gin.Context) error {
	id := c.Param("id")
	if err := h.Service.RevokeKey(c.Request.Context(), actor(c), id); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Deleted{ID: id, Object: api.ObjectKey, Deleted: true})
}

// Audit answers GET /admin/audit.
func (h *Admin) Audit(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	filter := models.AuditFilter{ActorID: c.Query("actor_id"), Target: c.Query("target")}
	rows, more, err := h.Service.Audit(c.Request.Context(), filter, page)
	if err != nil {
		return err
	}
	list := api.AuditList{Object: api.ObjectList, Data: make([]api.AuditEntry, len(rows)), HasMore: more}
	for i, row := range rows {
		list.Data[i] = api.AuditEntry{
			ID: row.ID, Object: api.ObjectAudit, At: seconds(row.At), ActorID: row.ActorID, ActorEmail: row.ActorEmail,
			Action: row.Action, Target: row.Target, Detail: jsontext.Value(row.Detail), RequestID: row.RequestID, Address: row.Address,
		}
	}
	return writeJSON(c, http.StatusOK, list)
}

// actor is the administrator and the address of the request, in full, for the
// audit.
func actor(c *gin.Context) admin.Actor {
	return admin.Actor{UserID: user(c), RequestID: middleware.RequestID(c), Address: c.ClientIP()}
}

// readPage is the part of a list that a query asks for.
func readPage(c *gin.Context) (models.Page, error) {
	page := models.Page{After: c.Query("after"), Limit: admin.UsualPage}
	text, named := c.GetQuery("limit")
	if !named {
		return page, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return page, api.Invalid(api.CodeInvalidValue, "limit", "limit must be a whole number")
	}
	page.Limit = limit
	return page, nil
}

func shownUser(u *admin.UserState) api.AdminUser {
	return api.AdminUser{
		ID: u.ID, Object: api.ObjectUser, Email: u.Email, Name: u.Name, CreatedAt: seconds(u.CreatedAt), DisabledAt: moment(u.DisabledAt),
		Admin: u.Admin, Keys: u.Keys, Spend: api.USD(u.Spend),
	}
}

func shownOwnedKey(k *admin.OwnedKeyState) api.AdminKey {
	return api.AdminKey{Key: shownKey(&k.KeyState), UserID: k.UserID, UserEmail: k.UserEmail}
}
