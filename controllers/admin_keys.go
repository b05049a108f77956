package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
	"modelgateway/services/auth"
)

// Keys answers GET /admin/keys.
func (h *Admin) Keys(c *gin.Context) error {
	query, page, err := readKeyPage(c)
	if err != nil {
		return err
	}
	query.UserID, query.TeamID = c.Query("user_id"), c.Query("team_id")
	keys, more, err := h.Service.Keys(c.Request.Context(), query, page)
	return writeKeys(c, keys, more, err)
}

func writeKeys(c *gin.Context, keys []admin.OwnedKeyState, more bool, err error) error {
	if err != nil {
		return err
	}
	list := api.AdminKeyList{Object: api.ObjectList, Data: make([]api.AdminKey, len(keys)), HasMore: more}
	for i := range keys {
		list.Data[i] = admin.ShowKey(&keys[i])
	}
	return writeJSON(c, http.StatusOK, list)
}

// CreateKey answers POST /admin/keys.
func (h *Admin) CreateKey(c *gin.Context) error { return createKey(c, h.Service, actor(c)) }

func createKey(c *gin.Context, service *admin.Service, by admin.Actor) error {
	var in api.AdminNewKey
	if err := readExactly(c, &in); err != nil {
		return err
	}
	key, text, err := service.CreateKey(c.Request.Context(), by, in)
	if err != nil {
		return err
	}
	shown := auth.ShowCreatedKey(key, text)
	shown.Link = linkOf(service, key)
	return writeJSON(c, http.StatusCreated, shown)
}

// ChangeKey answers PATCH /admin/keys/{key_id}.
func (h *Admin) ChangeKey(c *gin.Context) error {
	return changeKey(c, h.Service, actor(c), c.Param("id"))
}

func changeKey(c *gin.Context, service *admin.Service, by admin.Actor, id string) error {
	var in api.AdminKeyChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	key, err := service.ChangeKey(c.Request.Context(), by, id, in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, admin.ShowKey(key))
}

// RevokeKey answers DELETE /admin/keys/{key_id}.
func (h *Admin) RevokeKey(c *gin.Context) error {
	return revokeKey(c, h.Service, actor(c), c.Param("id"))
}

func revokeKey(c *gin.Context, service *admin.Service, by admin.Actor, id string) error {
	if err := service.RevokeKey(c.Request.Context(), by, id); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Deleted{ID: id, Object: api.ObjectKey, Deleted: true})
}

// RotateKey answers POST /admin/keys/{key_id}/rotate.
func (h *Admin) RotateKey(c *gin.Context) error {
	return rotateKey(c, h.Service, actor(c), c.Param("id"))
}

func rotateKey(c *gin.Context, service *admin.Service, by admin.Actor, id string) error {
	var in api.AdminKeyRotation
	if err := readOptional(c, &in); err != nil {
		return err
	}
	key, text, err := service.RotateKey(c.Request.Context(), by, id, in)
	if err != nil {
		return err
	}
	shown := auth.ShowRotatedKey(key, text)
	shown.Link = linkOf(service, key)
	return writeJSON(c, http.StatusCreated, shown)
}

// linkOf is where the owner of a key that has no secret fetches it.
func linkOf(service *admin.Service, key *models.Key) string {
	if !key.Pending() {
		return ""
	}
	return service.KeysPage()
}
