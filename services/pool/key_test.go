package pool

import (
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/providers"
)

func keyWithClock() (*Key, *clock) {
	c := &clock{november}
	return newKey(poolOf("k")[0], c.now, &recent{}), c
}

// remaining is how long the key still cools down for the model.
func remaining(k *Key, c *clock, model string) time.Duration {
	began := c.at
	defer func() { c.at = began }()
	for _, step := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		for k.coolingDown(model) {
			c.at = c.at.Add(step)
		}
		if !c.at.Equal(began) {
			c.at = c.at.Add(-step)
		}
	}
	if c.at.Equal(began) && !k.coolingDown(model) {
		return 0
	}
	return c.at.Add(time.Millisecond).Sub(began)
}

func TestCooldownsGrowUntilACallSucceeds(t *testing.T) {
	k, c := keyWithClock()
	limited := providerFault(429)
	for range 2 {
		for i, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
			k.record(haiku, limited)
			if got := remaining(k, c, haiku); got != time.Duration(want)*time.Second {
				t.Errorf("cooldown %d is of %s", i+1, got)
			}
			c.at = c.at.Add(time.Duration(want) * time.Second)
			if k.coolingDown(haiku) {
				t.Errorf("after cooldown %d it still cools down", i+1)
			}
		}
		k.record(haiku, nil)
	}
}

func TestConcurrentFailuresStartOneCooldown(t *testing.T) {
	k, c := keyWithClock()
	for range 100 {
		k.record(haiku, providerFault(401))
	}
	if got := remaining(k, c, haiku); got != time.Second {
		t.Errorf("a hundred at once are a cooldown of %s", got)
	}
	c.at = c.at.Add(900 * time.Millisecond)
	k.record(haiku, providerFault(401))
	if got := remaining(k, c, haiku); got != 100*time.Millisecond {
		t.Errorf("one more during the cooldown makes it %s", got)
	}
}

func TestCooldownIsTheRetryAfterOfTheUpstream(t *testing.T) {
	k, c := keyWithClock()
	k.record(haiku, providerFault(429))
	k.record(haiku, providerFault(429, retryAfter(90*time.Second)))
	if got := remaining(k, c, haiku); got != 90*time.Second {
		t.Errorf("with a Retry-After during a cooldown: %s", got)
	}
	c.at = c.at.Add(2 * time.Minute)
	k.record(haiku, providerFault(429))
	if got := remaining(k, c, haiku); got != 2*time.Second {
		t.Errorf("the next doubled cooldown: %s", got)
	}
}

func TestKeyThatSpentItsLimitCoolsDownForAllModels(t *testing.T) {
	k, c := keyWithClock()
	k.record(haiku, providerFault(429, spent, retryAfter(time.Hour)))
	if remaining(k, c, haiku) != time.Hour || remaining(k, c, sonnet) != time.Hour {
		t.Errorf("cooldowns of %s, %s", remaining(k, c, haiku), remaining(k, c, sonnet))
	}
	if k.refused() {
		t.Error("a spent limit is a refusal")
	}
}

func TestLeaseEndsOnce(t *testing.T) {
	u := NewUpstream(catalog.Anthropic, unasked{}, poolOf("a"), time.Now)
	one, err := u.Lease(Wish{Model: haiku})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Lease(Wish{Model: haiku}); err != nil {
		t.Fatal(err)
	}
	one.End()
	one.End()
	if n := u.keys[0].live.Load(); n != 1 {
		t.Errorf("the other call counts as %d", n)
	}
}

func TestSuccessfulCallEndsTheCooldowns(t *testing.T) {
	k, c := keyWithClock()
	k.record(haiku, providerFault(401))
	k.record(haiku, providerFault(429))
	k.record(sonnet, providerFault(429))
	k.record(haiku, nil)
	if k.coolingDown(haiku) || !k.coolingDown(sonnet) || k.refused() {
		t.Errorf("cooldowns of %s, %s", remaining(k, c, haiku), remaining(k, c, sonnet))
	}
	k.record(sonnet, nil)
	if k.coolingDown(sonnet) || k.hasCooldowns.Load() {
		t.Error("the last cooldown does not end")
	}
}

func TestOnlyRefusalsAndRateLimitsStartACooldown(t *testing.T) {
	k, _ := keyWithClock()
	for _, err := range []error{providerFault(400), providerFault(404), providerFault(500), providerFault(529), unreached(502),
		api.Unavailable(nil), t.Context().Err()} {
		k.record(haiku, err)
	}
	if k.coolingDown(haiku) {
		t.Error("it cools down")
	}
}

func TestRefusedKeyCoolsDownForTheRetryAfter(t *testing.T) {
	k := newKey(poolOf("key")[0], time.Now, &recent{})
	for _, status := range []int{401, 402, 403, 429} {
		k.record("m", &providers.Refusal{Status: status, RetryAfter: time.Hour})
		model := ""
		if status == 403 || status == 429 {
			model = "m"
		}
		if left := time.Until(k.cooldowns[model].until); left < 59*time.Minute || !k.coolingDown("m") {
			t.Errorf("%d: cools down for %s", status, left)
		}
		k.reset("m")
	}
}

func TestRefusedKeyMakesItsProviderDegraded(t *testing.T) {
	for _, tt := range []struct {
		fault *providers.Refusal
		want  string
	}{{providerFault(401), Degraded}, {providerFault(402), Degraded}, {providerFault(403), Healthy}, {providerFault(429), Healthy}} {
		synctest.Test(t, func(t *testing.T) {
			u := NewUpstream(catalog.Anthropic, unasked{}, poolOf("a", "b"), time.Now)
			u.keys[0].record(haiku, tt.fault)
			if got := u.Status(); got != tt.want {
				t.Errorf("after %v it is %s", tt.fault, got)
			}
			time.Sleep(2 * time.Second)
			if got := u.Status(); got != Healthy {
				t.Errorf("after the cooldown of %v it is %s", tt.fault, got)
			}
		})
	}
}

// unasked is a provider that no test asks.
type unasked struct{ providers.Provider }

func (unasked) Abilities() providers.Abilities { return providers.Abilities{} }
