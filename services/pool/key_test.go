package pool

import (
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
)

func restKey() (*Key, *clock) {
	c := &clock{november}
	return newUpstreamKey(poolOf("k")[0], c.now), c
}

// rested is how long the key rests for the model from now on.
func rested(k *Key, c *clock, model string) time.Duration {
	began := c.at
	defer func() { c.at = began }()
	for _, step := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		for k.rests(model) {
			c.at = c.at.Add(step)
		}
		if !c.at.Equal(began) {
			c.at = c.at.Add(-step)
		}
	}
	if c.at.Equal(began) && !k.rests(model) {
		return 0
	}
	return c.at.Add(time.Millisecond).Sub(began)
}

func TestCooldownsGrowUntilACallSucceeds(t *testing.T) {
	k, c := restKey()
	limited := providerFault(429)
	for range 2 {
		for i, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
			k.learn(haiku, limited)
			if got := rested(k, c, haiku); got != time.Duration(want)*time.Second {
				t.Errorf("rest %d is of %s", i+1, got)
			}
			c.at = c.at.Add(time.Duration(want) * time.Second)
			if k.rests(haiku) {
				t.Errorf("after rest %d it still rests", i+1)
			}
		}
		k.learn(haiku, nil)
	}
}

func TestConcurrentFailuresStartOneCooldown(t *testing.T) {
	k, c := restKey()
	for range 100 {
		k.learn(haiku, providerFault(401))
	}
	if got := rested(k, c, haiku); got != time.Second {
		t.Errorf("a hundred at once are a rest of %s", got)
	}
	c.at = c.at.Add(900 * time.Millisecond)
	k.learn(haiku, providerFault(401))
	if got := rested(k, c, haiku); got != 100*time.Millisecond {
		t.Errorf("one more in the rest makes it %s", got)
	}
}

func TestCooldownIsTheRetryAfterOfTheUpstream(t *testing.T) {
	k, c := restKey()
	k.learn(haiku, providerFault(429))
	k.learn(haiku, providerFault(429, retryAfter(90*time.Second)))
	if got := rested(k, c, haiku); got != 90*time.Second {
		t.Errorf("told in a rest: %s", got)
	}
	c.at = c.at.Add(2 * time.Minute)
	k.learn(haiku, providerFault(429))
	if got := rested(k, c, haiku); got != 2*time.Second {
		t.Errorf("the pauses of its own go on: %s", got)
	}
}

func TestKeyThatSpentItsLimitCoolsDownForAllModels(t *testing.T) {
	k, c := restKey()
	k.learn(haiku, providerFault(429, spent, retryAfter(time.Hour)))
	if rested(k, c, haiku) != time.Hour || rested(k, c, sonnet) != time.Hour {
		t.Errorf("rests of %s, %s", rested(k, c, haiku), rested(k, c, sonnet))
	}
	if k.refused() {
		t.Error("that is no refusal")
	}
}

func TestLeaseEndsOnce(t *testing.T) {
	u := NewUpstream(catalog.Anthropic, nil, poolOf("a"), time.Now)
	one, err := u.Lease(haiku, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Lease(haiku, nil, false); err != nil {
		t.Fatal(err)
	}
	one.End()
	one.End()
	if n := u.keys[0].live.Load(); n != 1 {
		t.Errorf("the other call counts as %d", n)
	}
}

func TestSuccessfulCallEndsTheCooldowns(t *testing.T) {
	k, c := restKey()
	k.learn(haiku, providerFault(401))
	k.learn(haiku, providerFault(429))
	k.learn(sonnet, providerFault(429))
	k.learn(haiku, nil)
	if k.rests(haiku) || !k.rests(sonnet) || k.refused() {
		t.Errorf("rests of %s, %s", rested(k, c, haiku), rested(k, c, sonnet))
	}
	k.learn(sonnet, nil)
	if k.rests(sonnet) || k.any.Load() {
		t.Error("the last rest does not end")
	}
}

func TestOnlyRefusalsAndRateLimitsStartACooldown(t *testing.T) {
	k, _ := restKey()
	for _, err := range []error{providerFault(400), providerFault(404), providerFault(500), providerFault(529), unreached(502),
		api.Unavailable(nil), t.Context().Err()} {
		k.learn(haiku, err)
	}
	if k.rests(haiku) {
		t.Error("it rests")
	}
}

func TestRefusedKeyCoolsDownForTheRetryAfter(t *testing.T) {
	k := newUpstreamKey(poolOf("key")[0], time.Now)
	for _, status := range []int{401, 402, 403, 429} {
		k.learn("m", &providers.Refusal{Status: status, RetryAfter: time.Hour})
		model := ""
		if status == 403 || status == 429 {
			model = "m"
		}
		if left := time.Until(k.resting[model].until); left < 59*time.Minute || !k.rests("m") {
			t.Errorf("%d: rests for %s", status, left)
		}
		k.wake("m")
	}
}

func TestRefusedKeyMakesItsProviderDegraded(t *testing.T) {
	for _, tt := range []struct {
		fault *providers.Refusal
		want  string
	}{{providerFault(401), Degraded}, {providerFault(402), Degraded}, {providerFault(403), Healthy}, {providerFault(429), Healthy}} {
		synctest.Test(t, func(t *testing.T) {
			u := NewUpstream(catalog.Anthropic, nil, poolOf("a", "b"), time.Now)
			u.keys[0].learn(haiku, tt.fault)
			if got := u.Status(); got != tt.want {
				t.Errorf("after %v it is %s", tt.fault, got)
			}
			time.Sleep(2 * time.Second)
			if got := u.Status(); got != Healthy {
				t.Errorf("after the rest of %v it is %s", tt.fault, got)
			}
		})
	}
}
