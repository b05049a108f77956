package routing

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/catalog"
)

// Half of the calls fail, which is too few to open the circuit.
func TestRetriesToAFailingProviderStayUnderATenthOfItsCalls(t *testing.T) {
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

func TestEachProviderHasItsOwnRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := fails(providerFault(500))
		one, other := newQueued(catalog.Anthropic, "a"), newQueued(catalog.OpenAI, "b")
		chat := fleet(t, one, other)
		spendRetries(chat.Upstreams[catalog.Anthropic])
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

func TestClientsThatLeaveDoNotExtendTheRetryBudget(t *testing.T) {
	for _, w := range ways() {
		q := newQueued(catalog.Anthropic, "a").play("a", fails(context.Canceled))
		chat := fleet(t, q)
		for range 1000 {
			_, _, _ = w.ask(t.Context(), chat, ask(haiku))
		}
		if n := spendRetries(chat.Upstreams[catalog.Anthropic]); n != fewRetries {
			t.Errorf("%s: %d retries after all clients left", w.name, n)
		}
	}
}

func TestCallsWithoutRetriesTakeNothingFromTheRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, other := newQueued(catalog.Anthropic, "a", "b", "c"), newQueued(catalog.OpenAI, "d")
		chat := fleet(t, q, other)
		chat.Fallbacks = map[string][]string{haiku: {gpt}}
		for _, fault := range []error{providerFault(401), providerFault(429), providerFault(404), providerFault(503, final),
			providerFault(503, retryAfter(time.Minute))} {
			for _, key := range q.keys {
				q.play(key, fails(fault))
			}
			if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err != nil {
				t.Errorf("%v: %v", fault, err)
			}
			time.Sleep(time.Second) // the cooldowns
		}
		if n := retried(chat.Upstreams[catalog.Anthropic]) + retried(chat.Upstreams[catalog.OpenAI]); n != 0 {
			t.Errorf("%d are counted as retries", n)
		}
	})
}
