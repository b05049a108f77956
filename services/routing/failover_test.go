package routing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
)

// passing are the failures that are worth a retry.
func passing() map[string]error {
	all := map[string]error{
		"no connection":               unreached(502),
		"a wait that is short enough": providerFault(503, retryAfter(time.Second)),
	}
	for _, status := range []int{408, 409, 429, 500, 501, 502, 503, 504, 507, 520, 529, 599} {
		all[fmt.Sprint("status ", status)] = providerFault(status)
	}
	return all
}

func TestRetryableErrorsAreRetriedWithTheSameModel(t *testing.T) {
	for name, fault := range passing() {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(catalog.Anthropic, "a").play("a", fails(fault), fails(fault), answers)
				chat := fleet(t, q)
				model, route, err := w.ask(t.Context(), chat, ask(haiku))
				if err != nil || model != haiku || route.Provider != catalog.Anthropic || route.Fallback != "" || q.asked() != "aaa" {
					t.Errorf("%s, %s: %q, %+v, %v after %q", name, w.name, model, route, err, q.asked())
				}
				allIdle(t, chat)
			})
		}
	}
}

func TestCallIsRetriedUpToTheConfiguredNumber(t *testing.T) {
	for _, retries := range []int{0, 1, 2, 5} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				first, last := providerFault(500), providerFault(503)
				q := newQueued(catalog.Anthropic, "a").play("a", fails(first), fails(last))
				chat := fleet(t, q)
				chat.Retries = retries
				_, _, err := w.ask(t.Context(), chat, ask(haiku))
				want := error(last)
				if retries == 0 {
					want = first
				}
				if !errors.Is(err, want) || len(q.calls()) != 1+retries {
					t.Errorf("%d retries, %s: %v after %d calls", retries, w.name, err, len(q.calls()))
				}
				allIdle(t, chat)
			})
		}
	}
}

// refusals are the failures that no retry with this model changes.
func refusals() map[string]error {
	unavailable := api.Unavailable(errors.New("no descriptors"))
	return map[string]error{
		"content":                  providerFault(400),
		"too large":                providerFault(413),
		"content that makes sense": providerFault(422),
		"an answer of no use":      providerFault(200),
		"our own trouble":          unavailable,
		"our own mistake":          errors.New("nil map"),
		"a client that left":       context.Canceled,
	}
}

func TestTerminalErrorsAreNotRetried(t *testing.T) {
	for name, fault := range refusals() {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				q, other := newQueued(catalog.Anthropic, "a", "b").play("a", fails(fault)).
					play("b", fails(fault)),
					newQueued(catalog.OpenAI, "c")
				chat := fleet(t, q, other)
				chat.Fallbacks = map[string][]string{haiku: {gpt}}
				_, route, err := w.ask(t.Context(), chat, ask(haiku))
				if !errors.Is(err, fault) || route.Fallback != "" || len(q.calls()) != 1 || len(other.calls()) != 0 {
					t.Errorf("%s, %s: %v, %+v after %d calls, and %d of another model", name, w.name, err, route,
						len(q.calls()), len(other.calls()))
				}
				if n := retried(chat.Upstreams[catalog.Anthropic]); n != 0 {
					t.Errorf("%s, %s: %d retries", name, w.name, n)
				}
				allIdle(t, chat)
			})
		}
	}
}

func TestSpentKeyIsFollowedByAnotherKeyAndThenByAFallback(t *testing.T) {
	for _, fault := range []error{providerFault(429, spent), providerFault(429, spent, retryAfter(time.Second)), providerFault(402)} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(catalog.Anthropic, "a", "b").play("a", fails(fault)).play("b", fails(fault))
				chat := fleet(t, q, newQueued(catalog.OpenAI, "c"))
				chat.Fallbacks = map[string][]string{haiku: {gpt}}
				if model, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != gpt || len(q.calls()) != 2 {
					t.Errorf("%v, %s: %q, %v after %d calls", fault, w.name, model, err, len(q.calls()))
				}
				if n := retried(chat.Upstreams[catalog.Anthropic]); n != 0 {
					t.Errorf("%v, %s: %d retries", fault, w.name, n)
				}
				allIdle(t, chat)
			})
		}
	}
}

