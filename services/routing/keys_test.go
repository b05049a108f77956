package routing

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

func TestEquallyLoadedKeysAreUsedInTurn(t *testing.T) {
	for _, keys := range []string{"a", "ab", "abc", "abcdefg"} {
		q := newQueued(catalog.Anthropic, strings.Split(keys, "")...)
		chat := fleet(t, q)
		const rounds = 5
		for range rounds * len(keys) {
			if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range keys {
			if n := strings.Count(q.asked(), string(k)); n != rounds {
				t.Errorf("of %s, %c was taken %d times in %d", keys, k, n, rounds*len(keys))
			}
		}
	}
}

func readAll(s llm.Stream) {
	for range s { //nolint:revive // to its end
	}
}

func leaveAtOnce(s llm.Stream) {
	for range s {
		break
	}
}

func leaveInPanic(s llm.Stream) {
	defer func() { _ = recover() }()
	for range s {
		panic("the client's writer")
	}
}

// A stream uses its key until it ends, however it ends.
func TestLeastLoadedKeyIsUsed(t *testing.T) {
	for name, end := range map[string]func(llm.Stream){"read to its end": readAll, "left at once": leaveAtOnce,
		"left by a panic": leaveInPanic} {
		q := newQueued(catalog.Anthropic, "a", "b", "c")
		chat := fleet(t, q)
		begin := func() llm.Stream {
			s, _, err := streamOf(t.Context(), chat, ask(haiku))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		streams := []llm.Stream{begin(), begin()}
		free := strings.Trim("abc", q.asked())
		if len(free) != 1 {
			t.Fatalf("%s: two streams use %q", name, q.asked())
		}
		for range 5 {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		if got := q.asked()[2:]; got != strings.Repeat(free, 5) {
			t.Errorf("%s: %q of %q is free, and %q was taken", name, free, q.asked()[:2], got)
		}
		for _, s := range streams {
			end(s)
		}
		allIdle(t, chat)
		q.play("a")
		for range 3 {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		if got := []byte(q.asked()); !slices.Equal(sorted(got), []byte("abc")) {
			t.Errorf("%s: when they had ended %q was taken", name, got)
		}
	}
}

func sorted(b []byte) []byte {
	slices.Sort(b)
	return b
}

func TestLeastLoadedKeyOfManyIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := strings.Split("abcdefgh", "")
		q := newQueued(catalog.Anthropic, keys...)
		for _, k := range keys {
			q.play(k, after(time.Second, answers))
		}
		chat := fleet(t, q)
		var all sync.WaitGroup
		for range 3 * len(keys) {
			all.Go(func() { _, _, _ = completeOf(t.Context(), chat, ask(haiku)) })
			synctest.Wait()
		}
		for _, k := range keys {
			if n := strings.Count(q.asked(), k); n != 3 {
				t.Errorf("a key has %d calls of 24", n)
			}
		}
		all.Wait()
		allIdle(t, chat)
	})
}

// The request that was refused or limited is answered with another key, which is
// not counted as a retry.
func TestRefusedOrLimitedKeyCoolsDown(t *testing.T) {
	for _, tt := range []struct {
		fault    *providers.Refusal
		cooldown time.Duration
		all      bool // models
	}{
		{providerFault(401), time.Second, true},
		{providerFault(402), time.Second, true},
		{providerFault(403), time.Second, false},
		{providerFault(429), time.Second, false},
		{providerFault(401, retryAfter(20*time.Second)), 20 * time.Second, true},
		{providerFault(429, retryAfter(7*time.Second)), 7 * time.Second, false},
		{providerFault(429, retryAfter(2*time.Hour)), 2 * time.Hour, false},
		{providerFault(429, final, retryAfter(2*time.Hour)), 2 * time.Hour, false}, // a day's quota of one model
		{providerFault(400, func(e *providers.Refusal) { e.Key = true }), time.Second, true},
	} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				name := fmt.Sprintf("%v, %+v, %s", tt.fault, tt.fault.RetryAfter, w.name)
				q := newQueued(catalog.Anthropic, "a", "b")
				chat := fleet(t, q)
				chat.Retries = 0
				q.play("a", fails(tt.fault), answers).play("b", answers)
				keysFor := func(model string, times int) string {
					t.Helper()
					before := len(q.calls())
					for range times {
						if got, _, err := w.ask(t.Context(), chat, ask(model)); err != nil || got != model {
							t.Errorf("%s: %q, %v", name, got, err)
						}
					}
					return q.asked()[before:]
				}
				if got := keysFor(haiku, 2); strings.Count(got, "a") != 1 || strings.Count(got, "b") != 2 {
					t.Errorf("%s: the first calls used %q", name, got)
				}
				if got := keysFor(haiku, 4); got != "bbbb" {
					t.Errorf("%s: during the cooldown the model is called with %q", name, got)
				}
				if got := keysFor(sonnet, 4); (got == "bbbb") != tt.all {
					t.Errorf("%s: meanwhile another model is called with %q", name, got)
				}
				// An answer of another model does not end this model's cooldown.
				time.Sleep(tt.cooldown - time.Nanosecond)
				if got := keysFor(haiku, 4); got != "bbbb" {
					t.Errorf("%s: its cooldown did not last %s: %q", name, tt.cooldown, got)
				}
				time.Sleep(time.Nanosecond)
				if got := keysFor(haiku, 4); strings.Count(got, "a") != 2 {
					t.Errorf("%s: after its cooldown %q", name, got)
				}
				if n := retried(chat.Upstreams[catalog.Anthropic]); n != 0 {
					t.Errorf("%s: %d retries", name, n)
				}
			})
		}
	}
}

