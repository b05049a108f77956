package controllers

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/web"
)

// Docs serves the API's description from the binary.
type Docs struct {
	OpenAPI         string // YAML
	Page            func() (*web.File, error)
	CSS, JavaScript string // that the page loads
}

// docsPolicy lets the page load its own files. It has no inline script or style.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Document answers GET /openapi.yaml. A browser gets it as plain text, which it shows; it would save YAML as a file.
func (h *Docs) Document(c *gin.Context) error {
	kind := "application/yaml; charset=utf-8"
	if strings.Contains(c.GetHeader("Accept"), "text/html") {
		kind = "text/plain; charset=utf-8"
	}
	c.Writer.Header().Add("Vary", "Accept")
	c.DataFromReader(http.StatusOK, int64(len(h.OpenAPI)), kind, strings.NewReader(h.OpenAPI), nil)
	return nil
}

// Show answers GET /docs.
func (h *Docs) Show(c *gin.Context) error {
	page, err := h.Page()
	if err != nil {
		return err
	}
	return writeFile(c, http.StatusOK, docsPolicy, page)
}

// Style answers GET /docs/page.css.
func (h *Docs) Style(c *gin.Context) error { return serveText(c, "text/css", h.CSS) }

// Script answers GET /docs/page.js.
func (h *Docs) Script(c *gin.Context) error { return serveText(c, "text/javascript", h.JavaScript) }

// Guide answers GET /docs/:name with a guide or a file that guides load; others are unknown routes.
func (h *Docs) Guide(unknown middleware.Handler) middleware.Handler {
	return func(c *gin.Context) error {
		file := web.Guide(c.Param("name"))
		if file == nil {
			return unknown(c)
		}
		return writeFile(c, http.StatusOK, web.GuidePolicy, file)
	}
}

// serveText sends a text of the binary. A browser keeps it, and asks each time whether it is
// still the same.
func serveText(c *gin.Context, kind, text string) error {
	sum := sha256.Sum256([]byte(text))
	c.Header("Content-Type", kind+"; charset=utf-8")
	c.Header("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	c.Header("Cache-Control", "no-cache")
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, strings.NewReader(text))
	return nil
}
