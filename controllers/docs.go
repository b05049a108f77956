package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// Docs serves the API's description from the binary.
type Docs struct {
	OpenAPI []byte                 // YAML
	Page    func() ([]byte, error) // HTML
}

// Document answers GET /openapi.yaml.
func (h *Docs) Document(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml; charset=utf-8", h.OpenAPI)
	return nil
}

// Show answers GET /docs.
func (h *Docs) Show(c *gin.Context) error {
	page, err := h.Page()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
	c.Data(http.StatusOK, "text/html; charset=utf-8", page)
	return nil
}
