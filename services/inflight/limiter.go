// Package inflight limits the calls that run at the same time, and the bytes of
// their bodies.
package inflight

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"modelgateway/api"
	"modelgateway/services/auth"
	"modelgateway/services/metrics"
)

// Limiter is a concurrency limiter in this process: it limits the calls of each
// caller, all calls together, and the bytes of their bodies. What is over a limit
// is refused at once and does not wait.
type Limiter struct {
	maxCalls  int
	maxEach   int
	maxBytes  int64
	mu        sync.Mutex
	calls     int
	bytes     int64
	perCaller map[auth.Identity]int // calls by identity; only of callers with calls
}

// New limits calls to maxCalls in all and maxEach of one caller, and their bodies
// to maxBytes.
func New(maxCalls, maxEach int, maxBytes int64) *Limiter {
	return &Limiter{maxCalls: maxCalls, maxEach: maxEach, maxBytes: maxBytes, perCaller: map[auth.Identity]int{}}
}

// Slot is the place of one call. Its owner must call Release.
type Slot struct {
	limiter *Limiter
	caller  auth.Identity
	bytes   int64
}

// Acquire takes a slot for a call of a caller. The caller of Acquire defers
// Release, so that a panic does not lose the slot.
func (l *Limiter) Acquire(of auth.Caller) (Slot, error) {
	caller := of.Identity()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.calls >= l.maxCalls:
		return Slot{}, errBusy()
	case l.perCaller[caller] >= l.maxEach:
		return Slot{}, &api.Error{
			Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded,
			RetryAfter: api.BusyRetryAfter, Limit: metrics.LimitParallel,
			Message: fmt.Sprintf("the limit of %d calls at the same time of one caller is reached: try again in %ds",
				l.maxEach, api.BusyRetryAfter/time.Second),
		}
	}
	l.calls++
	l.perCaller[caller]++
	return Slot{limiter: l, caller: caller}, nil
}

func errBusy() *api.Error {
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeServiceUnavailable, RetryAfter: api.BusyRetryAfter,
		Message: fmt.Sprintf("the gateway is at its capacity: try again in %ds", api.BusyRetryAfter/time.Second),
	}
}

func errTooLarge(limit int64) *api.Error {
	return &api.Error{
		Status: http.StatusRequestEntityTooLarge, Type: api.TypeInvalidRequest, Code: api.CodeRequestTooLarge,
		Message: fmt.Sprintf("the request has too many messages, parts or members: it would take more than %d KiB of memory", limit>>10),
	}
}

// Reserve adds bytes to those of the call, until Release: of its body, and of what
// that becomes in memory. It fails, and adds nothing, when the calls together would
// be over the limit, for good when one call alone would be. A nil slot has no limit.
func (s *Slot) Reserve(bytes int64) error {
	if s == nil {
		return nil
	}
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	if s.bytes+bytes > s.limiter.maxBytes {
		return errTooLarge(s.limiter.maxBytes)
	}
	if s.limiter.bytes+bytes > s.limiter.maxBytes {
		return errBusy()
	}
	s.limiter.bytes += bytes
	s.bytes += bytes
	return nil
}

// Release frees the slot and the bytes that it reserved.
func (s *Slot) Release() {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.limiter.calls--
	s.limiter.bytes -= s.bytes
	if s.limiter.perCaller[s.caller]--; s.limiter.perCaller[s.caller] == 0 {
		delete(s.limiter.perCaller, s.caller)
	}
}

// InUse returns how many calls run now, and how many bytes of bodies they have
// reserved.
func (l *Limiter) InUse() (calls int, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls, l.bytes
}
