package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/services/auth"
	"modelgateway/services/ratelimit"
)

// Limit applies the rate limits of the caller's levels, or the gateway's to each
// account. Every answer has the status of the tightest in its headers, a refusal
// too; a limit that is off sets none. Requests with the same account are
// counted together.
func (m Chain) Limit(l *ratelimit.Requests, account func(*gin.Context) string) gin.HandlerFunc {
	return func(c *gin.Context) {
		s, err := l.Take(c.Request.Context(), account(c), RequestOf(c).Caller.Levels)
		if s.Limit > 0 {
			setLimitHeaders(c.Writer.Header(), s.Limit, s.Remaining, s.Reset)
			if set := m.Dialect(c).SetLimit; set != nil {
				set(c.Writer.Header(), s.Limit, s.Remaining, m.Now().Add(s.Reset))
			}
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
		if _, err := l.Take(c.Request.Context(), network, nil); err != nil {
			m.fail(c, err)
		}
	}
}

// setLimitHeaders sets the headers with the status of the limit of requests. Their
// names are in the canonical form: net/http's Set would allocate for each of them.
func setLimitHeaders(header http.Header, limit, remaining int64, reset time.Duration) {
	values := LimitStatus(limit, remaining, reset)
	header["X-Ratelimit-Limit-Requests"] = values[0:1:1]
	header["X-Ratelimit-Remaining-Requests"] = values[1:2:2]
	header["X-Ratelimit-Reset-Requests"] = values[2:3:3]
}

// LimitStatus are the texts of a limit, of what remains of it, and of the time until it is
// whole again. Every call has them in its headers: they take two allocations together, not
// one each (TestAllocationsOfARequest).
func LimitStatus(limit, remaining int64, reset time.Duration) []string {
	var room [64]byte
	text := strconv.AppendInt(room[:0], limit, 10)
	first := len(text)
	text = strconv.AppendInt(text, remaining, 10)
	second := len(text)
	all := string(append(text, WholeSeconds(reset).String()...))
	return []string{all[:first], all[first:second], all[second:]}
}

// WholeSeconds rounds up, so that clients do not retry too early. Such
// durations print as OpenAI writes them: 12s, 1m0s.
func WholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
