package controllers

import (
	"context"
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
	in, err := readBody[api.NewKey](c)
	if err != nil {
		return err
	}
	return answerSecret(c, auth.ShowCreatedKey)(h.Service.Create(c.Request.Context(), user(c), in))
}

// Rotate answers POST /auth/keys/{key_id}/rotate, the only response that contains
// the new secret.
func (h *Keys) Rotate(c *gin.Context) error {
	in, err := readOptional[api.KeyRotation](c)
	if err != nil {
		return err
	}
	return answerSecret(c, auth.ShowRotatedKey)(h.Service.Rotate(c.Request.Context(), user(c), lastID(c), in))
}

// Fetch answers POST /auth/keys/{key_id}/secret, the only response that contains the secret of a
// key that another user has made.
func (h *Keys) Fetch(c *gin.Context) error {
	return answerSecret(c, auth.ShowCreatedKey)(h.Service.Fetch(c.Request.Context(), user(c), c.Param("id")))
}

// answerSecret writes a key with its secret, which no other answer has.
func answerSecret[Form any](c *gin.Context, show func(*models.Key, string) Form) func(*models.Key, string, error) error {
	return func(key *models.Key, text string, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(c, http.StatusCreated, show(key, text))
	}
}

// Change changes a key of the user.
func (h *Keys) Change(ctx context.Context, by admin.Actor, id string, in api.KeyChange) (*auth.KeyState, error) {
	return h.Service.Change(ctx, by.UserID, id, in)
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
	return answerAs(c, http.StatusOK, func(keys []auth.KeyState) api.KeyList {
		return api.KeyList{List: api.ShowList(keys, auth.ShowKey), Defaults: h.Service.ShowDefaults()}
	})(keys, err)
}

// Get answers GET /auth/keys/{key_id}.
func (h *Keys) Get(c *gin.Context) error {
	return answerAs(c, http.StatusOK, auth.ShowKey)(h.Service.Get(c.Request.Context(), user(c), lastID(c)))
}

// Revoke ends a key of the user, which is refused from then on.
func (h *Keys) Revoke(ctx context.Context, by admin.Actor, id string) error {
	return h.Service.Revoke(ctx, by.UserID, id)
}

// RestoreOwnKey takes the revocation of a key of the user back.
func (h *Admin) RestoreOwnKey(ctx context.Context, by admin.Actor, id string) (*auth.KeyState, error) {
	state, err := h.Service.RestoreKey(ctx, by.Own(), id)
	if err != nil {
		return nil, err
	}
	return &state.KeyState, nil
}

// Keys answers GET /admin/keys, and that of a team.
func (h *Admin) Keys(c *gin.Context) error {
	query, err := readKeyQuery(c)
	if err != nil {
		return err
	}
	query.UserID, query.TeamID = c.Query("user_id"), c.Query("team_id")
	return answerPages(c, "keys", admin.ShowKey, func(k *api.AdminKey) string { return k.ID },
		func(page models.Page) ([]admin.OwnedKeyState, bool, error) {
			return h.Service.Keys(c.Request.Context(), actor(c), query, page)
		})
}

// CreateKey answers POST /admin/keys, and that of a team.
func (h *Admin) CreateKey(c *gin.Context) error {
	in, err := readBody[api.AdminNewKey](c)
	if err != nil {
		return err
	}
	return answerSecret(c, h.Service.ShowCreatedKey)(h.Service.CreateKey(c.Request.Context(), actor(c), in))
}

// RotateKey answers POST /admin/keys/{key_id}/rotate, and that of a team.
func (h *Admin) RotateKey(c *gin.Context) error {
	in, err := readOptional[api.AdminKeyRotation](c)
	if err != nil {
		return err
	}
	return answerSecret(c, h.Service.ShowRotatedKey)(h.Service.RotateKey(c.Request.Context(), actor(c), lastID(c), in))
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

// readSearch is the text that a query looks for.
func readSearch(c *gin.Context) (string, error) {
	const longest = 200 // bytes
	text := strings.TrimSpace(c.Query("q"))
	if len(text) > longest || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", api.Invalid(api.CodeInvalidValue, "q", "q must be a text of at most %d bytes", longest)
	}
	return text, nil
}
