package middleware

import (
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"
)

// Forwarded removes the ports from X-Forwarded-For, as Azure's gateways write it
// (203.0.113.7:4711), since Gin takes addresses only. Without it such a client would
// have the address of the proxy.
func Forwarded(c *gin.Context) {
	lines := c.Request.Header["X-Forwarded-For"]
	if len(lines) == 0 {
		return
	}
	items := strings.Split(strings.Join(lines, ","), ",")
	for i, item := range items {
		item = strings.TrimSpace(item)
		if at, err := netip.ParseAddrPort(item); err == nil {
			item = at.Addr().String()
		} else if inner, ok := strings.CutPrefix(item, "["); ok {
			item = strings.TrimSuffix(inner, "]")
		}
		items[i] = item
	}
	c.Request.Header["X-Forwarded-For"] = []string{strings.Join(items, ", ")}
}

// NoStore keeps an answer out of all caches. Authorization keeps it out of shared
// ones only, and X-API-Key out of none (RFC 9111, 3.5).
func NoStore(c *gin.Context) { c.Writer.Header()["Cache-Control"] = noStore }

// noStore is shared by all answers and never changed.
var noStore = []string{"no-store"}