func TestFinalErrorsFallBackWithoutARetry(t *testing.T) {
	for _, status := range []int{429, 500, 503, 529} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				q, other := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(status, final))), newQueued(catalog.OpenAI, "b")
				chat := fleet(t, q, other)
				if _, _, err := w.ask(t.Context(), chat, ask(haiku)); api.AsError(err).UpstreamStatus != status || len(q.calls()) != 1 {
					t.Errorf("%d, %s: %v after %d calls", status, w.name, err, len(q.calls()))
				}
				time.Sleep(time.Minute)
				chat.Fallbacks = map[string][]string{haiku: {gpt}}
				model, route, err := w.ask(t.Context(), chat, ask(haiku))
				if err != nil || model != gpt || route.Fallback != gpt || len(q.calls()) != 2 {
					t.Errorf("%d, %s: %q, %+v, %v", status, w.name, model, route, err)
				}
			})
		}
	}
}

// With random behaviour of the upstreams, the client sees the stream of one call
// only, and no call is made after its first event.
func TestStreamIsNotRetriedAfterTheFirstEvent(t *testing.T) {
	const rounds = 300
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	before := []error{unreached(502), providerFault(500), providerFault(429), providerFault(401), providerFault(404), providerFault(529)}
	queue := func() (all []behaviour) {
		for range 1 + random.IntN(4) {
			all = append(all, fails(before[random.IntN(len(before))]))
		}
		if random.IntN(4) > 0 {
			all = append(all, fails(&begun{pieces: random.IntN(4), err: before[random.IntN(len(before))]}))
		}
		return append(all, answers)
	}
	broke := 0
	for range rounds {
		synctest.Test(t, func(t *testing.T) {
			all := []*queued{newQueued(catalog.Anthropic, "a", "b"), newQueued(catalog.OpenAI, "c"), newQueued(catalog.Gemini, "d")}
			for _, q := range all {
				for _, key := range q.keys {
					q.play(key, queue()...)
				}
			}
			chat := fleet(t, all...)
			chat.Fallbacks = map[string][]string{haiku: {gpt, flash}}
			stream, _, err := streamOf(t.Context(), chat, ask(haiku))
			if err != nil {
				return
			}
			made := 0
			for _, q := range all {
				made += len(q.calls())
			}
			roles, nth, pieces := 0, "", 0
			for event, err := range stream {
				if err != nil {
					broke++
					continue
				}
				if event.Kind == llm.EventBegin {
					roles++
					continue
				}
				call, piece, _ := strings.Cut(event.Text, ".")
				if pieces > 0 && call != nth || piece != fmt.Sprint(pieces, " ") {
					t.Errorf("seed %d: piece %q after %d of call %s", seed, event.Text, pieces, nth)
				}
				nth, pieces = call, pieces+1
			}
			for _, q := range all {
				made -= len(q.calls())
			}
			if roles != 1 || made != 0 {
				t.Errorf("seed %d: %d role chunks, %d calls more", seed, roles, -made)
			}
			allIdle(t, chat)
		})
	}
	if broke < rounds/10 {
		t.Errorf("seed %d: only %d of %d broke off", seed, broke, rounds)
	}
}

func TestClientThatLeavesDuringAPauseEndsTheCallAtOnce(t *testing.T) {
	stopping := &api.Error{Status: 503, Code: api.CodeServiceUnavailable}
	for _, why := range []error{context.Canceled, stopping} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				q, other := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(503, retryAfter(4*time.Second))), answers),
					newQueued(catalog.OpenAI, "b")
				chat := fleet(t, q, other)
				chat.Fallbacks = map[string][]string{haiku: {gpt}}
				ctx, leave := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { leave(why) })
				began := time.Now()
				_, _, err := w.ask(ctx, chat, ask(haiku))
				if !errors.Is(err, why) || time.Since(began) != time.Second || len(q.calls()) != 1 || len(other.calls()) != 0 {
					t.Errorf("%s: %v after %s and %d calls", w.name, err, time.Since(began), len(q.calls()))
				}
				allIdle(t, chat)
			})
		}
	}
}

