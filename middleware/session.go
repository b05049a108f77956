package middleware

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
)

// SessionCookie is the name of the console's cookie, whose value is a JWT.
const SessionCookie = "mgw_session"

// Session takes the credential of a request from the console's cookie where no header has
// one. A page of another origin must not use it: the cookie is not sent with its requests
// (SameSite=Strict), and those that have it all the same are refused.
func (m Chain) Session() gin.HandlerFunc {
	var origin http.CrossOriginProtection
	return func(c *gin.Context) {
		header := c.Request.Header
		if len(header["Cookie"]) == 0 || len(header["Authorization"]) > 0 || len(header["X-Api-Key"]) > 0 || !opens(c.Request.URL.Path) {
			return
		}
		cookie, err := c.Request.Cookie(SessionCookie)
		if err != nil || cookie.Value == "" {
			return
		}
		if err := origin.Check(c.Request); err != nil || foreignSite(header) {
			m.fail(c, api.Forbidden(api.CodeCrossOrigin, "",
				"the cookie of the console is accepted from its own pages only: send a token or a key in a header; "+
					"behind a proxy, pass the header Host on unchanged"))
			return
		}
		header["Authorization"] = []string{"Bearer " + cookie.Value}
		RequestOf(c).Cookie = true
	}
}

// Cookies make the console's cookie.
type Cookies struct {
	Secure bool   // the gateway is reached by https
	Path   string // of the gateway, where a proxy serves it below one; empty: /
	Now    func() time.Time

	Proxies []netip.Prefix // that are believed when they say that the browser uses https
}

// Set gives the browser a token, until the token ends.
func (s Cookies) Set(c *gin.Context, token string, ends time.Time) {
	s.send(c, token, max(int(ends.Sub(s.Now())/time.Second), 1))
}

// Remove takes the cookie from the browser.
func (s Cookies) Remove(c *gin.Context) { s.send(c, "", -1) }

func (s Cookies) send(c *gin.Context, token string, seconds int) {
	http.SetCookie(c.Writer, &http.Cookie{
		Name: SessionCookie, Value: token, Path: s.Path + "/", MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.Secure || s.byTLS(c.Request),
	})
}

// byTLS says whether a trusted proxy in front speaks https with the browser.
func (s Cookies) byTLS(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	by := from.Addr().Unmap()
	if err != nil || !slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(by.WithZone("")) }) {
		return false
	}
	scheme, _, _ := strings.Cut(first(r.Header, "X-Forwarded-Proto"), ",")
	return strings.EqualFold(strings.TrimSpace(scheme), "https")
}

// foreignSite says whether a browser names another site as the sender, which the check of
// origins allows for requests that change nothing.
func foreignSite(header http.Header) bool {
	site := first(header, "Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// opens says whether a cookie opens a path. A login needs none: an identity provider on the same site as the
// gateway sends browsers to the callback with the cookie, from another origin.
func opens(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/admin/") ||
		strings.HasPrefix(path, "/auth/") && path != "/auth/idp/callback"
}
