package budgets

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// trials is how often a race is run: few times, full times where the long tests
// run, or as often as the variable RACE says.
func trials(few, full int) int {
	if n, err := strconv.Atoi(os.Getenv("RACE")); err == nil && n > 0 {
		return n
	}
	return longtest.Size(few, full)
}

// eachKey spends the budget of one key after the other with concurrent calls, and
// then what is left of all budgets.
func eachKey(r *gatewaytest.Replicas, n int) {
	t := r.T
	t.Helper()
	token := r.Programs[0].Login(t)
	type one struct {
		name, id, key string
		limit         int64
	}
	keys := make([]one, n)
	windows := []string{"day", "week", "month", "total"}
	first := rand.IntN(len(windows))
	began, served, before := time.Now(), int64(0), int64(0)
	fullest, emptiest := 0.0, 100.0
	for i := range keys {
		k := &keys[i]
		k.name, k.limit = fmt.Sprint("t", i), 200_000+rand.Int64N(25_000_000)
		window := windows[(first+i)%len(windows)]
		k.id, k.key = r.Programs[0].CreateLimitedKey(
			t,
			token,
			fmt.Sprintf(`"budget_usd":%s,"budget_window":%q`, dollarsOf(k.limit), window),
		)
		served += r.SpendAtOnce(k.name, k.key)
		charged := r.Upstream.Charged.Load() - before
		before += charged
		if charged > k.limit {
			t.Errorf("%s: a budget of %d was overdrawn: %d", k.name, k.limit, charged)
		}
		part := 100 * float64(charged) / float64(k.limit)
		fullest, emptiest = max(fullest, part), min(emptiest, part)
		r.AwaitSpent("key:"+k.id, charged)
	}
	raced := time.Since(began)
	var all sync.WaitGroup
	limits := make(chan struct{}, 4) // at once
	for _, k := range keys {
		all.Go(func() {
			limits <- struct{}{}
			defer func() { <-limits }()
			r.SpendRest(k.name, "key:"+k.id, k.key, k.limit)
		})
	}
	all.Wait()
	charged := r.Upstream.Charged.Load()
	r.AwaitSpent("gateway", charged)
	left := 100.0
	for _, k := range keys {
		spent := gatewaytest.Sum(t, r.DB, "SELECT sum(cost) FROM spend WHERE account = $1", "key:"+k.id)
		if spent > k.limit {
			t.Errorf("%s: %d of %d", k.name, spent, k.limit)
		}
		left = min(left, 100*float64(spent)/float64(k.limit))
	}
	r.AwaitBalance()
	t.Logf("%d trials in %s: %d served; at once they spent %.2f %% to %.2f %% of a budget; in the end at least %.2f %%",
		n, raced.Round(time.Millisecond), served, emptiest, fullest, left)
}

func TestBudgetIsNotOverdrawnBy500ConcurrentCallsOnTwoReplicas(t *testing.T) {
	t.Parallel()
	u := gatewaytest.NewPricedUpstream(t)
	r := gatewaytest.StartReplicas(t, u, 2, "DATABASE_URL="+servertest.Postgres(t), "REDIS_URL="+servertest.Redis(t))
	eachKey(r, trials(1, 4))
}

func TestBudgetIsNotOverdrawnWithoutRedis(t *testing.T) {
	t.Parallel()
	r := gatewaytest.StartReplicas(t, gatewaytest.NewPricedUpstream(t), 2, "DATABASE_URL="+servertest.Postgres(t))
	eachKey(r, trials(1, 2))
}

func TestBudgetIsNotOverdrawnOnSQLite(t *testing.T) {
	t.Parallel()
	r := gatewaytest.StartReplicas(t, gatewaytest.NewPricedUpstream(t), 1, "DATABASE_URL=sqlite:"+t.TempDir()+"/gateway.db")
	eachKey(r, trials(1, 2))
}

func TestGatewayBudgetIsNotOverdrawnByAllKeysTogether(t *testing.T) {
	t.Parallel()
	for i := range trials(1, 2) {
		limit := 2_000_000 + rand.Int64N(20_000_000)
		u := gatewaytest.NewPricedUpstream(t)
		r := gatewaytest.StartReplicas(t, u, 2, "DATABASE_URL="+servertest.Postgres(t), "REDIS_URL="+servertest.Redis(t),
			"MAX_BUDGET_USD="+dollarsOf(limit), "MAX_BUDGET_WINDOW="+[]string{"total", "day"}[i%2])
		token := r.Programs[0].Login(t)
		var keys []string
		for j := range 4 {
			budget := `"tpm_limit":null` // no budget
			if j == 0 {
				budget = `"budget_usd":1` // this budget and the gateway's both pay
			}
			_, key := r.Programs[0].CreateLimitedKey(t, token, budget)
			keys = append(keys, key)
		}
		served := r.SpendAtOnce("all", keys...)
		charged := u.Charged.Load()
		if charged > limit {
			t.Errorf("a budget of %d was overdrawn: %d", limit, charged)
		}
		r.AwaitSpent("gateway", charged)
		if spent := gatewaytest.Sum(t, r.DB, "SELECT max(cost) FROM spend WHERE account = $1", "key:"+fmt.Sprint(i)); spent > 1_000_000 {
			t.Errorf("a key spent %d", spent)
		}
		spent := r.SpendRest("rest", "gateway", keys[1], limit)
		if now := u.Charged.Load(); now > limit || spent != now {
			t.Errorf("%d of %d, and the ledger has %d", now, limit, spent)
		}
		r.AwaitBalance()
		t.Logf("%d served, %.2f %% at once, %.2f %% in the end", served, 100*float64(charged)/float64(limit),
			100*float64(spent)/float64(limit))
	}
}

func dollarsOf(micro int64) string { return fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000) }
