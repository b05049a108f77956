// Package pool holds the keys that each provider is called with: which one is
// used next, which has to wait, and how the provider's traffic goes.
package pool

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"modelgateway/config"
	"modelgateway/providers"
	"modelgateway/services/tracing"
)

// The states of an upstream, and of other parts that are watched.
const (
	Healthy   = "healthy"
	Degraded  = "degraded"
	Unhealthy = "unhealthy"
)

// trafficWindow is how far back a provider's health and its retries are looked
// at.
const trafficWindow = time.Minute

// Upstream is a configured provider with the keys of its pool, and what its
// traffic says of their health.
type Upstream struct {
	Name     string
	provider providers.Provider
	keys     []*Key
	turn     atomic.Uint32 // of keys that are equally loaded
	traffic  *window
	now      func() time.Time
}

// NewUpstream watches over a provider. It needs one key at least.
func NewUpstream(name string, provider providers.Provider, keys []config.Secret, now func() time.Time) *Upstream {
	u := &Upstream{Name: name, provider: provider, now: now, traffic: newWindow(trafficWindow, now)}
	for _, k := range keys {
		u.keys = append(u.keys, newUpstreamKey(k, now))
	}
	return u
}

// Prepare translates a request for the provider.
func (u *Upstream) Prepare(call providers.Call) (providers.Exchange, error) {
	return u.provider.Prepare(call)
}

// Size is how many keys the pool has.
func (u *Upstream) Size() int { return len(u.keys) }

// Circuits is the state of each key's circuit: closed, half-open or open.
func (u *Upstream) Circuits() []string {
	states := make([]string, len(u.keys))
	for i, k := range u.keys {
		states[i] = k.circuit.State().String()
	}
	return states
}

// Live is how many calls of the upstream run now.
func (u *Upstream) Live() (calls int64) {
	for _, k := range u.keys {
		calls += k.live.Load()
	}
	return calls
}

// Retries is how many of the latest calls are counted as retries.
func (u *Upstream) Retries() int { return u.traffic.retried() }

// Lease is a key that is being used for one call.
type Lease struct {
	from     *Upstream
	Key      *Key
	model    string
	Repeated bool // the upstream was called for this request before
	Trace    *tracing.Attempt
	began    time.Time     // by the circuit's clock
	Took     time.Duration // until the call was answered
	report   func(error)
	ended    bool
}

// Secret is the key itself.
func (l *Lease) Secret() string { return l.Key.secret.Reveal() }

// ErrAllCoolingDown says that every key rests: nobody was asked, and asking could do.
var ErrAllCoolingDown = errors.New("every key rests")

// Lease takes the least loaded of the keys that neither rest for the model nor
// have an open circuit; but not avoid, while another will do. Where all rest it
// fails with ErrAllCoolingDown, unless anyway is set: then rests count for nothing.
func (u *Upstream) Lease(model string, avoid *Key, anyway bool) (*Lease, error) {
	resting := false
	start := int(u.turn.Add(1))
	var few [4]*Key // most pools need no more
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
		slices.SortStableFunc(awake, func(a, b *Key) int {
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
			return &Lease{from: u, Key: k, model: model, began: time.Now(), report: report}, nil
		}
	}
	if resting {
		return nil, ErrAllCoolingDown
	}
	return nil, u.broken()
}

// broken is the error of a provider whose circuits are all open.
func (u *Upstream) broken() *providers.Refusal {
	wait := circuitPause
	for _, k := range u.keys {
		wait = min(wait, k.closesIn())
	}
	return &providers.Refusal{
		Provider: u.Name, Told: http.StatusServiceUnavailable, Public: u.Name + " has failed too often and is given a rest",
		RetryAfter: max(wait, time.Second),
	}
}

// Answered books how the call went: for a stream that is when its first event
// has come.
func (l *Lease) Answered(err error) {
	report := l.report
	if time.Since(l.began) >= circuitMemory {
		if now, refused := l.Key.circuit.Allow(); refused == nil {
			report = now
		}
	}
	if l.Repeated && Failed(err) { // one request opens no circuit, however often it is sent
		report(context.Canceled)
	} else {
		report(err)
	}
	l.Key.learn(l.model, err)
	if !Canceled(err) {
		l.from.traffic.add(Failed(err))
	}
}

// End gives the key back. It may be called twice.
func (l *Lease) End() {
	if !l.ended {
		l.ended = true
		l.Trace.End()
		l.Key.live.Add(-1)
	}
}

// StreamFailed books a stream that failed after it had begun.
func (l *Lease) StreamFailed(err error) {
	l.Trace.Failed(err)
	if Failed(err) {
		l.from.traffic.fail()
	}
}

// Retry takes one from the retry budget, where there is one left.
func (u *Upstream) Retry() bool { return u.traffic.retry() }

// Other says whether another key than this could be asked for the model.
func (u *Upstream) Other(than *Key, model string) bool {
	return slices.ContainsFunc(u.keys, func(k *Key) bool { return k != than && !k.rests(model) && !k.open() })
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

// Failed says whether an error speaks against the provider, rather than
// against the request or for a limit.
func Failed(err error) bool {
	if err == nil || Canceled(err) {
		return false
	}
	r, ok := errors.AsType[*providers.Refusal](err)
	if !ok || r.ClientError().Status < http.StatusInternalServerError {
		return false
	}
	if r.Status == http.StatusForbidden {
		return false // for one model, by a provider that is well
	}
	return r.Status < 200 || r.Status >= 300 // else a whole answer was of no use: that is the request's own trouble
}

// Canceled says whether a call ended because nobody waits for it any more. That a
// connection timed out is a context.DeadlineExceeded to package net as well.
func Canceled(err error) bool {
	_, refused := errors.AsType[*providers.Refusal](err)
	return !refused && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
