package services

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/models/catalog"
)

// spend retries until there are none left; each is a call that fails as well.
func spend(w *window) (retries int) {
	for w.retry() {
		w.add(true)
		retries++
	}
	return retries
}

func TestG19RetriesAreATenthOfTheCallsOrTenAMinute(t *testing.T) {
	for calls, most := range map[int]int{0: 10, 1: 10, 99: 10, 109: 10, 110: 11, 1000: 100, 10_000: 1000} {
		c := &clock{november}
		w := newWindow(time.Minute, c.now)
		for range calls {
			w.add(true)
		}
		if n := spend(w); n != most {
			t.Errorf("%d retries of %d calls, not %d", n, calls, most)
		}
		c.at = c.at.Add(50 * time.Second)
		if n := spend(w); n != 0 {
			t.Errorf("%d more retries of %d calls in the same minute", n, calls)
		}
		c.at = c.at.Add(10 * time.Second)
		if n := spend(w); n != 10 {
			t.Errorf("%d retries in the minute after one of %d calls", n, calls)
		}
	}
}

func TestG19TheBudgetHoldsForACrowd(t *testing.T) {
	const crowd, calls = 200, 1000
	w := newWindow(time.Minute, (&clock{november}).now)
	for range calls {
		w.add(true)
	}
	var all sync.WaitGroup
	var retries atomic.Int64
	for range crowd {
		all.Go(func() {
			for range 10 {
				if w.retry() {
					retries.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := retries.Load(); n != calls/(retryShare+1)+1 { // they are counted as calls that have not ended
		t.Errorf("%d retries of %d calls", n, calls)
	}
}

// A half of all calls fails, which is too little for the circuit to open.
func TestG19AFailingProviderIsNotSentATenthMoreThanClientsAsk(t *testing.T) {
	const crowd, each, calm = 200, 20, 100
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			var nth atomic.Int64
			every2nd := func(context.Context) error {
				if nth.Add(1)%2 == 0 {
					return nil
				}
				return providerFault(500)
			}
			q := newQueued(catalog.Anthropic, "a").play("a", every2nd)
			chat := fleet(t, q)
			var all sync.WaitGroup
			var failed atomic.Int64
			retries := chat.Retries
			chat.Retries = 0
			for range calm { // one by one, so that what a crowd reports first is not all there is
				_, _, _ = w.ask(t.Context(), chat, ask(haiku))
			}
			chat.Retries = retries
			for range crowd {
				all.Go(func() {
					for range each {
						if _, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil {
							failed.Add(1)
						}
						time.Sleep(rand.N(2 * time.Second))
					}
				})
			}
			all.Wait()
			const clients = crowd*each + calm
			extra := len(q.calls()) - clients
			if extra > clients/10 || extra < clients/20 || failed.Load() == 0 {
				t.Errorf("%s: %d calls more than the %d of clients, %d of which failed", w.name, extra, clients, failed.Load())
			}
			allIdle(t, chat)
		})
	}
}

func TestG19TheBudgetOfOneProviderIsNotAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := fails(providerFault(500))
		one, other := newQueued(catalog.Anthropic, "a"), newQueued(catalog.OpenAI, "b")
		chat := fleet(t, one, other)
		spend(chat.Upstreams[catalog.Anthropic].traffic)
		one.play("a", fault, answers)
		other.play("b", fault, fault, answers)
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err == nil || one.asked() != "a" {
			t.Errorf("beyond the budget: %v after %q", err, one.asked())
		}
		if _, _, err := completeOf(t.Context(), chat, ask(gpt)); err != nil || other.asked() != "bbb" {
			t.Errorf("another provider: %v after %q", err, other.asked())
		}
	})
}

func TestG19ClientsThatLeaveMakeTheBudgetNoLarger(t *testing.T) {
	for _, w := range ways() {
		q := newQueued(catalog.Anthropic, "a").play("a", fails(context.Canceled))
		chat := fleet(t, q)
		for range 1000 {
			_, _, _ = w.ask(t.Context(), chat, ask(haiku))
		}
		if n := spend(chat.Upstreams[catalog.Anthropic].traffic); n != fewRetries {
			t.Errorf("%s: %d retries after nobody waited for an answer", w.name, n)
		}
	}
}

func TestG19CallsThatNobodyAskedTwiceForTakeNothingFromTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, other := newQueued(catalog.Anthropic, "a", "b", "c"), newQueued(catalog.OpenAI, "d")
		chat := fleet(t, q, other)
		chat.Fallbacks = map[string][]string{haiku: {gpt}}
		for _, fault := range []error{providerFault(401), providerFault(429), providerFault(404), providerFault(503, final), providerFault(503, retryAfter(time.Minute))} {
			for _, key := range q.keys {
				q.play(key, fails(fault))
			}
			if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
				t.Errorf("%v: %v", fault, err)
			}
			time.Sleep(time.Second) // the rests
		}
		if n := retriesOf(chat.Upstreams[catalog.Anthropic]) + retriesOf(chat.Upstreams[catalog.OpenAI]); n != 0 {
			t.Errorf("%d are counted as retries", n)
		}
	})
}
