package controllers

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// maxAuthBody bounds the bodies of /auth, in bytes.
const maxAuthBody = 64 << 10

// Auth serves registration and login.
type Auth struct {
	Accounts *account.Service
	Now      func() time.Time
}

// Register answers POST /auth/register.
func (h *Auth) Register(c *gin.Context) error {
	var in api.Registration
	if err := readInto(c, &in); err != nil {
		return err
	}
	user, err := h.Accounts.Register(c.Request.Context(), account.Registration{
		Email: in.Email, Password: in.Password, Name: in.Name, Address: middleware.ClientAddress(c),
	})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, api.User{
		ID: user.ID, Object: api.ObjectUser, Email: user.Email, Name: user.Name, CreatedAt: seconds(user.CreatedAt),
	})
}

// Login answers POST /auth/login.
func (h *Auth) Login(c *gin.Context) error {
	var in api.Login
	if err := readInto(c, &in); err != nil {
		return err
	}
	token, err := h.Accounts.Login(c.Request.Context(), in.Email, in.Password, middleware.ClientAddress(c))
	if err != nil {
		return err
	}
	return writeToken(c, token, h.Now())
}

func writeToken(c *gin.Context, token auth.Token, now time.Time) error {
	return writeJSON(c, http.StatusOK, api.Token{
		Token: token.Text, TokenType: "Bearer",
		ExpiresIn: int64(token.ExpiresAt.Sub(now).Round(time.Second) / time.Second), ExpiresAt: token.ExpiresAt.Unix(),
	})
}

func readInto(c *gin.Context, into any) error {
	return readBy(c, into, func(body []byte, into any) error { return api.Decode(body, into) })
}

// readExactly is readInto for bodies in which a misspelt member would change
// the meaning: it refuses unknown members.
func readExactly(c *gin.Context, into any) error { return readBy(c, into, api.DecodeExact) }

func readBy(c *gin.Context, into any, decode func(body []byte, into any) error) error {
	body, err := readJSON(c, maxAuthBody, nil)
	if err != nil {
		return err
	}
	return decode(body, into)
}

// seconds converts the store's microseconds to Unix seconds.
func seconds(micro int64) int64 { return micro / int64(time.Second/time.Microsecond) }