func TestKeysAreUsedWhenAllAreCoolingDown(t *testing.T) {
	for _, keys := range []string{"a", "ab", "abc"} {
		for _, fault := range []*providers.Refusal{providerFault(401), providerFault(402), providerFault(403), providerFault(429),
			providerFault(429, retryAfter(time.Hour))} {
			for _, w := range ways() {
				synctest.Test(t, func(t *testing.T) {
					q := newQueued(catalog.Anthropic, strings.Split(keys, "")...)
					chat := fleet(t, q)
					chat.Retries = 0
					for _, k := range q.keys {
						q.play(k, fails(fault))
					}
					_, _, err := w.ask(t.Context(), chat, ask(haiku))
					if got := sorted([]byte(q.asked())); !isSame(err, fault) || string(got) != keys {
						t.Errorf("%s, %v: %v after %q", keys, fault, err, got)
					}
					if _, _, err = w.ask(t.Context(), chat, ask(haiku)); !isSame(err, fault) || len(q.calls()) != len(keys)+1 {
						t.Errorf("%s, %v: while all cool down %v after %q", keys, fault, err, q.asked())
					}
					for _, k := range q.keys {
						q.play(k, answers)
					}
					if _, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil {
						t.Errorf("%s, %v: it is locked out: %v", keys, fault, err)
					}
					allIdle(t, chat)
				})
			}
		}
	}
}

func isSame(err error, want *providers.Refusal) bool { return err == error(want) }

func TestRateLimitOfTheOnlyKeyIsRetriedWithoutAFallback(t *testing.T) {
	for _, keys := range []string{"a", "ab"} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueued(catalog.Anthropic, strings.Split(keys, "")...)
			for _, k := range q.keys {
				q.play(k, fails(providerFault(429, retryAfter(2*time.Second))), answers)
			}
			chat := fleet(t, q)
			began := time.Now()
			_, _, err := completeOf(t.Context(), chat, ask(haiku))
			if took := time.Since(began); err != nil || took != 2*time.Second || len(q.calls()) != len(keys)+1 {
				t.Errorf("%s: %v after %s and %q", keys, err, took, q.asked())
			}
		})
	}
}

// A key whose circuit is open is not usable.
func TestRateLimitOfTheOnlyUsableKeyIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a", "b").play("a", fails(providerFault(429)), answers)
		chat := fleet(t, q)
		for range circuitCalls {
			l := leaseOf(t, chat.Upstreams[catalog.Anthropic], "b")
			l.Answered(providerFault(500))
			l.End()
		}
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil || q.asked() != "aa" {
			t.Errorf("%v after %q", err, q.asked())
		}
	})
}

// The other keys are busier, and still preferred to the one that failed.
func TestRetryUsesAnotherKey(t *testing.T) {
	for _, keys := range []string{"ab", "abcdef"} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(catalog.Anthropic, strings.Split(keys, "")...)
				chat := fleet(t, q)
				defer busyBut(t, chat.Upstreams[catalog.Anthropic], "a")()
				q.play("a", fails(providerFault(500)))
				for range 5 {
					if _, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil {
						t.Error(err)
					}
				}
				if asked := q.asked(); len(asked) != 10 || strings.Count(asked, "a") != 5 || strings.Contains(asked, "aa") {
					t.Errorf("five requests are asked with %q", asked)
				}
			})
		}
	}
}

// Each call outlasts the cooldown of the key before.
func TestEveryKeyIsUsedAtMostOncePerRequest(t *testing.T) {
	for _, fault := range []error{providerFault(401), providerFault(429, retryAfter(time.Second))} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueued(catalog.Anthropic, "a", "b", "c")
			for _, k := range q.keys {
				q.play(k, after(3*time.Second, fails(fault)))
			}
			chat := fleet(t, q)
			chat.Retries = 0
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
			if asked := q.asked(); string(sorted([]byte(asked))) != "abc" {
				t.Errorf("%v: asked with %q", fault, asked)
			}
		})
	}
}

// A key that may not use one model can still be used for the others.
func TestCooldownOfOneModelDoesNotAffectOthers(t *testing.T) {
	for _, keys := range []string{"a", "ab"} {
		for _, fault := range []*providers.Refusal{providerFault(403), providerFault(404), providerFault(429), providerFault(400),
			providerFault(200)} {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(catalog.Anthropic, strings.Split(keys, "")...)
				for _, k := range q.keys {
					q.play(k, fails(fault))
				}
				chat := fleet(t, q)
				chat.Retries = 0
				for range 5 * circuitCalls {
					_, _, _ = completeOf(t.Context(), chat, ask(haiku))
				}
				for _, k := range q.keys {
					q.play(k, answers)
				}
				if _, _, err := completeOf(t.Context(), chat, ask(sonnet)); err != nil {
					t.Errorf("%s, after many of %v: %v", keys, fault, err)
				}
			})
		}
	}
}
