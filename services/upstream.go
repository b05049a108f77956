package services

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"modelgateway/models/api"
	"modelgateway/providers"
)

// When a circuit opens, and for how long.
const (
	circuitWindow = time.Minute
	circuitCalls  = 20  // fewer say nothing
	circuitShare  = 0.5 // of them failed
	circuitPause  = 10 * time.Second
)

// Upstream is a configured provider with what its traffic says of its health.
type Upstream struct {
	name     string
	provider providers.Provider
	circuit  *gobreaker.TwoStepCircuitBreaker[any]
	traffic  *window
	now      func() time.Time
	opened   atomic.Int64 // Unix nanoseconds of the last opening
}

// NewUpstream watches over a provider.
func NewUpstream(name string, provider providers.Provider, now func() time.Time) *Upstream {
	u := &Upstream{name: name, provider: provider, now: now, traffic: newWindow(circuitWindow, now)}
	u.circuit = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name: name, MaxRequests: 1, Interval: circuitWindow, BucketPeriod: circuitWindow / 6, Timeout: circuitPause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= circuitCalls && float64(c.TotalFailures) >= circuitShare*float64(c.Requests)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				u.opened.Store(now().UnixNano())
			}
		},
		IsSuccessful: func(err error) bool { return !failed(err) },
		IsExcluded:   func(err error) bool { return gone(err) },
	})
	return u
}

// admit asks the circuit. The caller reports how the call went, exactly once;
// for a stream that is when its first event has come.
func (u *Upstream) admit() (report func(error), err error) {
	done, err := u.circuit.Allow()
	if err != nil {
		return nil, &api.Error{
			Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: u.name,
			Message:    u.name + " has failed too often and is given a rest",
			RetryAfter: max(time.Unix(0, u.opened.Load()).Add(circuitPause).Sub(u.now()), time.Second),
		}
	}
	return func(err error) {
		done(err)
		if !gone(err) {
			u.traffic.add(failed(err))
		}
	}, nil
}

// brokeOff books a stream that failed after it had begun.
func (u *Upstream) brokeOff(err error) {
	if failed(err) {
		u.traffic.fail()
	}
}

// Status is the provider's health as its recent traffic has it.
func (u *Upstream) Status() string {
	if u.circuit.State() == gobreaker.StateOpen {
		return Unhealthy
	}
	if calls, failures := u.traffic.sum(); failures*10 > calls {
		return Degraded
	}
	return Healthy
}

// failed says whether an error speaks against the provider, rather than
// against the request or for a limit.
func failed(err error) bool {
	if err == nil || gone(err) {
		return false
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.CodeProviderError || e.Status < http.StatusInternalServerError {
		return false
	}
	return e.UpstreamStatus < 200 || e.UpstreamStatus >= 300 // else a whole answer was of no use: that is the request's own trouble
}

// gone says whether a call ended because nobody waits for it any more.
func gone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
