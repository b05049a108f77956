package controllers

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
	"modelgateway/services/alert"
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
	query := admin.AuditQuery{
		ActorID: c.Query("actor_id"), Target: c.Query("target"), Action: c.Query("action"), From: c.Query("from"), To: c.Query("to"),
		Q: c.Query("q"),
	}
	as := fileType(c)
	if as == "" {
		return answerAs(c, http.StatusOK, (*admin.AuditPage).Show)(h.Service.Audit(c.Request.Context(), query, page))
	}
	_, limited := c.GetQuery("limit")
	if !limited {
		page.Limit = admin.LongestPage
	}
	return sendFile(c, as, "audit", func(after string) ([]api.AuditEntry, string, error) {
		page.After = cmp.Or(after, page.After)
		found, err := h.Service.Audit(c.Request.Context(), query, page)
		if err != nil || limited {
			return found.Show().Data, "", err
		}
		return found.Show().Data, found.Next, nil
	})
}

// Operations serves the endpoints that show administrators the state of a replica.
type Operations struct {
	Admin     *admin.Service // writes the audit
	Alerts    *alert.Alerts
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

// ListBudgets answers GET /admin/budgets.
func (h *Operations) ListBudgets(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, h.Budget.List())
}

// TryProvider answers POST /admin/providers/try.
func (h *Operations) TryProvider(c *gin.Context) error {
	in, err := readBody[api.NewProviderTrial](c)
	if err != nil {
		return err
	}
	tried, err := h.Providers.TryKey(c.Request.Context(), in)
	if err != nil {
		return err
	}
	detail := map[string]any{"works": tried.Works, "models": tried.Models}
	return answer(c, http.StatusOK)(tried, h.Admin.Record(c.Request.Context(), actor(c), "provider.try", in.Preset, detail))
}

// ListAlerts answers GET /admin/alerts.
func (h *Operations) ListAlerts(c *gin.Context) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	rows, more, err := admin.ReadPage(page, "alerts", func(page models.Page) ([]models.Alert, error) {
		return h.Alerts.Alerts(c.Request.Context(), page)
	})
	return answer(c, http.StatusOK)(api.AlertList{Page: api.ShowPage(rows, more, alert.Show), Ways: h.Alerts.Ways()}, err)
}

// TestAlerts answers POST /admin/alerts/test.
func (h *Operations) TestAlerts(c *gin.Context) error {
	rows, err := h.Alerts.Test(c.Request.Context())
	if err != nil {
		return err
	}
	return answerList(c, alert.Show)(rows, h.Admin.Record(c.Request.Context(), actor(c), "alert.test", "", struct{}{}))
}
