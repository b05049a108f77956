package controllers

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/admin"
	"modelgateway/services/operations"
)

// Admin serves the endpoints of administrators.
type Admin struct {
	Service *admin.Service
}

// Audit answers GET /admin/audit.
func (h *Admin) Audit(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	found, err := h.Service.Audit(c.Request.Context(), admin.AuditQuery{
		ActorID: c.Query("actor_id"), Target: c.Query("target"), Action: c.Query("action"), From: c.Query("from"), To: c.Query("to"),
		Q: c.Query("q"),
	}, page)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, found.Show())
}

// actor is the administrator and the address of the request, in full, for the
// audit.
func actor(c *gin.Context) admin.Actor {
	return admin.Actor{UserID: user(c), RequestID: middleware.RequestID(c), Address: c.ClientIP()}
}

// readPage is the part of a list that a query asks for.
func readPage(c *gin.Context) (models.Page, error) {
	page := models.Page{After: c.Query("after"), Limit: admin.UsualPage}
	text, named := c.GetQuery("limit")
	if !named {
		return page, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return page, api.Invalid(api.CodeInvalidValue, "limit", "limit must be a whole number")
	}
	page.Limit = limit
	return page, nil
}

// Operations serves the endpoints that show administrators the state of a replica.
type Operations struct {
	Providers *operations.Providers
	Settings  *operations.Settings
	Budget    *operations.Budget
}

// ListProviders answers GET /admin/providers.
func (h *Operations) ListProviders(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, h.Providers.List())
}

// ShowSettings answers GET /admin/settings.
func (h *Operations) ShowSettings(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, h.Settings.Show(c.Request.Context()))
}

// ShowBudget answers GET /admin/budget.
func (h *Operations) ShowBudget(c *gin.Context) error {
	shown, err := h.Budget.Show(c.Request.Context())
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, shown)
}
