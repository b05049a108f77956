package account

import (
	"net/http"
	"sync"
	"time"

	"modelgateway/models/api"
	"modelgateway/services/expiring"
)

const (
	mostFailures  = 10 // of one account's logins
	failureWindow = time.Minute
	mostGuessed   = 16384 // accounts that are counted at once
)

// failures counts failed logins per e-mail address, from wherever they come
// and whether or not somebody has the address, so that it tells nobody which.
type failures struct {
	now func() time.Time

	mu     sync.Mutex
	recent expiring.Map[[mostFailures]time.Time] // the last ones, oldest first
}

func newFailures(now func() time.Time) *failures {
	return &failures{now: now, recent: expiring.New[[mostFailures]time.Time](mostGuessed)}
}

// check refuses an address that has failed too often, however good the next
// password may be.
func (f *failures) check(email string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	times, ok := f.recent.Get(email, now)
	if !ok || times[0].IsZero() {
		return nil
	}
	wait := times[0].Add(failureWindow).Sub(now)
	if wait <= 0 {
		return nil
	}
	return tooMany("too many failed logins for this account", wait)
}

func (f *failures) add(email string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	times, _ := f.recent.Get(email, now)
	copy(times[:], times[1:])
	times[mostFailures-1] = now
	f.recent.Put(email, times, now.Add(failureWindow), now)
}

func (f *failures) clear(email string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent.Delete(email)
}

func tooMany(what string, wait time.Duration) error {
	e := &api.Error{
		Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded, RetryAfter: wait,
	}
	e.Message = what + "; try again in " + wholeSeconds(e)
	return e
}
