// Package inflight bounds the calls that run at the same time, and the bytes
// of their bodies.
package inflight

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"modelgateway/models/api"
	"modelgateway/services/auth"
	"modelgateway/services/metrics"
)

// Slots bound what runs at the same time: calls of each caller, calls in all,
// and the bytes of their bodies. What is over the bound is refused at once; what
// was let in is not disturbed.
type Slots struct {
	most      int
	mostEach  int
	mostBytes int64
	mu        sync.Mutex
	live      int
	bytes     int64
	callers   map[auth.Caller]int // by who they are; only those with calls
}

// New bounds calls to most in all and mostEach of one caller, and their
// bodies to mostBytes.
func New(most, mostEach int, mostBytes int64) *Slots {
	return &Slots{most: most, mostEach: mostEach, mostBytes: mostBytes, callers: map[auth.Caller]int{}}
}

// Slot is one call's place. It is given back with Free.
type Slot struct {
	slots *Slots
	who   auth.Caller
	bytes int64
}

// busyWait is when a caller should come back: most calls take seconds.
const busyWait = time.Second

// Take gives the caller a place, which must be freed whatever happens: by defer.
func (s *Slots) Take(caller auth.Caller) (Slot, error) {
	who := caller.Identity()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.live >= s.most:
		return Slot{}, busy()
	case s.callers[who] >= s.mostEach:
		return Slot{}, &api.Error{
			Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded, RetryAfter: busyWait, Limit: metrics.LimitParallel,
			Message: "you have " + strconv.Itoa(s.mostEach) + " calls running, which is the most; please try again in 1s",
		}
	}
	s.live++
	s.callers[who]++
	return Slot{slots: s, who: who}, nil
}

func busy() *api.Error {
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeServiceUnavailable, RetryAfter: busyWait,
		Message: "the gateway has as much to do as it can; please try again in 1s",
	}
}

// Hold adds bytes of a body to what the call holds, until Free. It fails, with
// nothing added, when all calls together would hold too much. A nil slot has no
// bound.
func (s *Slot) Hold(bytes int64) error {
	if s == nil {
		return nil
	}
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	if s.slots.bytes+bytes > s.slots.mostBytes {
		return busy()
	}
	s.slots.bytes += bytes
	s.bytes += bytes
	return nil
}

// Free gives the place back.
func (s *Slot) Free() {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	s.slots.live--
	s.slots.bytes -= s.bytes
	if s.slots.callers[s.who]--; s.slots.callers[s.who] == 0 {
		delete(s.slots.callers, s.who)
	}
}

// Live is how many calls run now, and how many bytes of bodies they hold.
func (s *Slots) Live() (calls int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, s.bytes
}
