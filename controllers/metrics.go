package controllers

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/models/api"
)

// Metrics serves what Prometheus collects.
type Metrics struct {
	Handler http.Handler
	Token   string // that a collector has to show; empty = anybody may look
}

// Show answers GET /metrics.
func (h *Metrics) Show(c *gin.Context) error {
	const invite = "the metrics are shown to who sends METRICS_TOKEN as Authorization: Bearer"
	if h.Token != "" && !same(c.GetHeader("Authorization"), "Bearer "+h.Token) {
		return api.Unauthorized(api.CodeInvalidToken, invite)
	}
	h.Handler.ServeHTTP(c.Writer, c.Request)
	return nil
}

// same compares in a time that tells nothing.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
