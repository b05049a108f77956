package controllers

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/account"
	"modelgateway/services/audit"
	"modelgateway/services/idp"
)

// IDP serves the login through an identity provider.
type IDP struct {
	Service  *idp.Login
	Accounts *account.Service
	Cookies  middleware.Cookies // of the console
	Now      func() time.Time
}

// forConsole begins the value of the login's cookie where the console has begun the login:
// then it ends with the console's cookie and its first page instead of a token.
const forConsole = "console."

// Begin answers GET /auth/idp: it redirects to the provider.
func (h *IDP) Begin(c *gin.Context) error {
	noReferrer(c)
	redirect, cookie, err := h.Service.Begin(c.Request.Context())
	if err != nil {
		return err
	}
	if c.Query("console") == "1" {
		cookie = forConsole + cookie
	}
	http.SetCookie(c.Writer, h.Service.Cookie(cookie))
	c.Redirect(http.StatusFound, redirect)
	return nil
}

// Link answers POST /auth/idp/link. A browser cannot be redirected by an answer to a
// request with a token, so that the answer has the address for it.
func (h *IDP) Link(c *gin.Context) error {
	in, err := readOptional[api.Confirmation](c)
	if err != nil {
		return err
	}
	ctx, id := c.Request.Context(), user(c)
	current := account.PasswordChange{UserID: id, Current: in.Current, Address: middleware.ClientAddress(c)}
	if err := h.Accounts.Confirm(ctx, current, middleware.LoginToken(c)); err != nil {
		return err
	}
	redirect, cookie, err := h.Service.BeginLink(ctx, id)
	if err != nil {
		return err
	}
	if middleware.ByCookie(c) {
		cookie = forConsole + cookie
	}
	http.SetCookie(c.Writer, h.Service.Cookie(cookie))
	return writeJSON(c, http.StatusOK, api.Redirect{Object: api.ObjectRedirect, URL: redirect})
}

// Unlink answers DELETE /auth/idp/link.
func (h *IDP) Unlink(c *gin.Context) error {
	err := h.Accounts.Unlink(c.Request.Context(), user(c), false, entry(c))
	return answer(c, http.StatusOK)(api.Unlinked{Object: api.ObjectIdentity, Deleted: true}, err)
}

// Callback answers GET /auth/idp/callback, to which the provider redirects.
func (h *IDP) Callback(c *gin.Context) error {
	noReferrer(c)
	var sealed string
	if cookie, err := c.Request.Cookie(idp.CookieName); err == nil {
		sealed = cookie.Value // without it the service refuses
	}
	sealed, console := strings.CutPrefix(sealed, forConsole)
	query := c.Request.URL.Query()
	if h.Service.Began(query, sealed) { // else another site could end a login
		http.SetCookie(c.Writer, h.Service.Cookie(""))
	}
	token, err := h.Service.Finish(c.Request.Context(), query, sealed, entry(c))
	switch {
	case console && err != nil:
		e := api.AsError(err)
		c.Redirect(http.StatusFound, h.Cookies.Path+"/signin?error="+url.QueryEscape(e.Code))
		return nil
	case console:
		h.Cookies.Set(c, token.Text, token.ExpiresAt)
		c.Redirect(http.StatusFound, h.Cookies.Path+"/")
		return nil
	}
	return answerToken(c, h.Now)(token, err)
}

// entry is a request for the audit.
func entry(c *gin.Context) audit.Entry {
	return audit.Entry{RequestID: middleware.RequestID(c), Address: c.ClientIP()}
}

// noReferrer keeps the address of a login out of the logs of other sites.
func noReferrer(c *gin.Context) { c.Header("Referrer-Policy", "no-referrer") }
