package routing

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/tests/longtest"
)

// broken is a provider whose only key has an open circuit.
func broken(t *testing.T) (*Router, *queued) {
	t.Helper()
	q := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(500)))
	chat := fleet(t, q, newQueued(catalog.OpenAI, "b"))
	chat.Retries = 0
	for range circuitCalls {
		_, _, _ = completeOf(t.Context(), chat, ask(haiku))
	}
	if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Unhealthy {
		t.Fatalf("after %d failures it is %s", circuitCalls, got)
	}
	q.play("a", answers)
	return chat, q
}

// circuitOf is the state of a circuit that is the only one of its provider.
func circuitOf(router *Router) string {
	return router.Upstreams[catalog.Anthropic].Report().Keys[0].Circuit
}

// isFast checks the error of an open circuit.
func isFast(t *testing.T, err error) {
	t.Helper()
	e := api.AsError(err)
	if e.Status != 503 || e.Code != api.CodeProviderError || e.Provider != catalog.Anthropic || !e.ShouldRetry() ||
		e.RetryAfter < time.Second || e.RetryAfter > 10*time.Second {
		t.Errorf("%v, and %+v", err, e)
	}
}

func TestCircuitOpensWhenSixOfTenRequestsFailed(t *testing.T) {
	for requests, opens := range map[string]bool{
		"xxxxxxxxx": false, "xxxxxxxxxx": true, "....xxxxx": false, "....xxxxxx": true, "xxxxxx....": false, "xxxxxx....x": true,
		".....xxxxx": false, ".....xxxxxxx": false, ".....xxxxxxxx": true, "xxxxxxxxx x": true, "xxxxxxxxx            x": false,
		"xxxxx-----xxxx": false, "xxxxx-----xxxxx": true,
	} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(catalog.Anthropic, "a")
				chat := fleet(t, q, newQueued(catalog.OpenAI, "b"))
				chat.Retries = 0
				for _, r := range requests {
					switch r {
					case 'x':
						q.play("a", fails(providerFault(500)))
					case '.':
						q.play("a", answers)
					case '-': // neither one nor the other
						q.play("a", fails(context.Canceled))
					case ' ':
						time.Sleep(6 * time.Second)
						continue
					}
					_, _, _ = w.ask(t.Context(), chat, ask(haiku))
				}
				q.play("a", answers)
				_, _, err := w.ask(t.Context(), chat, ask(haiku))
				if opened := len(q.calls()) == 0; opened != opens || opened != (err != nil) {
					t.Errorf("%s, %s: opened %v, %v", requests, w.name, opened, err)
				}
				if status := chat.Upstreams.Statuses(); opens && status[catalog.Anthropic] != pool.Unhealthy ||
					status[catalog.OpenAI] != pool.Healthy {
					t.Errorf("%s: %v", requests, status)
				}
			})
		}
	}
}

func TestOpenCircuitFailsAtOnce(t *testing.T) {
	chat, q := broken(t)
	const calls = 100
	began, late := time.Now(), longtest.Lateness(t)
	for range calls {
		_, route, err := completeOf(t.Context(), chat, ask(haiku))
		isFast(t, err)
		if route.Provider != catalog.Anthropic {
			t.Errorf("%+v", route)
		}
	}
	if took := (time.Since(began) - late()) / calls; took > 10*time.Millisecond || len(q.calls()) != 0 {
		t.Errorf("each took %s, and %d reached the provider", took, len(q.calls()))
	}
	if _, _, err := completeOf(t.Context(), chat, ask(gpt)); err != nil {
		t.Errorf("another provider: %v", err)
	}
	chat.Fallbacks = map[string][]string{haiku: {gpt}}
	if model, route, err := completed(t.Context(), chat, ask(haiku)); err != nil || model != gpt || route.Fallback != gpt {
		t.Errorf("%q, %+v, %v", model, route, err)
	}
}

func TestCircuitCountsARequestOnceWithAllItsRetries(t *testing.T) {
	for name, change := range map[string]func(c *Router){
		"retries":                        func(c *Router) { c.Retries = 2 },
		"another model of the same":      func(c *Router) { c.Retries, c.Fallbacks = 0, map[string][]string{haiku: {sonnet}} },
		"retries and two further models": func(c *Router) { c.Retries, c.Fallbacks = 1, map[string][]string{haiku: {gpt, sonnet}} },
	} {
		synctest.Test(t, func(t *testing.T) {
			q, other := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(500))),
				newQueued(catalog.OpenAI, "b").play("b", fails(providerFault(500)))
			chat := fleet(t, q, other)
			change(chat)
			for i := range circuitCalls {
				if got := chat.Upstreams[catalog.Anthropic].Status(); got == pool.Unhealthy {
					t.Fatalf("%s: after %d requests it is %s", name, i, got)
				}
				before := len(q.calls())
				_, _, _ = completeOf(t.Context(), chat, ask(haiku))
				if len(q.calls()) < before+2 && i < fewRetries/2 {
					t.Fatalf("%s: %d calls are no proof", name, len(q.calls())-before)
				}
			}
			if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Unhealthy {
				t.Errorf("%s: after %d requests it is %s", name, circuitCalls, got)
			}
		})
	}
}

