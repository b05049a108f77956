// Package pool manages the API keys of each provider: it chooses the key of each
// call, cools keys down after refusals and rate limits, opens circuits, and keeps
// the retry budget and the health of each provider.
package pool

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"modelgateway/config"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
	"modelgateway/services/tracing"
)

// The states of an upstream, and of other parts in the health report.
const (
	Healthy   = "healthy"
	Degraded  = "degraded"
	Unhealthy = "unhealthy"
)

// trafficWindow is the period that a provider's health and retry budget are
// computed from.
const trafficWindow = time.Minute

// Upstream is a configured provider with its keys and the counts of its recent
// calls.
type Upstream struct {
	Name       string
	OTelName   string           // in the semantic conventions of OpenTelemetry; empty: Name
	Images     providers.Images // bounds of the tokens of pictures
	FirstToken time.Duration    // timeout of a stream's first event; 0 = that of all providers
	Vendor     bool             // its address is that of the vendor whose API it is
	Type       string           // the provider whose API it speaks

	provider providers.Provider
	can      providers.Abilities // of the provider
	keys     []*Key
	turn     atomic.Uint32 // round robin among equally loaded keys
	traffic  *window
	recent   *recent
	now      func() time.Time
}

// NewUpstream makes the pool of a provider, which has at least one key.
func NewUpstream(name string, provider providers.Provider, keys []config.Secret, now func() time.Time) *Upstream {
	u := &Upstream{
		Name: name, provider: provider, can: provider.Abilities(), now: now, traffic: newWindow(trafficWindow, now), recent: &recent{},
	}
	for _, k := range keys {
		u.keys = append(u.keys, newKey(k, now, u.recent))
	}
	return u
}

// Renewed is the pool of the same provider with other keys: those that it has already
// keep their circuits and cooldowns, and the counts of recent calls go on. Running calls
// end with the keys that they have.
func (u *Upstream) Renewed(keys []config.Secret) *Upstream {
	next := &Upstream{
		Name: u.Name, OTelName: u.OTelName, Images: u.Images, FirstToken: u.FirstToken, Vendor: u.Vendor, Type: u.Type,
		provider: u.provider, can: u.can, traffic: u.traffic, recent: u.recent, now: u.now,
	}
	for _, secret := range keys {
		at := slices.IndexFunc(u.keys, func(k *Key) bool { return k.secret.Reveal() == secret.Reveal() })
		if at >= 0 {
			next.keys = append(next.keys, u.keys[at])
		} else {
			next.keys = append(next.keys, newKey(secret, u.now, u.recent))
		}
	}
	return next
}

// Has reports whether the pool has exactly these keys, in this order.
func (u *Upstream) Has(keys []config.Secret) bool {
	return slices.EqualFunc(u.keys, keys, func(k *Key, secret config.Secret) bool { return k.secret.Reveal() == secret.Reveal() })
}

// Prepare translates a request for the provider.
func (u *Upstream) Prepare(call providers.Call) (providers.Exchange, error) {
	return providers.Prepare(u.provider, call)
}

// Size is the number of keys.
func (u *Upstream) Size() int { return len(u.keys) }

// Lease is the use of a key for one call.
type Lease struct {
	from     *Upstream
	Key      *Key
	model    string
	caller   string
	Repeated bool // the upstream has been called for this request before
	Stream   bool // the answer is a stream
	Trace    *tracing.Attempt
	Call     upstream.Call // the context of the call
	Sent     time.Time     // when the request was sent, for the record
	began    time.Time     // by the circuit breaker's clock, which tests cannot set
	Took     time.Duration // until the first event or the whole answer came; set before Answered
	report   func(error)
	ended    bool
}

// Secret is the key itself.
func (l *Lease) Secret() string { return l.Key.secret.Reveal() }

// ErrAllCoolingDown says that every usable key is cooling down, and that a call
// that ignores the cooldown could succeed.
var ErrAllCoolingDown = errors.New("every key is cooling down")

// ErrNoKey says that the pool has no key that the call can be made with.
var ErrNoKey = errors.New("the pool has no such key")

// Wish is what a key is leased for.
type Wish struct {
	Model          string
	Caller         string // identifies the caller of the request; empty = unknown
	Session        string // the conversation: the first attempt of each of its requests gets the same key; empty = unknown
	First          []byte // the Fingerprint of the key that the first attempt gets, before Session; nil = none
	Avoid          *Key   // taken only if there is no other
	Only           []byte // the Fingerprint of the one key that can be taken; nil = any
	Never          []*Key // are not taken
	IgnoreCooldown bool
}

