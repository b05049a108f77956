package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/services/admin"
	"modelgateway/services/operations"
)

// Admin serves the endpoints of administrators, and those of managers, whose scope is their team.
type Admin struct {
	Service *admin.Service
}

// Audit answers GET /admin/audit.
func (h *Admin) Audit(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	return answerAs(c, http.StatusOK, (*admin.AuditPage).Show)(h.Service.Audit(c.Request.Context(), admin.AuditQuery{
		ActorID: c.Query("actor_id"), Target: c.Query("target"), Action: c.Query("action"), From: c.Query("from"), To: c.Query("to"),
		Q: c.Query("q"),
	}, page))
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
	return answer(c, http.StatusOK)(h.Budget.Show(c.Request.Context()))
}
