package services

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"modelgateway/config"
	"modelgateway/models/api"
	"modelgateway/providers"
	"modelgateway/services/tracing"
)

// trafficWindow is how far back a provider's health and its retries are looked
// at.
const trafficWindow = time.Minute

// Upstream is a configured provider with the keys of its pool, and what its
// traffic says of their health.
type Upstream struct {
	name     string
	provider providers.Provider
	keys     []*upstreamKey
	turn     atomic.Uint32 // of keys that are equally loaded
	traffic  *window
	now      func() time.Time
}

// NewUpstream watches over a provider. It needs one key at least.
func NewUpstream(name string, provider providers.Provider, keys []config.Secret, now func() time.Time) *Upstream {
	u := &Upstream{name: name, provider: provider, now: now, traffic: newWindow(trafficWindow, now)}
	for _, k := range keys {
		u.keys = append(u.keys, newUpstreamKey(k, now))
	}
	return u
}

// Key is one of the pool's, for questions that are not a client's.
func (u *Upstream) Key() string { return u.keys[0].secret.Reveal() }

// lease is a key that is being used for one call.
type lease struct {
	from   *Upstream
	key    *upstreamKey
	model  string
	again  bool          // for a request that this provider has been asked for before
	began  time.Time     // by the circuit's clock
	took   time.Duration // until it was answered
	report func(error)
	trace  *tracing.Attempt
	ended  bool
}

// errAllRest says that every key rests: nobody was asked, and asking could do.
var errAllRest = errors.New("every key rests")

// lease takes the least loaded of the keys that neither rest for the model nor
// have an open circuit; but not avoid, while another will do. Where all rest it
// fails with errAllRest, unless anyway is set: then rests count for nothing.
func (u *Upstream) lease(model string, avoid *upstreamKey, anyway bool) (*lease, error) {
	resting := false
	start := int(u.turn.Add(1))
	var few [4]*upstreamKey // most pools need no more
	awake := few[:0]
	for i := range u.keys {
		k := u.keys[(start+i)%len(u.keys)]
		if !anyway && k.rests(model) {
			resting = true
			continue
		}
		awake = append(awake, k)
	}
	if len(awake) > 1 {
		slices.SortStableFunc(awake, func(a, b *upstreamKey) int {
			switch avoid {
			case a:
				return 1
			case b:
				return -1
			default:
				return int(a.live.Load() - b.live.Load())
			}
		})
	}
	for _, k := range awake {
		if report, err := k.admit(); err == nil {
			return &lease{from: u, key: k, model: model, began: time.Now(), report: report}, nil
		}
	}
	if resting {
		return nil, errAllRest
	}
	return nil, u.broken()
}

// broken is the error of a provider whose circuits are all open.
func (u *Upstream) broken() *api.Error {
	wait := circuitPause
	for _, k := range u.keys {
		wait = min(wait, k.closesIn())
	}
	return &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: u.name,
		Message:    u.name + " has failed too often and is given a rest",
		RetryAfter: max(wait, time.Second),
	}
}

// answered books how the call went: for a stream that is when its first event
// has come.
func (l *lease) answered(err error) {
	report := l.report
	if time.Since(l.began) >= circuitMemory {
		if now, refused := l.key.circuit.Allow(); refused == nil {
			report = now
		}
	}
	if l.again && failed(err) { // one request opens no circuit, however often it is sent
		report(context.Canceled)
	} else {
		report(err)
	}
	l.key.learn(l.model, err)
	if !gone(err) {
		l.from.traffic.add(failed(err))
	}
}

// end gives the key back. It may be called twice.
func (l *lease) end() {
	if !l.ended {
		l.ended = true
		l.trace.End()
		l.key.live.Add(-1)
	}
}

// brokeOff books a stream that failed after it had begun.
func (l *lease) brokeOff(err error) {
	l.trace.Failed(err)
	if failed(err) {
		l.from.traffic.fail()
	}
}

// retry takes one from the retry budget, where there is one left.
func (u *Upstream) retry() bool { return u.traffic.retry() }

// other says whether another key than this could be asked for the model.
func (u *Upstream) other(than *upstreamKey, model string) bool {
	return slices.ContainsFunc(u.keys, func(k *upstreamKey) bool { return k != than && !k.rests(model) && !k.open() })
}

// Status is the provider's health as its recent traffic has it: unhealthy when
// the circuits of all its keys are open.
func (u *Upstream) Status() string {
	open, weak := 0, false
	for _, k := range u.keys {
		if k.open() {
			open++
		}
		weak = weak || k.refused()
	}
	calls, failures := u.traffic.sum()
	switch {
	case open == len(u.keys):
		return Unhealthy
	case open > 0 || weak || failures*10 > calls:
		return Degraded
	default:
		return Healthy
	}
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
	if e.KeyRefused && e.UpstreamStatus == http.StatusForbidden {
		return false // for one model, by a provider that is well
	}
	return e.UpstreamStatus < 200 || e.UpstreamStatus >= 300 // else a whole answer was of no use: that is the request's own trouble
}

// gone says whether a call ended because nobody waits for it any more. That a
// connection timed out is a context.DeadlineExceeded to package net as well.
func gone(err error) bool {
	return !api.IsProviderError(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
