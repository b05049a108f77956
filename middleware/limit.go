package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/services"
)

// Limit holds each account to the limit, or to the caller's own: that of the key
// which the guards before have found. Every answer says how the account stands,
// the refusal included; a limit that is off says nothing. Requests with the same
// account are counted together, those with an empty one too.
func (m Chain) Limit(l *services.Limit, account func(*gin.Context) string) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx := c.Request.Context()
		var own int64
		if limits := CallerOf(ctx).Limits; limits != nil {
			own = limits.RPMLimit
		}
		s, err := l.Take(ctx, account(c), own)
		if s.Limit > 0 {
			values := []string{strconv.FormatInt(s.Limit, 10), strconv.FormatInt(s.Remaining, 10), wholeSeconds(s.Reset).String()}
			header := c.Writer.Header() // in the canonical form, which costs nothing to set
			header["X-Ratelimit-Limit-Requests"] = values[0:1:1]
			header["X-Ratelimit-Remaining-Requests"] = values[1:2:2]
			header["X-Ratelimit-Reset-Requests"] = values[2:3:3]
		}
		if err != nil {
			m.fail(c, err)
		}
	}
}

// TokenHeaders says how the caller's tokens stand; nothing where they have no
// limit.
func TokenHeaders(header http.Header, s services.TokenStanding) {
	if s.Limit <= 0 {
		return
	}
	header.Set("X-Ratelimit-Limit-Tokens", strconv.FormatInt(s.Limit, 10))
	header.Set("X-Ratelimit-Remaining-Tokens", strconv.FormatInt(s.Remaining, 10))
	header.Set("X-Ratelimit-Reset-Tokens", wholeSeconds(s.Reset).String())
}

// wholeSeconds rounds up, so that nobody comes back too early. Such durations
// print as OpenAI writes them: 12s, 1m0s.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
