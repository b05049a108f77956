package middleware

import (
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/services"
)

// Limit holds each account to the limit. Every answer says how the account
// stands, the refusal included; a limit that is off says nothing. Requests with
// the same account are counted together, those with an empty one too.
func (m Chain) Limit(l *services.Limit, account func(*gin.Context) string) gin.HandlerFunc {
	return func(c *gin.Context) {
		quota, err := l.Take(c.Request.Context(), account(c))
		if quota.Limit > 0 {
			header := c.Writer.Header()
			header.Set("X-Ratelimit-Limit-Requests", strconv.FormatInt(quota.Limit, 10))
			header.Set("X-Ratelimit-Remaining-Requests", strconv.FormatInt(quota.Remaining, 10))
			header.Set("X-Ratelimit-Reset-Requests", wholeSeconds(quota.Reset).String())
		}
		if err != nil {
			m.fail(c, err)
		}
	}
}

// wholeSeconds rounds up, so that nobody comes back too early. Such durations
// print as OpenAI writes them: 12s, 1m0s.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
