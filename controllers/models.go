package controllers

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/services/registry"
)

// Models serves GET /v1/models.
type Models struct {
	Service *registry.Models
}

// List answers with the whole catalogue.
func (h *Models) List(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, h.Service.List())
}

// Get answers with one model, whose id is the rest of the path.
func (h *Models) Get(c *gin.Context) error {
	model, err := h.Service.Get(strings.TrimPrefix(c.Param("id"), "/"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, model)
}
