package ratelimit

import (
	"fmt"
	"net/http"
	"time"

	"modelgateway/models/api"
	"modelgateway/services/metrics"
)

// admission is a call that waits for the decision whether it may run. Without
// take it only has the account's entry written.
type admission struct {
	take               bool
	calls, limit, need int64 // the account's concurrent calls and tokens a minute, and the tokens of this call

	verdict int64 // one of the quotaXxx; this and the rest is the decision
	left    int64 // tokens that are not reserved
	minute  int64
	reset   time.Duration
}

// The verdicts, with the numbers of the script.
const (
	quotaTaken  = 0
	quotaTokens = 1
	quotaCalls  = 2
)

func (k *admission) quota(q *Quotas, a *quotaAccount) *Quota {
	quota := &Quota{quotas: q, account: a, minute: k.minute, reserved: k.need, running: k.verdict == quotaTaken}
	if k.limit > 0 {
		quota.status = TokenStatus{Limit: k.limit, Remaining: k.left, Reset: k.reset}
	}
	return quota
}

func (k *admission) refusal(tokens int64) error {
	err := &api.Error{Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded}
	switch k.verdict {
	case quotaTaken:
		return nil
	case quotaCalls:
		err.Limit = metrics.LimitParallel
		err.RetryAfter = api.BusyRetryAfter
		err.Message = fmt.Sprintf("the limit of %d calls at the same time of this key is reached: try again in %ds",
			k.calls, api.BusyRetryAfter/time.Second)
		return err
	}
	err.Limit = metrics.LimitTokens
	err.RetryAfter = max((k.reset + time.Second - 1).Truncate(time.Second), time.Second)
	wait := err.RetryAfter / time.Second
	if tokens > k.limit {
		err.Message = fmt.Sprintf(
			"the limit is %d tokens a minute and this call may need %d: it can only run in a minute in which nothing else is counted; "+
				"try again in %ds",
			k.limit, tokens, wait,
		)
		return err
	}
	err.Message = fmt.Sprintf("the limit of %d tokens a minute is reached: this call may need %d, %d are left; try again in %ds",
		k.limit, tokens, k.left, wait)
	return err
}
