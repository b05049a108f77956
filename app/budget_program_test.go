package app

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/models/servertest"
)

// trials are few by default; RACE=100 makes them a hundred.
func trials(few int) int {
	if n, err := strconv.Atoi(os.Getenv("RACE")); err == nil && n > 0 {
		return n
	}
	return few
}

// race is one budget that many spend from at once.
type race struct {
	t        *testing.T
	programs []*program
	upstream *tariff
	client   *http.Client
	db       *sql.DB
}

func newRace(t *testing.T, u *tariff, replicas int, settings ...string) *race {
	t.Helper()
	r := &race{t: t, upstream: u, client: crowd(t)}
	for range replicas {
		r.programs = append(r.programs, start(t, u.settings(settings...)...))
	}
	r.db = settled(t, settings)
	return r
}

// spree is 500 calls at once over all programs with these keys in turn. It
// returns how many were served. Some cost all that they could.
func (r *race) spree(name string, keys ...string) (served int64) {
	r.t.Helper()
	const calls, most = 500, 2000
	exact := rand.IntN(2) == 0
	var all sync.WaitGroup
	var fine atomic.Int64
	gate := make(chan struct{})
	for i := range calls {
		in, out := 1+rand.Int64N(299), rand.Int64N(most+1) // no provider counts a prompt of nothing
		if exact {
			out = most
		}
		body := paying(in, out, most, fmt.Sprint(name, "-", i), i%3 == 0)
		all.Go(func() {
			<-gate
			if pay(r.t.Context(), r.client, r.programs[i%len(r.programs)].url, body, keys[i%len(keys)]).fits(r.t) {
				fine.Add(1)
			}
		})
	}
	close(gate)
	all.Wait()
	return fine.Load()
}

