package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/services"
)

// Keys serves a user's virtual API keys.
type Keys struct {
	Service *services.Keys
}

// Create answers POST /auth/keys. The key is shown this once.
func (h *Keys) Create(c *gin.Context) error {
	var in api.NewKey
	if err := readInto(c, &in); err != nil {
		return err
	}
	key, text, err := h.Service.Create(c.Request.Context(), user(c), in.Name)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	return writeJSON(c, http.StatusCreated, api.CreatedKey{
		ID: key.ID, Object: api.ObjectKey, Name: key.Name, Key: text, Prefix: key.Prefix, CreatedAt: seconds(key.CreatedAt),
	})
}

// List answers GET /auth/keys.
func (h *Keys) List(c *gin.Context) error {
	keys, err := h.Service.List(c.Request.Context(), user(c))
	if err != nil {
		return err
	}
	list := api.KeyList{Object: api.ObjectList, Data: make([]api.Key, len(keys))}
	for i, k := range keys {
		list.Data[i] = api.Key{ID: k.ID, Object: api.ObjectKey, Name: k.Name, Prefix: k.Prefix, CreatedAt: seconds(k.CreatedAt)}
		if k.LastUsedAt > 0 {
			used := seconds(k.LastUsedAt)
			list.Data[i].LastUsedAt = &used
		}
	}
	return writeJSON(c, http.StatusOK, list)
}

// Revoke answers DELETE /auth/keys/{key_id}. The key is refused from then on.
func (h *Keys) Revoke(c *gin.Context) error {
	id := c.Param("id")
	if err := h.Service.Revoke(c.Request.Context(), user(c), id); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Deleted{ID: id, Object: api.ObjectKey, Deleted: true})
}

func user(c *gin.Context) string { return middleware.CallerOf(c.Request.Context()).UserID }
