package middleware

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/models"
)

// Refusals reports the calls of a route that the gateway itself refuses, once they are answered: those
// of known keys only. Calls that were admitted, and those that a provider refuses, are in the ledger.
func (m Chain) Refusals(c *gin.Context) {
	c.Next()
	r, status := RequestOf(c), c.Writer.Status()
	if m.Refused == nil || r.Caller.KeyID == "" || r.Call != nil || r.message == "" || status >= http.StatusInternalServerError {
		return
	}
	m.Refused(models.Refusal{
		At: m.Now().UnixMicro(), RequestID: RequestID(c), KeyID: r.Caller.KeyID, UserID: r.Caller.UserID, TeamID: r.Caller.TeamID,
		Status: status, Reason: r.code, Model: r.Model, Message: r.message,
	})
}