// rest spends what is left of a budget, one call after the other. What remains
// in the end is less than a call could cost: nothing stays reserved.
func (r *race) rest(name, account, key string, limit int64) (spent int64) {
	r.t.Helper()
	const most = 2000
	last := time.Now()
	for i := 0; ; i++ {
		body := paying(300, most, most, fmt.Sprint(name, "-rest-", i), false)
		bound := int64(priceIn*(len(body)+256+16) + priceOut*most)
		if pay(r.t.Context(), r.client, r.programs[i%len(r.programs)].url, body, key).fits(r.t) {
			last = time.Now()
			continue
		}
		spent := sum(r.t, r.db, "SELECT sum(cost) FROM spend WHERE account = $1", account)
		if limit-spent < bound {
			return spent
		}
		if time.Since(last) > 30*time.Second {
			r.t.Errorf("%s: %d of %d are spent, and a call of %d does not fit", name, spent, limit, bound)
			return spent
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// settledAt waits until the ledger has what the upstream has charged.
func (r *race) settledAt(account string, charged int64) {
	r.t.Helper()
	eventually(r.t, 20*time.Second, "the ledger has everything", func() bool {
		return sum(r.t, r.db, "SELECT sum(cost) FROM spend WHERE account = $1", account) == charged
	})
}

// eachKey races for the budgets of keys, one after the other, and then spends
// what is left of all of them.
func (r *race) eachKey(n int) {
	t := r.t
	t.Helper()
	token := r.programs[0].login(t)
	type one struct {
		name, id, key string
		limit         int64
	}
	keys := make([]one, n)
	began, served, before := time.Now(), int64(0), int64(0)
	fullest, emptiest := 0.0, 100.0
	for i := range keys {
		k := &keys[i]
		k.name, k.limit = fmt.Sprint("t", i), 200_000+rand.Int64N(25_000_000)
		window := []string{"day", "week", "month", "total"}[i%4]
		k.id, k.key = r.programs[0].newKey(t, token, fmt.Sprintf(`"budget_usd":%s,"budget_window":%q`, dollarsOf(k.limit), window))
		served += r.spree(k.name, k.key)
		charged := r.upstream.charged.Load() - before
		before += charged
		if charged > k.limit {
			t.Errorf("%s: a budget of %d was overdrawn: %d", k.name, k.limit, charged)
		}
		part := 100 * float64(charged) / float64(k.limit)
		fullest, emptiest = max(fullest, part), min(emptiest, part)
		r.settledAt("key:"+k.id, charged)
	}
	raced := time.Since(began)
	var all sync.WaitGroup
	limits := make(chan struct{}, 4) // at once
	for _, k := range keys {
		all.Go(func() {
			limits <- struct{}{}
			defer func() { <-limits }()
			r.rest(k.name, "key:"+k.id, k.key, k.limit)
		})
	}
	all.Wait()
	charged := r.upstream.charged.Load()
	r.settledAt("gateway", charged)
	left := 100.0
	for _, k := range keys {
		spent := sum(t, r.db, "SELECT sum(cost) FROM spend WHERE account = $1", "key:"+k.id)
		if spent > k.limit {
			t.Errorf("%s: %d of %d", k.name, spent, k.limit)
		}
		left = min(left, 100*float64(spent)/float64(k.limit))
	}
	r.balances()
	t.Logf("%d trials in %s: %d served; at once they spent %.2f %% to %.2f %% of a budget; in the end at least %.2f %%",
		n, raced.Round(time.Millisecond), served, emptiest, fullest, left)
}

// balances holds the ledger against what the upstream was asked for, call by call.
func (r *race) balances() {
	t := r.t
	t.Helper()
	eventually(t, 20*time.Second, "a row for each call", func() bool {
		return sum(t, r.db, "SELECT count(*) FROM calls") == r.upstream.asked.Load()
	})
	for query, want := range map[string]int64{
		"SELECT count(*) FROM calls":                            r.upstream.asked.Load(),
		"SELECT count(DISTINCT request_id) FROM calls":          r.upstream.asked.Load(),
		"SELECT sum(cost) FROM calls":                           r.upstream.charged.Load(),
		"SELECT sum(cost) FROM usage_days":                      r.upstream.charged.Load(),
		"SELECT sum(calls) FROM usage_days":                     r.upstream.asked.Load(),
		"SELECT sum(cost) FROM spend WHERE account = 'gateway'": r.upstream.charged.Load(),
		"SELECT count(*) FROM calls WHERE estimated":            0,
	} {
		if got := sum(t, r.db, query); got != want {
			t.Errorf("%s: %d, not %d", query, got, want)
		}
	}
}

func TestABudgetIsNotOverdrawnBy500CallsAtOnceOverTwoPrograms(t *testing.T) {
	t.Parallel()
	u := newTariff(t)
	r := newRace(t, u, 2, "DATABASE_URL="+servertest.Postgres(t), "REDIS_URL="+servertest.Redis(t))
	r.eachKey(trials(4))
}

func TestABudgetIsNotOverdrawnWithoutRedis(t *testing.T) {
	t.Parallel()
	r := newRace(t, newTariff(t), 2, "DATABASE_URL="+servertest.Postgres(t))
	r.eachKey(trials(2))
}

func TestABudgetIsNotOverdrawnOnTheEmbeddedDatabase(t *testing.T) {
	t.Parallel()
	r := newRace(t, newTariff(t), 1, "DATABASE_URL=sqlite:"+t.TempDir()+"/gateway.db")
	r.eachKey(trials(2))
}

func TestTheGatewaysOwnBudgetIsNotOverdrawnByAllKeysTogether(t *testing.T) {
	t.Parallel()
	for i := range max(trials(2)/10, 2) {
		limit := 2_000_000 + rand.Int64N(20_000_000)
		u := newTariff(t)
		r := newRace(t, u, 2, "DATABASE_URL="+servertest.Postgres(t), "REDIS_URL="+servertest.Redis(t),
			"MAX_BUDGET_USD="+dollarsOf(limit), "MAX_BUDGET_WINDOW="+[]string{"total", "day"}[i%2])
		token := r.programs[0].login(t)
		var keys []string
		for j := range 4 {
			budget := `"tpm_limit":null` // none
			if j == 0 {
				budget = `"budget_usd":1` // of which both are paid
			}
			_, key := r.programs[0].newKey(t, token, budget)
			keys = append(keys, key)
		}
		served := r.spree("all", keys...)
		charged := u.charged.Load()
		if charged > limit {
			t.Errorf("a budget of %d was overdrawn: %d", limit, charged)
		}
		r.settledAt("gateway", charged)
		if spent := sum(t, r.db, "SELECT max(cost) FROM spend WHERE account = $1", "key:"+fmt.Sprint(i)); spent > 1_000_000 {
			t.Errorf("a key spent %d", spent)
		}
		spent := r.rest("rest", "gateway", keys[1], limit)
		if now := u.charged.Load(); now > limit || spent != now {
			t.Errorf("%d of %d, and the ledger has %d", now, limit, spent)
		}
		r.balances()
		t.Logf("%d served, %.2f %% at once, %.2f %% in the end", served, 100*float64(charged)/float64(limit), 100*float64(spent)/float64(limit))
	}
}