func TestNoOtherModelIsCalledForAClientThatLeft(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			q, other := newQueued(catalog.Anthropic, "a", "b"), newQueued(catalog.OpenAI, "c")
			gone := func(context.Context) error { leave(); return providerFault(401) } // it failed just then
			q.play("a", gone).play("b", gone)
			chat := fleet(t, q, other)
			chat.Fallbacks = map[string][]string{haiku: {gpt}}
			_, _, err := w.ask(ctx, chat, ask(haiku))
			if !errors.Is(err, context.Canceled) || len(q.calls()) != 1 || len(other.calls()) != 0 {
				t.Errorf("%s: %v after %d calls, and %d of another model", w.name, err, len(q.calls()), len(other.calls()))
			}
			allIdle(t, chat)
		})
	}
}

func TestPauseIsRandomBelowABoundThatDoubles(t *testing.T) {
	const draws = 4000
	for retries := range 5 {
		longest := 250 * time.Millisecond << retries
		var quarters [4]int
		for range draws {
			d := backoff(retries, 0)
			if d < 0 || d >= longest {
				t.Fatalf("after %d retries: %s, which is not below %s", retries, d, longest)
			}
			quarters[4*d/longest]++
		}
		if slices.Min(quarters[:]) < draws/5 {
			t.Errorf("after %d retries the quarters of %s have %v", retries, longest, quarters)
		}
	}
}

func TestPausesAreMadeBetweenTheRetries(t *testing.T) {
	var waited [2]time.Duration
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			q := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(500)), fails(providerFault(500)), answers)
			if _, _, err := completeOf(t.Context(), fleet(t, q), ask(haiku)); err != nil {
				t.Fatal(err)
			}
			calls := q.calls()
			for i := range waited {
				gap := calls[i+1].at.Sub(calls[i].at)
				if gap >= 250*time.Millisecond<<i {
					t.Errorf("%s before retry %d", gap, i+1)
				}
				waited[i] = max(waited[i], gap)
			}
		})
	}
	if waited[0] < 125*time.Millisecond || waited[1] < 250*time.Millisecond {
		t.Errorf("at most %v was waited in fifty rounds", waited)
	}
}

func TestRetryWaitsAtLeastTheRetryAfterOfTheUpstream(t *testing.T) {
	for _, tt := range []struct{ asked, least, most time.Duration }{
		{time.Millisecond, time.Millisecond, 250 * time.Millisecond},
		{3 * time.Second, 3 * time.Second, 3 * time.Second},
		{5 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		for _, status := range []int{429, 503} {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(status, retryAfter(tt.asked))), answers)
				began := time.Now()
				_, _, err := completeOf(t.Context(), fleet(t, q), ask(haiku))
				if took := time.Since(began); err != nil || took < tt.least || took > tt.most {
					t.Errorf("status %d and %s: %v after %s", status, tt.asked, err, took)
				}
			})
		}
	}
}

func TestRetryAfterOverFiveSecondsIsPassedToTheClient(t *testing.T) {
	for _, status := range []int{429, 503} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				const asked = 5*time.Second + time.Millisecond
				q := newQueued(catalog.Anthropic, "a").play("a", fails(providerFault(status, retryAfter(asked))), answers)
				chat := fleet(t, q)
				began := time.Now()
				_, _, err := w.ask(t.Context(), chat, ask(haiku))
				e := api.AsError(err)
				if e.UpstreamStatus != status || e.RetryAfter != asked || !e.ShouldRetry() || time.Since(began) != 0 ||
					len(q.calls()) != 1 {
					t.Errorf("status %d, %s: %v after %s and %d calls", status, w.name, err, time.Since(began), len(q.calls()))
				}
				if n := retried(chat.Upstreams[catalog.Anthropic]); n != 0 {
					t.Errorf("status %d, %s: %d retries are counted", status, w.name, n)
				}
			})
		}
	}
}
