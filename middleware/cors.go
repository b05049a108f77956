package middleware

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/gin-gonic/gin"
)

const (
	corsMethods = "GET, HEAD, POST, DELETE, PATCH, OPTIONS"
	corsHeaders = "Authorization, Content-Type, X-API-Key, X-Request-Id, X-Gateway-Strict-Params, X-Gateway-Fallback, " +
		"Anthropic-Version, Anthropic-Beta, Anthropic-Dangerous-Direct-Browser-Access"
	// All headers of answers beside those that pages may read anyway.
	corsExposed = "X-Request-Id, X-Upstream-Request-Id, X-Gateway-Provider, X-Gateway-Ignored-Params, X-Gateway-Fallback, " +
		"X-Gateway-Model-Alias, X-Gateway-Model-Redirected, X-Gateway-Token-Count, X-Gateway-Decoded-Tokens, " +
		"X-RateLimit-Limit-Requests, X-RateLimit-Remaining-Requests, X-RateLimit-Reset-Requests, " +
		"X-RateLimit-Limit-Tokens, X-RateLimit-Remaining-Tokens, X-RateLimit-Reset-Tokens, OpenAI-Processing-Ms, Retry-After, " +
		"OpenAI-Model, OpenAI-Version, X-Codex-Turn-State, X-Models-ETag, " +
		"X-Should-Retry, Allow, WWW-Authenticate, Request-Id, Anthropic-RateLimit-Requests-Limit, " +
		"Anthropic-RateLimit-Requests-Remaining, Anthropic-RateLimit-Requests-Reset"
)

// headerNames is a list of names of headers.
var headerNames = regexp.MustCompile(`^[A-Za-z0-9-]+(, ?[A-Za-z0-9-]+)*$`)

// CORS lets pages of the named origins call the gateway; "*" names all origins.
// Without an origin CORS is off. Cookies are never allowed: credentials travel
// in headers that a page has to set itself.
func (m Chain) CORS(origins []string) gin.HandlerFunc {
	return func(c *gin.Context) {
		origin := c.GetHeader("Origin")
		if origin == "" || len(origins) == 0 {
			return
		}
		header := c.Writer.Header()
		header.Add("Vary", "Origin")
		if !slices.Contains(origins, origin) && !slices.Contains(origins, "*") {
			return
		}
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", corsExposed)
		if c.Request.Method != http.MethodOptions || c.GetHeader("Access-Control-Request-Method") == "" {
			return
		}
		header.Set("Access-Control-Allow-Methods", corsMethods)
		header.Set("Access-Control-Allow-Headers", corsHeaders)
		if asked := c.GetHeader("Access-Control-Request-Headers"); headerNames.MatchString(asked) {
			header.Set("Access-Control-Allow-Headers", asked) // SDKs send more of their own with every release
		}
		header.Set("Access-Control-Max-Age", "600")
		c.AbortWithStatus(http.StatusNoContent)
	}
}
