package controllers

import (
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
