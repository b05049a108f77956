package routing

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/services/pool"
)

const hedgeAfter = 2 * time.Second

// hedged is a fleet that hedges after hedgeAfter, and does not retry.
func hedged(t *testing.T, all ...*queued) *Router {
	t.Helper()
	chat := fleet(t, all...)
	chat.HedgeAfter, chat.Retries = hedgeAfter, 0
	return chat
}

// leaving records when its context was cancelled, and ends some time later.
func leaving(left *time.Time, took time.Duration) behaviour {
	return func(ctx context.Context) error {
		<-ctx.Done()
		*left = time.Now()
		time.Sleep(took)
		return context.Cause(ctx)
	}
}

// tooLate answers after its context was cancelled.
func tooLate(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func TestSlowAnswerIsNotHedgedWithoutASetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a", "b").play("a", after(time.Hour, answers)).play("b", after(time.Hour, answers))
		chat := fleet(t, q)
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil || len(q.calls()) != 1 {
			t.Errorf("%v after %d calls", err, len(q.calls()))
		}
	})
}

func TestFastAnswerOrErrorIsNotHedged(t *testing.T) {
	for name, then := range map[string]behaviour{"an answer": answers, "an error": fails(providerFault(400))} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueued(catalog.Anthropic, "a", "b")
			q.play("a", after(hedgeAfter-time.Nanosecond, then)).play("b", after(hedgeAfter-time.Nanosecond, then))
			chat := hedged(t, q)
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
			if n := len(q.calls()); n != 1 || retried(chat.Upstreams[catalog.Anthropic]) != 0 {
				t.Errorf("%s: %d calls", name, n)
			}
			allIdle(t, chat)
		})
	}
}

func TestSlowAnswerIsHedged(t *testing.T) {
	for _, tt := range []struct {
		name, keys   string
		cooling      string // a key that cools down
		fallbacks    []string
		model        string // that answers
		asked, other string // with which keys
	}{
		{"another key", "ab", "", []string{gpt}, haiku, "ab", ""},
		{"another key, not the one that cools down", "abc", "b", []string{gpt}, haiku, "ac", ""},
		{"the fallback where there is one key", "a", "", []string{gpt}, gpt, "a", "o"},
		{"the fallback while the other key cools down", "ab", "b", []string{gpt}, gpt, "a", "o"},
		{"the first fallback that takes it", "a", "", []string{"unknown", flash, sonnet, gpt}, gpt, "a", "o"},
		{"the same without an alternative", "a", "", nil, haiku, "aa", ""},
		{"the same where no fallback takes it", "a", "", []string{flash}, haiku, "aa", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			q, other := newQueued(catalog.Anthropic), newQueued(catalog.OpenAI, "o")
			q.refuses = map[string]error{sonnet: api.Invalid(api.CodeInvalidValue, "x", "no")}
			for _, k := range tt.keys {
				q.keys = append(q.keys, string(k))
			}
			chat := hedged(t, q, other)
			u := chat.Upstreams[catalog.Anthropic]
			if tt.cooling != "" {
				l := leaseOf(t, u, tt.cooling)
				l.Answered(providerFault(429, retryAfter(time.Hour)))
				l.End()
			}
			defer busyBut(t, u, "a")() // which is taken first
			var left time.Time
			q.play("a", leaving(&left, time.Second), answers)
			chat.Fallbacks = map[string][]string{haiku: tt.fallbacks}
			began := time.Now()
			model, route, err := completed(t.Context(), chat, ask(haiku))
			if err != nil || model != tt.model || q.asked() != tt.asked || other.asked() != tt.other {
				t.Errorf("%s: %q, %v after %q and %q", tt.name, model, err, q.asked(), other.asked())
			}
			if (route.Fallback == gpt) != (tt.model == gpt) || (route.Provider == catalog.OpenAI) != (tt.model == gpt) {
				t.Errorf("%s: %+v", tt.name, route)
			}
			if left.Sub(began) != hedgeAfter || time.Since(left) != time.Second {
				t.Errorf("%s: the slower call was cancelled after %s, and waited for for %s", tt.name, left.Sub(began), time.Since(left))
			}
			if n := retried(u); n != 1 {
				t.Errorf("%s: %d are counted in the budget", tt.name, n)
			}
		})
	}
}

