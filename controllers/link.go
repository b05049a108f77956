package controllers

import (
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/services/account"
)

// OldLink answers GET /auth/link, to which links of former versions lead: it redirects to the
// console's page. The token moves behind the #, so that no other request has it in its address.
func (h *Auth) OldLink(c *gin.Context) error {
	noReferrer(c)
	page := h.Cookies.Path + account.LinkPath
	if token := c.Query("token"); token != "" {
		page += "#" + url.Values{"token": {token}}.Encode()
	}
	c.Redirect(http.StatusFound, page)
	return nil
}

// ReadLink answers POST /auth/link: what the link is for. It uses nothing.
func (h *Auth) ReadLink(c *gin.Context) error {
	var in api.LinkToken
	if err := readInto(c, &in); err != nil {
		return err
	}
	link, err := h.Accounts.ReadLink(c.Request.Context(), in.Token)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, link)
}
