package controllers

import (
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/services/account"
	"modelgateway/services/admin"
)

// Invite answers POST /admin/invitations.
func (h *Admin) Invite(c *gin.Context) error { return invite(c, h.Service, actor(c)) }

func invite(c *gin.Context, service *admin.Service, by admin.Actor) error {
	var in api.NewInvitation
	if err := readOptional(c, &in); err != nil {
		return err
	}
	link, err := service.Invite(c.Request.Context(), by, in)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, admin.ShowCreatedInvitation(link))
}

// Invitations answers GET /admin/invitations.
func (h *Admin) Invitations(c *gin.Context) error { return listInvitations(c, h.Service, actor(c)) }

func listInvitations(c *gin.Context, service *admin.Service, by admin.Actor) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	tokens, more, err := service.Invitations(c.Request.Context(), by, page)
	if err != nil {
		return err
	}
	list := api.InvitationList{Object: api.ObjectList, Data: make([]api.Invitation, len(tokens)), HasMore: more}
	for i := range tokens {
		list.Data[i] = admin.ShowInvitation(&tokens[i])
	}
	return writeJSON(c, http.StatusOK, list)
}

// DeleteInvitation answers DELETE /admin/invitations/{invitation_id}.
func (h *Admin) DeleteInvitation(c *gin.Context) error {
	return deleteInvitation(c, h.Service, actor(c), c.Param("id"))
}

func deleteInvitation(c *gin.Context, service *admin.Service, by admin.Actor, id string) error {
	if err := service.DeleteInvitation(c.Request.Context(), by, id); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.Deleted{ID: id, Object: "invitation", Deleted: true})
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