// Lease takes the least loaded of the keys that are not cooling down for the model
// and whose circuit is not open. For the first attempt of a request it takes the key that its
// conversation belongs to: the caches of a provider, and what it has signed or encrypted, may
// be known to one account only. If all are cooling down it fails with ErrAllCoolingDown,
// unless the cooldown is ignored, and with ErrNoKey if the pool has no key that can be taken.
func (u *Upstream) Lease(w Wish) (*Lease, error) {
	coolingDown, possible := false, false
	start := int(u.turn.Add(1))
	usable := make([]*Key, 0, len(u.keys))
	for i := range u.keys {
		k := u.keys[(start+i)%len(u.keys)]
		if w.excludes(k) {
			continue
		}
		possible = true
		if !w.IgnoreCooldown && k.coolingDown(w.Model) {
			coolingDown = true
			continue
		}
		usable = append(usable, k)
	}
	switch {
	case len(usable) < 2:
	case w.Session != "" && w.Avoid == nil:
		sortBySession(usable, w.Session)
	default:
		slices.SortStableFunc(usable, func(a, b *Key) int {
			switch w.Avoid {
			case a:
				return 1
			case b:
				return -1
			default:
				return int(a.live.Load() - b.live.Load())
			}
		})
	}
	if first := slices.IndexFunc(usable, func(k *Key) bool { return bytes.Equal(k.mark, w.First) }); first > 0 && w.Avoid == nil {
		usable[0], usable[first] = usable[first], usable[0]
	}
	for _, k := range usable {
		if report, err := k.admit(w.Caller); err == nil {
			return &Lease{from: u, Key: k, model: w.Model, caller: w.Caller, began: time.Now(), report: report}, nil
		}
	}
	switch {
	case coolingDown:
		return nil, ErrAllCoolingDown
	case !possible:
		return nil, ErrNoKey
	}
	return nil, u.allOpen()
}

// excludes says whether a key cannot be taken.
func (w *Wish) excludes(k *Key) bool {
	return w.Only != nil && !bytes.Equal(w.Only, k.mark) || len(w.Never) > 0 && slices.Contains(w.Never, k)
}

// allOpen is the error of a provider whose circuits are all open.
func (u *Upstream) allOpen() *providers.Refusal {
	wait := circuitPause
	for _, k := range u.keys {
		wait = min(wait, k.opensFor())
	}
	return &providers.Refusal{
		Provider: u.Name, Told: http.StatusServiceUnavailable, Public: u.Name + " has failed too often, and requests to it are paused",
		RetryAfter: max(wait, time.Second),
	}
}

// Answered records the result of the call: for a stream, when its first event has
// come.
func (l *Lease) Answered(err error) {
	report := l.report
	if time.Since(l.began) >= circuitMemory {
		if now, refused := l.Key.circuit.Allow(); refused == nil {
			report = now
		}
	}
	if !l.Repeated && Failed(err) {
		l.Key.culprit.failed(provoker(err, l.caller))
	}
	if l.Repeated && Failed(err) { // the retries of one request count once for the circuit
		report(context.Canceled)
	} else {
		report(err)
	}
	l.Key.record(l.model, err)
	if !Canceled(err) {
		l.from.traffic.add(l.result(err))
	}
}

func (l *Lease) result(err error) ended {
	e := ended{failed: Failed(err), key: &l.Key.hour}
	e.refused = err != nil && !e.failed
	if err == nil && l.Stream {
		e.first = l.Took
	}
	return e
}

// End releases the key. It may be called twice.
func (l *Lease) End() {
	if !l.ended {
		l.ended = true
		l.Trace.End()
		l.Key.live.Add(-1)
	}
}

// StreamFailed records that a stream failed after its first event.
func (l *Lease) StreamFailed(err error) {
	l.Trace.Failed(err)
	if Failed(err) {
		l.from.traffic.fail()
	}
}

// Retry takes one retry from the retry budget, and says whether there was one.
func (u *Upstream) Retry() bool { return u.traffic.retry() }

// someCalls say that an upstream is down if all of them have failed; fewer may be those of one request.
const someCalls = 3

// OnlyFails says whether all calls of the last minute have failed, and some of them were not of
// the request that has made ofOne.
func (u *Upstream) OnlyFails(ofOne int) bool {
	calls, failures := u.traffic.sum()
	return calls-ofOne >= someCalls && failures == calls
}

// Pauses says whether another upstream is called rather than this one, of which all calls have
// failed, the last one a short time ago.
func (u *Upstream) Pauses() bool {
	return u.OnlyFails(1) && u.now().Sub(u.traffic.lastFailure()) < circuitPause
}

// Other says whether a key other than this one is usable for the model.
func (u *Upstream) Other(than *Key, model string) bool {
	return slices.ContainsFunc(u.keys, func(k *Key) bool { return k != than && !k.coolingDown(model) && !k.open() })
}

// Status is the provider's health by its recent calls: unhealthy if the circuits of
// all its keys are open; degraded if a circuit is open, a key is refused or more
// than a tenth of the calls failed.
func (u *Upstream) Status() string {
	open, refused := 0, false
	for _, k := range u.keys {
		if k.open() {
			open++
		}
		refused = refused || k.refused()
	}
	calls, failures := u.traffic.sum()
	switch {
	case open == len(u.keys):
		return Unhealthy
	case open > 0 || refused || failures*10 > calls:
		return Degraded
	default:
		return Healthy
	}
}

// Failed says whether an error is a failure of the provider, and not of the request,
// a rate limit or a client that left.
func Failed(err error) bool {
	if err == nil || Canceled(err) {
		return false
	}
	r, ok := errors.AsType[*providers.Refusal](err)
	if !ok || r.ClientError().Status < http.StatusInternalServerError {
		return false
	}
	if r.Status == http.StatusForbidden {
		return false // the key may not use one model; the provider works
	}
	// An unusable answer with a success status depends on the request.
	return r.Status < 200 || r.Status >= 300
}

// Canceled says whether a call ended because its context did. A Refusal never
// counts: package net reports connection timeouts as context.DeadlineExceeded too.
func Canceled(err error) bool {
	_, refused := errors.AsType[*providers.Refusal](err)
	return !refused && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
