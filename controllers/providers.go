package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/services/operations"
)

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
