package gatewaytest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/servertest"
)

// ReplicaPair is two replicas on one PostgreSQL and one Redis, which a test may
// stop.
type ReplicaPair struct {
	*Replicas
	Redis   *servertest.RedisServer
	Token   []string
	refused atomic.Int64 // calls of CallTogether
}

// StartReplicaPair starts two replicas, with more settings than their storage.
func StartReplicaPair(t *testing.T, more ...string) *ReplicaPair {
	t.Helper()
	redis := servertest.StartRedis(t)
	settings := append([]string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + redis.URL}, more...)
	r := StartReplicas(t, NewPricedUpstream(t), 2, settings...)
	return &ReplicaPair{Replicas: r, Redis: redis, Token: r.Programs[0].Login(t)}
}

// CallTogether makes so many calls at once on these replicas, of so many tokens
// each, and returns how many were served. The others must be refused with 429 by
// the gateway.
func (p *ReplicaPair) CallTogether(calls int, key string, in, out int64, at ...*Program) (served int64) {
	p.T.Helper()
	var all sync.WaitGroup
	var fine atomic.Int64
	for i := range calls {
		all.Go(func() {
			o := Send(p.T.Context(), p.Client, at[i%len(at)].URL, PricedRequest(in, out, out, fmt.Sprint("burst-", i), i%3 == 0), key)
			if wait, err := strconv.Atoi(o.Header.Get("Retry-After")); o.Status == 429 && err == nil && wait >= 1 && wait <= 60 &&
				o.Header.Get("X-Should-Retry") == "true" && strings.Contains(o.Body, `"rate_limit_exceeded"`) &&
				strings.Contains(o.Body, fmt.Sprint("try again in ", wait, "s")) {
				p.refused.Add(1)
			} else if o.Served(p.T) {
				fine.Add(1)
			}
		})
	}
	all.Wait()
	return fine.Load()
}

// CountConcurrent returns how many of 24 calls run at once: the upstream answers
// none of them before each has reached it or was refused.
func (p *ReplicaPair) CountConcurrent(key string, at ...*Program) int64 {
	p.T.Helper()
	const calls = 24
	Until(p.T, "the upstream is done with those before", func() bool { return p.Upstream.Live.Load() == 0 })
	p.refused.Store(0)
	p.Upstream.Hold.Lock()
	go func() { // ends with the calls, or when they never come
		defer p.Upstream.Hold.Unlock()
		for began := time.Now(); p.Upstream.Live.Load()+p.refused.Load() < calls && time.Since(began) < Patience; {
			time.Sleep(time.Millisecond)
		}
	}()
	return p.CallTogether(calls, key, 1, 1, at...)
}

// AwaitSharedLimit waits until four calls of a key run at once on each replica
// alone and on both together. A replica that has waited too long for Redis still
// counts alone.
func (p *ReplicaPair) AwaitSharedLimit(key string) {
	p.T.Helper()
	const limit = 4
	has := func(most int64, at ...*Program) bool {
		n := p.CountConcurrent(key, at...)
		if n > most {
			p.T.Errorf("%d ran at once on %d replicas", n, len(at))
		}
		return n == limit
	}
	const enough = 3 * Patience // each round needs a time in which Redis is never late
	Eventually(p.T, enough, "each has all of it", func() bool {
		return has(limit, p.Programs[0]) && has(2*limit, p.Programs...) && has(limit, p.Programs[1])
	})
}

// AwaitTotals is AwaitBalance for marks that were used more than once.
func (p *ReplicaPair) AwaitTotals() {
	p.T.Helper()
	Until(p.T, "the ledger balances", func() bool {
		return Sum(p.T, p.DB, "SELECT count(*) FROM ledger_calls") == p.Upstream.Calls.Load() &&
			Sum(p.T, p.DB, "SELECT sum(cost) FROM spend WHERE account = 'gateway'") == p.Upstream.Charged.Load()
	})
}
