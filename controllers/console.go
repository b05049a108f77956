package controllers

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/web"
)

// Console serves the pages of the console and their files from the binary.
type Console struct {
	Files   *web.Files
	Version string
}

// Page answers GET on the address of a page for a browser, and with other for other clients.
func (h *Console) Page(other middleware.Handler) middleware.Handler {
	return func(c *gin.Context) error {
		c.Header("Vary", "Accept")
		if !acceptsHTML(c.Request.Header.Values("Accept")) {
			return other(c)
		}
		c.Header("Content-Security-Policy", web.ConsolePolicy)
		noReferrer(c)
		return writeFile(c, h.Files.File(web.ConsoleDocument))
	}
}

// File answers GET /console/{path} and returns missing's answer where there is no such file.
func (h *Console) File(missing middleware.Handler) middleware.Handler {
	return func(c *gin.Context) error {
		file := h.Files.File(strings.TrimPrefix(c.Param("file"), "/"))
		if file == nil {
			return missing(c)
		}
		c.Header("Content-Security-Policy", web.ConsolePolicy)
		noReferrer(c)
		return writeFile(c, file)
	}
}

// root is the answer of GET / for clients that are no browsers.
type root struct {
	Object  string `json:"object"` // gateway
	Name    string `json:"name"`
	Version string `json:"version"`
	Links   links  `json:"links"`
}

type links struct {
	API     string `json:"api"`
	Docs    string `json:"docs"`
	OpenAPI string `json:"openapi"`
	Health  string `json:"health"`
}

// Root answers GET / with links.
func (h *Console) Root(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, root{
		Object: "gateway", Name: "Model Gateway", Version: h.Version,
		Links: links{API: "/v1", Docs: "/docs", OpenAPI: "/openapi.yaml", Health: "/health"},
	})
}

// acceptsHTML says whether a client names HTML among what it accepts, as browsers do.
func acceptsHTML(accept []string) bool {
	for _, line := range accept {
		for kind := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(name), "text/html") && strings.ReplaceAll(params, " ", "") != "q=0" {
				return true
			}
		}
	}
	return false
}

// writeFile sends a file, or 304 to a browser that has it. It is asked for again each time,
// since a new version of the gateway has other files under the same names.
func writeFile(c *gin.Context, file *web.File) error {
	header := c.Writer.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Etag", file.ETag)
	header.Add("Vary", "Accept-Encoding")
	if strings.TrimPrefix(c.GetHeader("If-None-Match"), "W/") == file.ETag { // a proxy that compresses makes it weak
		c.Status(http.StatusNotModified)
		return nil
	}
	if file.Gzip != nil && strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		c.Data(http.StatusOK, file.Type, file.Gzip)
		return nil
	}
	text, err := file.Text()
	if err != nil {
		return err
	}
	c.Data(http.StatusOK, file.Type, text)
	return nil
}
