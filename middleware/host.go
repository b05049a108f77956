package middleware

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
)

// Hosts refuses requests to another host than a local one or one of those that are allowed, in
// lower case; nil allows all. Where no credential is needed, a page of another site could have
// its own name lead to the gateway (DNS rebinding): for the browser the two are one site then,
// and no header but Host tells such a request from others. Health checks come by any name.
func (m Chain) Hosts(allowed []string) gin.HandlerFunc {
	return func(c *gin.Context) {
		name := hostname(c.Request.Host)
		if allowed == nil || isLocal(name) || slices.Contains(allowed, name) || isHealth(c.FullPath()) {
			return
		}
		m.fail(c, api.Forbidden(api.CodeHostNotAllowed, "",
			"without REQUIRE_AUTH the gateway does not answer to the host "+api.Quoted(FromClient(name))+
				": an operator of the gateway can add it to ALLOWED_HOSTS"))
	}
}

// hostname is a Host header without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// isLocal says whether no site of the internet can have a name: it is an address, or a name of
// this machine or of its network.
func isLocal(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return true
	}
	for _, domain := range []string{".localhost", ".local", ".internal"} {
		if strings.HasSuffix(name, domain) {
			return true
		}
	}
	return false
}

// isHealth says whether a route only tells whether the gateway works.
func isHealth(route string) bool {
	return route == "/health" || route == "/livez" || route == "/readyz"
}
