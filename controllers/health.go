package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/models/api"
	"modelgateway/services/health"
	"modelgateway/services/pool"
)

// Health serves what load balancers and people ask.
type Health struct {
	Service *health.Service
}

// Report answers GET /health: 503 only when no request can be served.
func (h *Health) Report(c *gin.Context) error {
	c.Header("Cache-Control", "no-store")
	report, status := h.Service.Report(), http.StatusOK
	if report.Status == pool.Unhealthy {
		status = http.StatusServiceUnavailable
	}
	return writeJSON(c, status, report)
}

// Live answers GET /livez: the process runs.
func (h *Health) Live(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, map[string]string{"status": "ok"})
}

// Ready answers GET /readyz: new requests are welcome.
func (h *Health) Ready(c *gin.Context) error {
	c.Header("Cache-Control", "no-store")
	if !h.Service.Ready() {
		return &api.Error{
			Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeServiceUnavailable,
			Message: "the gateway is starting, stopping or without its database",
		}
	}
	return writeJSON(c, http.StatusOK, map[string]string{"status": "ok"})
}