func TestHedgedCallTakesTheFirstAnswer(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second behaviour
		took          time.Duration
		model         string
	}{
		{"the first's", after(3*time.Second, answers), hangs, 3 * time.Second, haiku},
		{"the second's", after(9*time.Second, answers), after(time.Second, answers), 3 * time.Second, gpt},
		{"the second's when the first failed", after(3*time.Second, fails(providerFault(500))), after(4*time.Second, answers), 6 * time.Second,
			gpt},
		{"the first's when the second failed", after(5*time.Second, answers), fails(providerFault(500)), 5 * time.Second, haiku},
		{"the first's when the second was refused", after(5*time.Second, answers), fails(providerFault(400)), 5 * time.Second, haiku},
		{"one of two at the same time", after(5*time.Second, answers), after(3*time.Second, answers), 5 * time.Second, ""},
		{"the second's when the first comes too late", tooLate, after(time.Second, answers), 3 * time.Second, gpt},
		{"the first's when the second comes too late", after(3*time.Second, answers), tooLate, 3 * time.Second, haiku},
	} {
		synctest.Test(t, func(t *testing.T) {
			q, other := newQueued(catalog.Anthropic, "a").play("a", tt.first), newQueued(catalog.OpenAI, "o").play("o", tt.second)
			chat := hedged(t, q, other)
			chat.Fallbacks = map[string][]string{haiku: {gpt}}
			began := time.Now()
			model, route, err := completed(t.Context(), chat, ask(haiku))
			if err != nil || time.Since(began) != tt.took || tt.model != "" && model != tt.model ||
				(route.Fallback != "") != (model == gpt) {
				t.Errorf("%s: %q, %+v, %v after %s", tt.name, model, route, err, time.Since(began))
			}
			if len(q.calls()) != 1 || len(other.calls()) != 1 {
				t.Errorf("%s: %d and %d calls", tt.name, len(q.calls()), len(other.calls()))
			}
			allIdle(t, chat)
		})
	}
}

func TestFailedHedgeReturnsTheErrorOfTheFirstCall(t *testing.T) {
	for _, firstTook := range []time.Duration{3 * time.Second, 9 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			fault := providerFault(503)
			var was context.Context
			q := newQueued(catalog.Anthropic, "a", "b").play("a", after(firstTook, fails(fault)))
			q.play("b", func(ctx context.Context) error {
				was = ctx
				return after(4*time.Second, fails(providerFault(504)))(ctx)
			})
			chat := hedged(t, q)
			leaseOf(t, chat.Upstreams[catalog.Anthropic], "b").End() // a is the next
			_, _, err := completeOf(t.Context(), chat, ask(haiku))
			if !errors.Is(err, fault) || q.asked() != "ab" {
				t.Errorf("the first took %s: %v after %q", firstTook, err, q.asked())
			}
			if was.Err() == nil {
				t.Error("what the calls had begun is not ended")
			}
			allIdle(t, chat)
		})
	}
}

func TestHedgedCallIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := after(3*time.Second, fails(providerFault(503)))
		q := newQueued(catalog.Anthropic, "a").play("a", slow, slow, answers)
		chat := hedged(t, q)
		chat.Retries = 1
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil || q.asked() != "aaa" {
			t.Errorf("%v after %q", err, q.asked())
		}
		if n := retried(chat.Upstreams[catalog.Anthropic]); n != 2 {
			t.Errorf("%d are counted in the budget", n)
		}
		allIdle(t, chat)
	})
}

