package controllers

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/services/health"
	"modelgateway/services/pool"
)

// Health serves the health report and the probes.
type Health struct {
	Service *health.Service
}

// Report answers GET /health: 503 only when no request can be served.
func (h *Health) Report(c *gin.Context) error {
	report, status := h.Service.Report(c.Request.Context()), http.StatusOK
	if report.Status == pool.Unhealthy {
		status = http.StatusServiceUnavailable
	}
	return writeJSON(c, status, report)
}

// Live answers GET /livez: the process is running.
func (h *Health) Live(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, map[string]string{"status": "ok"})
}

// Ready answers GET /readyz: 200 while the gateway accepts new requests.
func (h *Health) Ready(c *gin.Context) error {
	if !h.Service.Ready() {
		return &api.Error{
			Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeServiceUnavailable,
			Message: "the gateway is starting, stopping or cannot reach its database",
		}
	}
	return writeJSON(c, http.StatusOK, map[string]string{"status": "ok"})
}

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
