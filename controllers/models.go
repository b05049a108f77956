package controllers

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/registry"
)

// Models serves GET /v1/models.
type Models struct {
	Service func() *registry.Models
}

// List answers with the whole catalogue, or with available=true what the caller can
// use.
func (h *Models) List(c *gin.Context) error {
	available, err := onlyAvailable(c)
	if err != nil {
		return err
	}
	models := h.Service()
	c.Header("x-gateway-prices-date", models.FactsDate())
	list := models.List(registry.Query{Refused: refused(c), Available: available})
	if c.Request.URL.Query().Has("client_version") {
		// Codex reads its own form of models there, and uses its own list where there is none.
		list.Models = []api.Model{}
	}
	return writeJSON(c, http.StatusOK, list)
}

// Get answers with one model, whose id is the rest of the path.
func (h *Models) Get(c *gin.Context) error {
	model, err := h.Service().Get(strings.TrimPrefix(c.Param("id"), "/"), registry.Query{Refused: refused(c)})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, model)
}

// refused says which models the caller may not use.
func refused(c *gin.Context) func(names ...string) bool {
	levels := middleware.RequestOf(c).Caller.Levels
	return func(names ...string) bool { return levels.Refusing(names...) != nil }
}

func onlyAvailable(c *gin.Context) (bool, error) {
	switch c.Query("available") {
	case "":
		return false, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, api.Invalid(api.CodeInvalidValue, "available", "available must be true or false")
}