func TestNoHedgeWhenTheRetryBudgetIsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, other := newQueued(catalog.Anthropic, "a", "b"), newQueued(catalog.OpenAI, "o")
		q.play("a", after(time.Minute, answers)).play("b", after(time.Minute, answers))
		chat := hedged(t, q, other)
		chat.Fallbacks = map[string][]string{haiku: {gpt}}
		spendRetries(chat.Upstreams[catalog.Anthropic])
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil || len(q.calls()) != 1 || len(other.calls()) != 0 {
			t.Errorf("%v after %q and %q", err, q.asked(), other.asked())
		}
	})
}

func TestCircuitCountsAHedgedRequestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a").play("a", after(3*time.Second, fails(providerFault(503))))
		chat := hedged(t, q)
		for i := range circuitCalls {
			if got := chat.Upstreams[catalog.Anthropic].Status(); got == pool.Unhealthy {
				t.Fatalf("after %d requests and %d calls it is %s", i, len(q.calls()), got)
			}
			_, _, _ = completeOf(t.Context(), chat, ask(haiku))
		}
		if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Unhealthy || len(q.calls()) != 2*circuitCalls {
			t.Errorf("after %d calls it is %s", len(q.calls()), got)
		}
	})
}

func TestPanicOfEitherHedgedCallReachesTheCaller(t *testing.T) {
	slowPanic := func(ctx context.Context) error { // once it is left
		<-ctx.Done()
		panic("boom")
	}
	for name, tt := range map[string]struct{ first, second behaviour }{
		"the first without a second":     {panics, answers},
		"the first, the second runs":     {after(3*time.Second, panics), hangs},
		"the second":                     {hangs, panics},
		"the second, the first answers":  {after(5*time.Second, answers), after(time.Second, panics)},
		"the first, when it has lost":    {slowPanic, answers},
		"the second, when it has lost":   {after(3*time.Second, answers), slowPanic},
		"the first, the second failed":   {after(5*time.Second, panics), fails(providerFault(500))},
		"both, one when it was given up": {after(3*time.Second, panics), slowPanic},
		"the first, the second is late":  {after(3*time.Second, panics), tooLate},
		"the second, the first is late":  {tooLate, panics},
	} {
		synctest.Test(t, func(t *testing.T) {
			q, other := newQueued(catalog.Anthropic, "a").play("a", tt.first), newQueued(catalog.OpenAI, "o").play("o", tt.second)
			chat := hedged(t, q, other)
			chat.Fallbacks = map[string][]string{haiku: {gpt}}
			func() {
				defer func() {
					if got := recover(); got != "boom" {
						t.Errorf("%s: %v", name, got)
					}
				}()
				_, _, err := completeOf(t.Context(), chat, ask(haiku))
				t.Errorf("%s: it is swallowed, and %v", name, err)
			}()
			allIdle(t, chat)
		})
	}
}

func TestClientThatLeavesEndsBothHedgedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left [2]time.Time
		q, other := newQueued(catalog.Anthropic, "a").play("a", leaving(&left[0], 0)),
			newQueued(catalog.OpenAI, "o").play("o", leaving(&left[1], 0))
		chat := hedged(t, q, other)
		chat.Fallbacks = map[string][]string{haiku: {gpt}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, _, err := completeOf(ctx, chat, ask(haiku))
		if !errors.Is(err, context.DeadlineExceeded) || left[0].Sub(began) != 3*time.Second || left[1] != left[0] {
			t.Errorf("%v, they ended at %v of %s", err, left, began)
		}
		allIdle(t, chat)
	})
}

func TestStreamsAreNeverHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, other := newQueued(catalog.Anthropic, "a", "b"), newQueued(catalog.OpenAI, "o")
		q.play("a", after(time.Minute, answers)).play("b", after(time.Minute, answers))
		chat := hedged(t, q, other)
		chat.Fallbacks = map[string][]string{haiku: {gpt}}
		if model, _, err := streamed(t.Context(), chat, ask(haiku)); err != nil || model != haiku || len(q.calls()) != 1 ||
			len(other.calls()) != 0 {
			t.Errorf("%q, %v after %q and %q", model, err, q.asked(), other.asked())
		}
		allIdle(t, chat)
	})
}
