package controllers

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/services/idp"
)

// IDP serves the login through an identity provider.
type IDP struct {
	Service *idp.Login
	Now     func() time.Time
}

// Begin answers GET /auth/idp: it redirects to the provider.
func (h *IDP) Begin(c *gin.Context) error {
	noReferrer(c)
	redirect, cookie, err := h.Service.Begin(c.Request.Context())
	if err != nil {
		return err
	}
	http.SetCookie(c.Writer, h.Service.Cookie(cookie))
	c.Redirect(http.StatusFound, redirect)
	return nil
}

// Callback answers GET /auth/idp/callback, to which the provider redirects.
func (h *IDP) Callback(c *gin.Context) error {
	noReferrer(c)
	var sealed string
	if cookie, err := c.Request.Cookie(idp.CookieName); err == nil {
		sealed = cookie.Value // without it the service refuses
	}
	query := c.Request.URL.Query()
	if h.Service.Began(query, sealed) { // else another site could end a login
		http.SetCookie(c.Writer, h.Service.Cookie(""))
	}
	token, err := h.Service.Finish(c.Request.Context(), query, sealed)
	if err != nil {
		return err
	}
	return writeToken(c, token, h.Now())
}

// noReferrer keeps the address of a login out of the logs of other sites.
func noReferrer(c *gin.Context) { c.Header("Referrer-Policy", "no-referrer") }
