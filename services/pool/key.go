package pool

import (
	"context"
	"crypto/sha256"
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
	// The circuit breaker ignores the result of a call that began before its window.
	// Calls that take longer than this are therefore recorded as calls of the
	// moment they end; else the circuit of an upstream that takes minutes to fail
	// would never open.
	circuitMemory = circuitWindow - circuitWindow/6
)

// The cooldown of a key whose upstream named no time: it doubles each time.
const (
	firstCooldown   = time.Second
	longestCooldown = 5 * time.Minute
)

// Key is one API key of a pool, with its circuit breaker and its cooldowns.
type Key struct {
	secret  config.Secret
	hash    uint64 // of the secret
	mark    []byte // the secret's Fingerprint
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	culprit *culprit
	opened  atomic.Int64 // Unix nanoseconds of the last opening
	live    atomic.Int64 // running calls
	hour    keyHour      // guarded by the lock of the upstream's window
	recent  *recent
	now     func() time.Time

	hasCooldowns atomic.Bool // false = calls need not lock mu
	mu           sync.Mutex
	// By model, since limits and permissions differ between models; "" is all
	// models. Its size is bounded by the catalogue's.
	cooldowns map[string]cooldown
}

type cooldown struct {
	until   time.Time
	pause   time.Duration // the last one for which the upstream named no time
	refused bool          // by a refusal of the key, not by a rate limit
	reason  string        // for people
}

// Fingerprint identifies a key of a provider among others, without being it.
func Fingerprint(key string) []byte {
	sum := sha256.Sum256([]byte("modelgateway upstream key v1\n" + key))
	return sum[:]
}

func newKey(secret config.Secret, now func() time.Time, recent *recent) *Key {
	k := &Key{
		secret: secret, hash: hashOf(secret.Reveal()), mark: Fingerprint(secret.Reveal()), now: now, culprit: &culprit{now: now},
		cooldowns: map[string]cooldown{}, recent: recent,
	}
	k.circuit = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: 1, Interval: circuitWindow, BucketPeriod: circuitWindow / 6, Timeout: circuitPause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			calls := c.TotalSuccesses + c.TotalFailures // c.Requests includes running calls
			return calls >= circuitCalls && float64(c.TotalFailures) >= circuitShare*float64(calls)
		},
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				k.opened.Store(now().UnixNano())
				k.culprit.opened()
			}
			k.circuitChanged(from, to)
		},
		IsSuccessful: func(err error) bool { return !Failed(err) },
		IsExcluded:   Canceled,
	})
	return k
}

// admit reserves a call with the circuit breaker. The caller reports its result
// exactly once, and decrements live at its end.
//
// The call of a caller that is spared by an open circuit is not reserved: its
// failure only opens the circuit for all.
func (k *Key) admit(caller string) (report func(error), err error) {
	done, err := k.circuit.Allow()
	if err != nil && k.culprit.spares(caller) {
		k.live.Add(1)
		return func(err error) {
			if Failed(err) {
				k.culprit.confirmed()
			}
		}, nil
	}
	if err != nil {
		return nil, err
	}
	k.live.Add(1)
	if k.circuit.State() != gobreaker.StateHalfOpen {
		return done, nil
	}
	// The one call of a half-open circuit may hang for minutes: after circuitPause
	// it is withdrawn, so that another call is allowed. Its result still counts
	// when it comes.
	late := time.AfterFunc(circuitPause, func() { done(context.Canceled) })
	return func(err error) {
		if late.Stop() || !Canceled(err) { // else it was withdrawn already
			done(err)
		}
	}, nil
}

// open says whether the circuit is open for all callers.
func (k *Key) open() bool {
	return k.circuit.State() == gobreaker.StateOpen && k.culprit.refused.Load() == nil
}

// opensFor is the time until the open circuit is half-open, which allows one call.
func (k *Key) opensFor() time.Duration {
	return time.Unix(0, k.opened.Load()).Add(circuitPause).Sub(k.now())
}

// coolingDown says whether the key should not be used for the model now.
func (k *Key) coolingDown(model string) bool {
	if !k.hasCooldowns.Load() {
		return false
	}
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Before(k.cooldowns[""].until) || now.Before(k.cooldowns[model].until)
}

// refused says whether the key cools down for all models because its upstream
// refused it.
func (k *Key) refused() bool {
	if !k.hasCooldowns.Load() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.cooldowns[""]
	return all.refused && k.now().Before(all.until)
}

// record starts a cooldown after a refusal of the key or a rate limit, and ends
// the cooldowns of the model after a success.
func (k *Key) record(model string, err error) {
	if err == nil {
		if k.hasCooldowns.Load() {
			k.reset(model)
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
	k.coolDown(model, r)
}

func (k *Key) coolDown(model string, refusal *providers.Refusal) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.cooldowns[model]
	before := c
	switch {
	case refusal.RetryAfter > 0:
		c.until = now.Add(refusal.RetryAfter)
	case now.Before(c.until): // a concurrent call failed for the same reason
		return
	default:
		c.pause = min(max(2*c.pause, firstCooldown), longestCooldown)
		c.until = now.Add(c.pause)
	}
	c.refused, c.reason = refusal.KeyRefused(), reasonOf(refusal)
	k.cooldowns[model] = c
	k.hasCooldowns.Store(true)
	if !now.Before(before.until) || before.refused != c.refused { // else it goes on
		k.cooled(model, &c)
	}
}

// reset ends the cooldowns of the model and of all models.
func (k *Key) reset(model string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ofModel := k.cooldowns[model]
	_, ofAll := k.cooldowns[""]
	delete(k.cooldowns, model)
	delete(k.cooldowns, "")
	k.hasCooldowns.Store(len(k.cooldowns) > 0)
	switch {
	case ofAll:
		k.happened(Event{Kind: KeyRestored, Detail: "a call succeeded"})
	case ofModel:
		k.happened(Event{Kind: KeyRestored, Model: model, Detail: "a call succeeded"})
	}
}
