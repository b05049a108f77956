package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

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
