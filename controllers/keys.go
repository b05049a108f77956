package controllers

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/admin"
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
	return writeJSON(c, http.StatusCreated, auth.ShowCreatedKey(key, text))
}

// Rotate answers POST /auth/keys/{key_id}/rotate, the only response that contains
// the new secret.
func (h *Keys) Rotate(c *gin.Context) error {
	var in api.KeyRotation
	if err := readOptional(c, &in); err != nil {
		return err
	}
	key, text, err := h.Service.Rotate(c.Request.Context(), user(c), c.Param("id"), in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, auth.ShowRotatedKey(key, text))
}

// Fetch answers POST /auth/keys/{key_id}/secret, the only response that contains the secret of a
// key that another user has made.
func (h *Keys) Fetch(c *gin.Context) error {
	key, text, err := h.Service.Fetch(c.Request.Context(), user(c), c.Param("id"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, auth.ShowCreatedKey(key, text))
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
	return writeJSON(c, http.StatusOK, auth.ShowKey(key))
}

// List answers GET /auth/keys.
func (h *Keys) List(c *gin.Context) error {
	query, err := readKeyQuery(c)
	if err != nil {
		return err
	}
	query.UserID = user(c)
	keys, err := h.Service.Find(c.Request.Context(), query.KeyFilter)
	if err == nil && query.Days > 0 {
		err = h.Service.CountCalls(c.Request.Context(), keys, query.Days)
	}
	if err != nil {
		return err
	}
	list := api.KeyList{Object: api.ObjectList, Data: make([]api.Key, len(keys)), Defaults: h.Service.ShowDefaults()}
	for i := range keys {
		list.Data[i] = auth.ShowKey(&keys[i])
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

func user(c *gin.Context) string { return middleware.RequestOf(c).Caller.UserID }

// readKeyQuery is which keys a query asks for, but for whose.
func readKeyQuery(c *gin.Context) (q admin.KeyQuery, err error) {
	switch state := c.Query("state"); state {
	case "", "active":
	case string(models.KeysRevoked), string(models.KeysAll):
		q.State = models.KeysIn(state)
	default:
		return q, api.Invalid(api.CodeInvalidValue, "state", "state must be active, revoked or all")
	}
	if q.Prefix, err = readSearch(c); err != nil {
		return q, err
	}
	text, named := c.GetQuery("days")
	if !named {
		return q, nil
	}
	const most = 31
	q.Days, err = strconv.Atoi(text)
	if err != nil || q.Days < 1 || q.Days > most {
		return q, api.Invalid(api.CodeInvalidValue, "days", "days must be from 1 to %d", most)
	}
	return q, nil
}

// readKeyPage is readKeyQuery for the lists that have pages.
func readKeyPage(c *gin.Context) (admin.KeyQuery, models.Page, error) {
	page, err := readPage(c)
	if err != nil {
		return admin.KeyQuery{}, page, err
	}
	query, err := readKeyQuery(c)
	return query, page, err
}

// readSearch is the text that a query looks for.
func readSearch(c *gin.Context) (string, error) {
	const longest = 200 // bytes
	text := strings.TrimSpace(c.Query("q"))
	if len(text) > longest || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", api.Invalid(api.CodeInvalidValue, "q", "q must be a text of at most %d bytes", longest)
	}
	return text, nil
}
