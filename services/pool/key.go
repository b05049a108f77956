package pool

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"modelgateway/config"
	"modelgateway/providers"
)

// When a circuit opens, and for how long.
const (
	circuitWindow = time.Minute
	circuitCalls  = 10  // fewer say nothing
	circuitShare  = 0.6 // of them failed
	circuitPause  = 10 * time.Second
	// What began longer ago the circuit has no room for: it is reported as a call
	// of the moment it ends, or an upstream that takes minutes to fail would
	// never be given a rest.
	circuitMemory = circuitWindow - circuitWindow/6
)

// How long a key rests that was refused without a word of when to come back:
// twice as long each time.
const (
	firstRest   = time.Second
	longestRest = 5 * time.Minute
)

// Key is one key of a pool, with its circuit and its rests.
type Key struct {
	secret  config.Secret
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	opened  atomic.Int64 // Unix nanoseconds of the last opening
	live    atomic.Int64 // calls now
	now     func() time.Time

	any atomic.Bool // there may be rests
	mu  sync.Mutex
	// By model: limits and permissions differ between models. With no model it
	// is for all. Models are the catalogue's, so that it stays small.
	resting map[string]rest
}

type rest struct {
	until time.Time
	pause time.Duration // the last, of those that nobody asked for
	fault bool          // it was refused, not limited
}

func newUpstreamKey(secret config.Secret, now func() time.Time) *Key {
	k := &Key{secret: secret, now: now, resting: map[string]rest{}}
	k.circuit = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: 1, Interval: circuitWindow, BucketPeriod: circuitWindow / 6, Timeout: circuitPause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			calls := c.TotalSuccesses + c.TotalFailures // c.Requests has those that still run
			return calls >= circuitCalls && float64(c.TotalFailures) >= circuitShare*float64(calls)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				k.opened.Store(now().UnixNano())
			}
		},
		IsSuccessful: func(err error) bool { return !Failed(err) },
		IsExcluded:   Canceled,
	})
	return k
}

// admit asks the circuit. The caller reports how the call went, exactly once,
// and takes one from live at its end.
func (k *Key) admit() (report func(error), err error) {
	done, err := k.circuit.Allow()
	if err != nil {
		return nil, err
	}
	k.live.Add(1)
	if k.circuit.State() != gobreaker.StateHalfOpen {
		return done, nil
	}
	// The one that tries may hang for minutes: after a while another may try as
	// well. To the circuit the first then counts as one that was never made,
	// until it reports.
	late := time.AfterFunc(circuitPause, func() { done(context.Canceled) })
	return func(err error) {
		if late.Stop() || !Canceled(err) { // else it has been taken back already
			done(err)
		}
	}, nil
}

func (k *Key) open() bool { return k.circuit.State() == gobreaker.StateOpen }

// closesIn is when the circuit lets one call try again.
func (k *Key) closesIn() time.Duration {
	return time.Unix(0, k.opened.Load()).Add(circuitPause).Sub(k.now())
}

// rests says whether the key should not be used for the model now.
func (k *Key) rests(model string) bool {
	if !k.any.Load() {
		return false
	}
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Before(k.resting[""].until) || now.Before(k.resting[model].until)
}

// refused says whether the key rests because its upstream does not take it, for
// any model.
func (k *Key) refused() bool {
	if !k.any.Load() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.resting[""]
	return all.fault && k.now().Before(all.until)
}

// learn lets the key rest after an answer that says so, and ends the rests
// after a good one.
func (k *Key) learn(model string, err error) {
	if err == nil {
		if k.any.Load() {
			k.wake(model)
		}
		return
	}
	r, ok := errors.AsType[*providers.Refusal](err)
	if !ok || !r.KeyRefused() && r.Status != http.StatusTooManyRequests {
		return
	}
	if r.KeyRefused() && r.Status != http.StatusForbidden || r.Spent {
		model = ""
	}
	k.rest(model, r)
}

func (k *Key) rest(model string, refusal *providers.Refusal) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.resting[model]
	switch {
	case refusal.RetryAfter > 0:
		r.until = now.Add(refusal.RetryAfter)
	case now.Before(r.until): // calls that were under way say it once more
		return
	default:
		r.pause = min(max(2*r.pause, firstRest), longestRest)
		r.until = now.Add(r.pause)
	}
	r.fault = refusal.KeyRefused()
	k.resting[model] = r
	k.any.Store(true)
}

func (k *Key) wake(model string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.resting, model)
	delete(k.resting, "")
	k.any.Store(len(k.resting) > 0)
}
