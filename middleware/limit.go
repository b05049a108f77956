package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/services/auth"
	"modelgateway/services/ratelimit"
)

// Limit applies the rate limit to each account, or the limit of the caller's
// own key. Every answer has the rate-limit status in its headers, a refusal
// too; a limit that is off sets none. Requests with the same account are
// counted together.
func (m Chain) Limit(l *ratelimit.Requests, account func(*gin.Context) string) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx := c.Request.Context()
		var own int64
		if limits := RequestOf(c).Caller.Limits; limits != nil {
			own = limits.RPMLimit
		}
		s, err := l.Take(ctx, account(c), own)
		if s.Limit > 0 {
			setLimitHeaders(c.Writer.Header(), s.Limit, s.Remaining, s.Reset)
		}
		if err != nil {
			m.fail(c, err)
		}
	}
}

// LimitNetwork holds the network of an IPv6 client to a rate limit as well: a /48 has
// 65,536 networks of the size that Limit counts.
func (m Chain) LimitNetwork(l *ratelimit.Requests) gin.HandlerFunc {
	return func(c *gin.Context) {
		client := ClientAddress(c)
		network := auth.Network(client)
		if network == client {
			return
		}
		if _, err := l.Take(c.Request.Context(), network, 0); err != nil {
			m.fail(c, err)
		}
	}
}

// setLimitHeaders sets the headers with the status of the limit of requests.
// The three values share one allocation, and the names are in their canonical
// form: net/http's Set would allocate for each of them
// (TestAllocationsOfARequest).
func setLimitHeaders(header http.Header, limit, remaining int64, reset time.Duration) {
	values := []string{strconv.FormatInt(limit, 10), strconv.FormatInt(remaining, 10), WholeSeconds(reset).String()}
	header["X-Ratelimit-Limit-Requests"] = values[0:1:1]
	header["X-Ratelimit-Remaining-Requests"] = values[1:2:2]
	header["X-Ratelimit-Reset-Requests"] = values[2:3:3]
}

// WholeSeconds rounds up, so that clients do not retry too early. Such
// durations print as OpenAI writes them: 12s, 1m0s.
func WholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
