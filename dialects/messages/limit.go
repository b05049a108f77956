package messages

import (
	"net/http"
	"strconv"
	"time"
)

// SetLimit adds the limit of requests under Anthropic's names, with the time rounded up to
// a second, so that no client comes back too early.
func (Dialect) SetLimit(h http.Header, limit, remaining int64, whole time.Time) {
	h["Anthropic-Ratelimit-Requests-Limit"] = []string{strconv.FormatInt(limit, 10)}
	h["Anthropic-Ratelimit-Requests-Remaining"] = []string{strconv.FormatInt(remaining, 10)}
	up := whole.Add(time.Second - 1).Truncate(time.Second)
	h["Anthropic-Ratelimit-Requests-Reset"] = []string{up.UTC().Format(time.RFC3339)}
}