// The provider's error says more than that the circuit is open.
func TestRequestThatOpensTheCircuitGetsTheProvidersError(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			fault := providerFault(500)
			q := newQueued(catalog.Anthropic, "a").play("a", fails(fault))
			chat := fleet(t, q)
			for i := range circuitCalls {
				chat.Retries = i / (circuitCalls - 1) // of the last
				if _, _, err := w.ask(t.Context(), chat, ask(haiku)); !errors.Is(err, fault) {
					t.Errorf("%s: %v", w.name, err)
				}
			}
			_, _, err := w.ask(t.Context(), chat, ask(haiku))
			isFast(t, err)
		})
	}
}

func TestRequestsThatSucceedAfterARetryDoNotOpenTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a")
		chat := fleet(t, q)
		for range 10 { // as many as the budget has
			q.play("a", fails(providerFault(500)), answers)
			if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
				t.Error(err)
			}
		}
		if circuitOf(chat) == "open" {
			t.Error("it is open")
		}
	})
}

// connectTimeOut is the error of an address that does not answer.
func connectTimeOut(t *testing.T) error {
	t.Helper()
	_, err := (&net.Dialer{Timeout: 1}).Dial("tcp", "127.0.0.1:1")
	if err == nil {
		t.Fatal("the address answers")
	}
	r := unreached(504)
	r.Cause = err
	return r
}

// Calls of an upstream that accepts connections and never answers fail after
// minutes.
func TestSlowFailuresOpenTheCircuit(t *testing.T) {
	silence := connectTimeOut(t)
	for name, slow := range map[string]behaviour{
		"connect time-outs":           after(10*time.Second, fails(silence)),
		"no header for five minutes":  after(5*time.Minute, fails(unreached(504))),
		"just as long as the window":  after(circuitWindow, fails(unreached(504))),
		"each at another time, a few": after(circuitWindow+10*time.Second, fails(providerFault(500))),
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueued(catalog.Anthropic, "a").play("a", slow)
			chat := fleet(t, q)
			chat.Retries = 0
			var all sync.WaitGroup
			for range circuitCalls {
				all.Go(func() { _, _, _ = completeOf(t.Context(), chat, ask(haiku)) })
				time.Sleep(time.Second)
			}
			all.Wait()
			if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Unhealthy {
				t.Errorf("%s: after %d it is %s", name, circuitCalls, got)
			}
		})
	}
}

func TestHalfOpenCircuitAllowsOneCall(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				chat, q := broken(t)
				then := answers
				if !recovers {
					then = fails(providerFault(500))
				}
				q.play("a", after(3*time.Second, then))
				time.Sleep(circuitPause - time.Millisecond)
				_, _, err := w.ask(t.Context(), chat, ask(haiku))
				isFast(t, err)
				time.Sleep(2 * time.Millisecond)
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() { _, _, _ = w.ask(t.Context(), chat, ask(haiku)) })
				}
				all.Wait()
				if n := len(q.calls()); n != 1 {
					t.Errorf("%d calls try", n)
				}
				q.play("a", answers)
				_, _, err = w.ask(t.Context(), chat, ask(haiku))
				if (err == nil) != recovers || recovers != (len(q.calls()) == 1) {
					t.Errorf("recovered %v: %v", recovers, err)
				}
				if !recovers {
					isFast(t, err)
					time.Sleep(circuitPause - time.Second)
					if _, _, err = w.ask(t.Context(), chat, ask(haiku)); err == nil {
						t.Error("it tries again too early")
					}
				}
				allIdle(t, chat)
			})
		}
	}
}

// tries starts a call that hangs until the returned function cancels it.
func tries(t *testing.T, chat *Router) (leave func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _, _ = completeOf(ctx, chat, ask(haiku))
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-ended
	}
}

func TestHalfOpenCircuitAllowsAnotherCallWhenTheFirstHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, q := broken(t)
		q.play("a", hangs)
		time.Sleep(circuitPause + time.Millisecond)
		leaveFirst := tries(t, chat)
		time.Sleep(circuitPause - 2*time.Millisecond)
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err == nil || len(q.calls()) != 1 {
			t.Errorf("%v, %d calls try", err, len(q.calls()))
		}
		time.Sleep(3 * time.Millisecond)
		leaveSecond := tries(t, chat)
		if n := len(q.calls()); n != 2 {
			t.Errorf("%d calls try", n)
		}
		leaveFirst() // which allows no third
		tries(t, chat)()
		if n := len(q.calls()); n != 2 {
			t.Errorf("%d calls try beside each other", n-1)
		}
		leaveSecond() // and this allows one
		q.play("a", answers)
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
			t.Errorf("no call is allowed: %v", err)
		}
		if got := circuitOf(chat); got != "closed" {
			t.Errorf("the circuit is %s", got)
		}
		allIdle(t, chat)
	})
}

func TestLateResultOfAHangingCallClosesTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, q := broken(t)
		q.play("a", after(circuitPause+5*time.Second, answers))
		time.Sleep(circuitPause + time.Millisecond)
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
			t.Error(err)
		}
		if got := circuitOf(chat); got != "closed" {
			t.Errorf("the circuit is %s", got)
		}
	})
}

func TestPanicInAHalfOpenCircuitAllowsTheNextCall(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, q := broken(t)
			q.play("a", panics, answers)
			time.Sleep(circuitPause + time.Millisecond)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic is swallowed")
					}
				}()
				_, _, _ = w.ask(t.Context(), chat, ask(haiku))
			}()
			if _, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil {
				t.Error(err)
			}
			allIdle(t, chat)
		})
	}
}

func TestEachKeyHasItsOwnCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a", "b").play("a", fails(providerFault(500)))
		chat := fleet(t, q)
		chat.Retries = 0
		failed := 0
		for range 3 * circuitCalls {
			if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
				failed++
			}
		}
		if n := strings.Count(q.asked(), "a"); n != circuitCalls || failed != circuitCalls {
			t.Errorf("the broken key was asked %d times, %d requests failed", n, failed)
		}
		if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Degraded {
			t.Errorf("with one key of two it is %s", got)
		}
		for range 20 * circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Degraded {
			t.Errorf("with one key of two, and nearly no failures, it is %s", got)
		}
		q.play("b", fails(providerFault(500)))
		for range 100 * circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		_, _, err := completeOf(t.Context(), chat, ask(haiku))
		isFast(t, err)
		if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Unhealthy {
			t.Errorf("with no key it is %s", got)
		}
	})
}

func TestCircuitsOpenIsTheShareOfTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a", "b").play("a", fails(providerFault(500)))
		chat := fleet(t, q)
		chat.Retries = 0
		expect := func(open, up float64) {
			t.Helper()
			if got, want := chat.Upstreams.CircuitsOpen(), map[string]float64{catalog.Anthropic: open}; !maps.Equal(got, want) {
				t.Errorf("circuits: %v, want %v", got, want)
			}
			if got, want := chat.Upstreams.Up(), map[string]float64{catalog.Anthropic: up, catalog.OpenAI: 0, catalog.Gemini: 0}; !maps.Equal(
				got, want,
			) {
				t.Errorf("providers: %v, want %v", got, want)
			}
		}
		expect(0, 1)
		for range 3 * circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		expect(0.5, 0.5)
		q.play("b", fails(providerFault(500)))
		for range 10 * circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		expect(1, 0)
	})
}

// askAs is a request of a caller.
func askAs(caller string) Input {
	input := ask(haiku)
	input.Caller = caller
	return input
}

func TestOneCallerOpensTheCircuitForItselfAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(500)))
		chat := fleet(t, q)
		chat.Retries = 0
		provoke := func() {
			t.Helper()
			q.play("a", fails(providerFault(500)))
			for range circuitCalls {
				_, _, _ = completeOf(t.Context(), chat, askAs("mallory"))
			}
			q.play("a", answers)
			_, _, err := completeOf(t.Context(), chat, askAs("mallory"))
			isFast(t, err)
		}
		for range 3 { // again and again, also by the one call of a half-open circuit
			provoke()
			for _, other := range []string{"ada", "bob", "ada"} {
				if _, _, err := completeOf(t.Context(), chat, askAs(other)); err != nil {
					t.Errorf("%s: %v", other, err)
				}
			}
			if got := chat.Upstreams[catalog.Anthropic].Status(); got == pool.Unhealthy {
				t.Errorf("the provider is %s for all", got)
			}
			time.Sleep(circuitPause)
		}
	})
}

func TestFailureOfASecondCallerOpensTheCircuitForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(500)))
		chat := fleet(t, q)
		chat.Retries = 0
		for range circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, askAs("ada"))
		}
		if _, _, err := completeOf(t.Context(), chat, askAs("bob")); api.AsError(err).Status != 502 {
			t.Errorf("bob is not called for: %v", err)
		}
		for _, caller := range []string{"ada", "bob", "carol", ""} {
			_, _, err := completeOf(t.Context(), chat, askAs(caller))
			isFast(t, err)
		}
		if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Unhealthy {
			t.Errorf("the provider is %s", got)
		}
	})
}

func TestFailuresOfSeveralCallersOpenTheCircuitForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(500)))
		chat := fleet(t, q)
		chat.Retries = 0
		for i := range circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, askAs([]string{"ada", "bob"}[i%2]))
		}
		_, _, err := completeOf(t.Context(), chat, askAs("carol"))
		isFast(t, err)
	})
}

func TestUnreachableProviderOpensTheCircuitForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a").play("a", fails(&providers.Refusal{Provider: catalog.Anthropic, Told: 502}))
		chat := fleet(t, q)
		chat.Retries = 0
		for range circuitCalls {
			_, _, _ = completeOf(t.Context(), chat, askAs("ada"))
		}
		_, _, err := completeOf(t.Context(), chat, askAs("bob"))
		isFast(t, err)
		if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Unhealthy {
			t.Errorf("the provider is %s", got)
		}
	})
}
