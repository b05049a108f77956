package controllers

import (
	"net/http"
	"slices"
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
		if !AcceptsHTML(c.Request.Header) {
			return other(c)
		}
		return h.document(c, http.StatusOK)
	}
}

// Missing answers a request for a path that does not exist: with a page of the console for a
// browser, outside of the API, and with other for all other clients.
func (h *Console) Missing(other middleware.Handler) middleware.Handler {
	return func(c *gin.Context) error {
		if !isRead(c.Request.Method) || ofPrograms(c.Request.URL.Path) || !AcceptsHTML(c.Request.Header) {
			return other(c)
		}
		c.Header("Vary", "Accept")
		c.Header("X-Should-Retry", "false")
		return h.document(c, http.StatusNotFound)
	}
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// ofPrograms says whether a path would be one of the API or of a file of the console, which
// programs ask for.
func ofPrograms(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"v1", "auth", "admin", "console"}, first)
}

// document answers with the document in which the console shows its pages.
func (h *Console) document(c *gin.Context, status int) error {
	return writeFile(c, status, web.ConsolePolicy, h.Files.File(web.ConsoleDocument))
}

// File answers GET /console/{path} and returns missing's answer where there is no such file.
func (h *Console) File(missing middleware.Handler) middleware.Handler {
	return func(c *gin.Context) error {
		file := h.Files.File(strings.TrimPrefix(c.Param("file"), "/"))
		if file == nil {
			return missing(c)
		}
		return writeFile(c, http.StatusOK, web.ConsolePolicy, file)
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

// AcceptsHTML says whether a client names HTML among what it accepts, as browsers do.
func AcceptsHTML(header http.Header) bool {
	for _, line := range header["Accept"] {
		for kind := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(name), "text/html") && strings.ReplaceAll(params, " ", "") != "q=0" {
				return true
			}
		}
	}
	return false
}

// guardPage says what a page may load, and keeps pages of other origins from its window, from
// its answers and from the devices of its reader.
func guardPage(c *gin.Context, policy string) {
	noReferrer(c)
	c.Header("Content-Security-Policy", policy)
	c.Header("Cross-Origin-Opener-Policy", "same-origin")
	c.Header("Cross-Origin-Resource-Policy", "same-origin")
	c.Header("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// isKnown tells whether a client has what an entity tag stands for.
func isKnown(c *gin.Context, tag string) bool {
	return strings.TrimPrefix(c.GetHeader("If-None-Match"), "W/") == tag // a proxy that compresses makes it weak
}

// writeFile sends a file with a Content-Security-Policy, or 304 to a browser that has it. It is
// asked for again each time, since a new version of the gateway has other files under the same
// names.
func writeFile(c *gin.Context, status int, policy string, file *web.File) error {
	guardPage(c, policy)
	header := c.Writer.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Etag", file.ETag)
	header.Add("Vary", "Accept-Encoding")
	if status == http.StatusOK && isKnown(c, file.ETag) {
		c.Status(http.StatusNotModified)
		return nil
	}
	if file.Gzip != nil && strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		c.Data(status, file.Type, file.Gzip)
		return nil
	}
	text, err := file.Text()
	if err != nil {
		return err
	}
	c.Data(status, file.Type, text)
	return nil
}
