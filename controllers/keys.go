package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/services/auth"
)

// Keys serves a user's virtual API keys.
type Keys struct {
	Service *auth.Keys
}

// Create answers POST /auth/keys, the only response that contains the key.
func (h *Keys) Create(c *gin.Context) error {
	var in api.NewKey
	if err := readExactly(c, &in); err != nil {
		return err
	}
	key, text, err := h.Service.Create(c.Request.Context(), user(c), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, api.CreatedKey{
		ID: key.ID, Object: api.ObjectKey, Name: key.Name, Key: text, Prefix: key.Prefix, CreatedAt: seconds(key.CreatedAt),
		Limits: auth.ShowLimits(&key.Limits),
	})
}

// Change answers PATCH /auth/keys/{key_id}.
func (h *Keys) Change(c *gin.Context) error {
	var in api.KeyChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	key, err := h.Service.Change(c.Request.Context(), user(c), c.Param("id"), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, shownKey(key))
}

// List answers GET /auth/keys.
func (h *Keys) List(c *gin.Context) error {
	keys, err := h.Service.List(c.Request.Context(), user(c))
	if err != nil {
		return err
	}
	list := api.KeyList{Object: api.ObjectList, Data: make([]api.Key, len(keys))}
	for i := range keys {
		list.Data[i] = shownKey(&keys[i])
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

func shownKey(k *auth.KeyState) api.Key {
	return api.Key{
		ID: k.ID, Object: api.ObjectKey, Name: k.Name, Prefix: k.Prefix, CreatedAt: seconds(k.CreatedAt), LastUsedAt: moment(k.LastUsedAt),
		Limits: auth.ShowLimits(&k.Limits), Spend: api.USD(k.Spend.Total), BudgetState: k.Budget(),
	}
}

// moment is seconds of a time, or nil for no time.
func moment(micro int64) *int64 {
	if micro == 0 {
		return nil
	}
	at := seconds(micro)
	return &at
}

func user(c *gin.Context) string { return middleware.RequestOf(c).Caller.UserID }
