package controllers

import (
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/admin"
)

// Invite answers POST /admin/invitations, and that of a team.
func (h *Admin) Invite(c *gin.Context) error {
	in, err := readOptional[api.NewInvitation](c)
	if err != nil {
		return err
	}
	return answerAs(c, http.StatusCreated, admin.ShowCreatedInvitation)(h.Service.Invite(c.Request.Context(), actor(c), in))
}

// Invitations answers GET /admin/invitations, and that of a team.
func (h *Admin) Invitations(c *gin.Context) error {
	return answerPages(c, "invitations", admin.ShowInvitation, func(i *api.Invitation) string { return i.ID },
		func(page models.Page) ([]models.Invitation, bool, error) {
			return h.Service.Invitations(c.Request.Context(), actor(c), page)
		})
}

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
	in, err := readLenient[api.LinkToken](c)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK)(h.Accounts.ReadLink(c.Request.Context(), in.Token))
}
