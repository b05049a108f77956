package ratelimit

import (
	"fmt"
	"net/http"
	"time"

	"modelgateway/api"
	"modelgateway/services/metrics"
)

// The verdicts, with the numbers of the script.
const (
	quotaTaken  = 0
	quotaTokens = 1
	quotaCalls  = 2
)

// status is that of the limit that refuses the call, or else of the one with the least
// left.
func (k *Quota) status() TokenStatus {
	var tightest *quotaShare
	for i := range k.shares {
		if s := &k.shares[i]; s.limit > 0 && (tightest == nil || s.left < tightest.left) {
			tightest = s
		}
	}
	if k.verdict == quotaTokens {
		tightest = &k.shares[k.by]
	}
	if tightest == nil {
		return TokenStatus{}
	}
	return TokenStatus{Limit: tightest.limit, Remaining: tightest.left, Reset: k.reset}
}

func (k *Quota) refusal(tokens int64) error {
	if k.verdict == quotaTaken {
		return nil
	}
	s := &k.shares[k.by]
	err := &api.Error{Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded}
	if k.verdict == quotaCalls {
		err.Limit = metrics.LimitParallel
		err.RetryAfter = api.BusyRetryAfter
		err.Message = fmt.Sprintf("the limit of %d calls at the same time of %s is reached: try again in %ds",
			s.calls, s.level, api.BusyRetryAfter/time.Second)
		return err
	}
	err.Limit = metrics.LimitTokens
	err.RetryAfter = max((k.reset + time.Second - 1).Truncate(time.Second), time.Second)
	wait := err.RetryAfter / time.Second
	if tokens > s.limit {
		err.Message = fmt.Sprintf(
			"the limit of %s is %d tokens a minute and this call may need %d: it can only run in a minute in which nothing else is counted; "+
				"try again in %ds",
			s.level, s.limit, tokens, wait,
		)
		return err
	}
	err.Message = fmt.Sprintf("the limit of %d tokens a minute of %s is reached: this call may need %d, %d are left; try again in %ds",
		s.limit, s.level, tokens, s.left, wait)
	return err
}
