package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/account"
	"modelgateway/services/admin"
	"modelgateway/services/auth"
)

// Session serves the logins of the console, whose token is in a cookie that scripts cannot
// read.
type Session struct {
	Accounts *account.Service
	Admin    *admin.Service
	Tokens   *auth.Tokens
	Cookies  middleware.Cookies
	Methods  api.LoginMethods // all but whether there is an administrator
}

// Create answers POST /auth/session: a login.
func (h *Session) Create(c *gin.Context) error {
	token, err := login(c, h.Accounts)
	if err != nil {
		return err
	}
	h.Cookies.Set(c, token.Text, token.ExpiresAt)
	c.Status(http.StatusNoContent)
	return nil
}

// Show answers GET /auth/session.
func (h *Session) Show(c *gin.Context) error {
	ctx, id := c.Request.Context(), user(c)
	state, err := h.Admin.User(ctx, id)
	if err != nil {
		return err
	}
	ends, err := h.Tokens.Ends(middleware.LoginToken(c))
	if err != nil {
		return err
	}
	identities, err := h.Accounts.Identities(ctx, id)
	if err != nil {
		return err
	}
	session := api.Session{
		Object: api.ObjectSession, User: admin.ShowUser(state), ExpiresAt: ends.Unix(), Password: state.PasswordHash != "",
		Identities: identities,
	}
	if state.Linked {
		session.IdentityProvider = h.Methods.IdentityProvider
	}
	return writeJSON(c, http.StatusOK, session)
}

// End answers DELETE /auth/session: it ends the token and removes the cookie.
func (h *Session) End(c *gin.Context) error {
	if err := h.Accounts.Logout(c.Request.Context(), middleware.LoginToken(c)); err != nil {
		return err
	}
	h.Cookies.Remove(c)
	c.Status(http.StatusNoContent)
	return nil
}

// ShowMethods answers GET /auth/methods.
func (h *Session) ShowMethods(c *gin.Context) error {
	methods := h.Methods
	if middleware.ByCookie(c) {
		_, err := h.Tokens.Verify(c.Request.Context(), middleware.LoginToken(c))
		methods.Session = err == nil // else the page asks for a login
	}
	var err error
	if methods.Setup, err = h.Accounts.NeedsSetup(c.Request.Context()); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, methods)
}
