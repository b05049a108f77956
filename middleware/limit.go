package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/services/ratelimit"
)

// Limit holds each account to the limit, or to the caller's own: that of the key
// which the guards before have found. Every answer says how the account stands,
// the refusal included; a limit that is off says nothing. Requests with the same
// account are counted together, those with an empty one too.
func (m Chain) Limit(l *ratelimit.Requests, account func(*gin.Context) string) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx := c.Request.Context()
		var own int64
		if limits := CallerOf(ctx).Limits; limits != nil {
			own = limits.RPMLimit
		}
		s, err := l.Take(ctx, account(c), own)
		if s.Limit > 0 {
			requestHeaders.set(c.Writer.Header(), s.Limit, s.Remaining, s.Reset)
		}
		if err != nil {
			m.fail(c, err)
		}
	}
}

// TokenHeaders says how the caller's tokens stand; nothing where they have no
// limit.
func TokenHeaders(header http.Header, s ratelimit.TokenStanding) {
	if s.Limit <= 0 {
		return
	}
	tokenHeaders.set(header, s.Limit, s.Remaining, s.Reset)
}

// limitHeaders are the names in which a limit says how an account stands, in
// their canonical form, which costs nothing to set.
type limitHeaders struct{ limit, remaining, reset string }

var (
	requestHeaders = limitHeaders{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"}
	tokenHeaders   = limitHeaders{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"}
)

func (names *limitHeaders) set(header http.Header, limit, remaining int64, reset time.Duration) {
	values := []string{strconv.FormatInt(limit, 10), strconv.FormatInt(remaining, 10), wholeSeconds(reset).String()}
	header[names.limit], header[names.remaining], header[names.reset] = values[0:1:1], values[1:2:2], values[2:3:3]
}

// wholeSeconds rounds up, so that nobody comes back too early. Such durations
// print as OpenAI writes them: 12s, 1m0s.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
