package controllers

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
)

// Metrics serves the metrics for Prometheus.
type Metrics struct {
	Handler  http.Handler
	Required bool   // a token is needed: without one in Token every request is refused
	Token    string // that a request must send; empty: none
}

// Show answers GET /metrics.
func (h *Metrics) Show(c *gin.Context) error {
	switch {
	case h.Token == "" && h.Required:
		return api.Unauthorized(api.CodeInvalidToken,
			"with REQUIRE_AUTH=true the metrics need a token: set METRICS_TOKEN and send it as Authorization: Bearer")
	case h.Token != "" && !same(c.GetHeader("Authorization"), "Bearer "+h.Token):
		return api.Unauthorized(api.CodeInvalidToken, "the metrics need the value of METRICS_TOKEN as Authorization: Bearer")
	}
	h.Handler.ServeHTTP(c.Writer, c.Request)
	return nil
}

// same compares in a time that does not depend on the texts.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
