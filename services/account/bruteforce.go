package account

import (
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"modelgateway/models/api"
)

const (
	mostFailures  = 10 // in the window, per e-mail address
	failureWindow = time.Minute
	mostCounted   = 16384 // e-mail addresses
)

// failures counts failed logins per e-mail address, from all clients. It counts
// addresses without an account too, so that it does not reveal which have one.
type failures struct {
	now func() time.Time

	mu     sync.Mutex // add reads and writes
	recent *simplelru.LRU[string, lastFailures]
}

// lastFailures are the times of the last failures, the oldest first.
type lastFailures [mostFailures]time.Time

func newFailures(now func() time.Time) *failures {
	recent, _ := simplelru.NewLRU[string, lastFailures](mostCounted, nil) // fails only for a size of 0 or less
	return &failures{now: now, recent: recent}
}

// check refuses an address with too many failures, also with the right password.
func (f *failures) check(email string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	times, ok := f.recent.Get(email)
	if !ok || times[0].IsZero() {
		return nil
	}
	wait := times[0].Add(failureWindow).Sub(f.now())
	if wait <= 0 {
		return nil
	}
	return tooMany("too many failed logins for this account", wait)
}

func (f *failures) add(email string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	times, _ := f.recent.Get(email)
	copy(times[:], times[1:])
	times[mostFailures-1] = f.now()
	f.recent.Add(email, times)
}

func (f *failures) clear(email string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent.Remove(email)
}

func tooMany(what string, wait time.Duration) error {
	e := &api.Error{
		Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded, RetryAfter: wait,
	}
	e.Message = what + "; try again in " + wholeSeconds(e)
	return e
}
