package router

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
)

// noSocket refuses the WebSocket of the Responses API. Codex sends its requests by POST at
// once after this status and the end of the connection; after any other one it first tries
// again for seven seconds (0.169.0, 2026-11).
func noSocket(c *gin.Context) error {
	if !strings.EqualFold(c.GetHeader("Upgrade"), "websocket") {
		return onlyPost(c)
	}
	c.Header("Connection", "close")
	return &api.Error{
		Status: http.StatusUpgradeRequired, Type: api.TypeInvalidRequest, Code: api.CodeNoWebSocket,
		Message: "the gateway has no WebSocket for responses: send the request by POST",
	}
}
