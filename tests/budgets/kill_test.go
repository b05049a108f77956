package budgets

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

// killed starts a replica, has it make calls, and kills it while some of them run.
type killed struct {
	*gatewaytest.Replicas

	id, key  string
	finished int64 // calls before
	live     int64 // calls that ran for longer than a heartbeat
	late     int64 // calls that had just begun
	at       time.Time
}

const (
	heartbeat = 5 * time.Second
	maxLive   = 2000 // tokens of output
)

func killReplica(t *testing.T, u *gatewaytest.PricedUpstream, settings []string) *killed {
	t.Helper()
	k := &killed{finished: 20, live: 30, late: 3, Replicas: &gatewaytest.Replicas{
		T: t, Upstream: u, Client: gatewaytest.ParallelClient(t), DB: gatewaytest.OpenDatabase(t, settings),
	}}
	doomed := gatewaytest.Launch(t, nil, u.Settings(settings...)...)
	k.id, k.key = doomed.CreateLimitedKey(t, doomed.Login(t), `"budget_usd":12,"budget_window":"total"`)
	for i := range k.finished {
		body := gatewaytest.PricedRequest(100, 100, 200, fmt.Sprint("before-", i), i%2 == 0)
		if !gatewaytest.Send(t.Context(), k.Client, doomed.URL, body, k.key).Served(t) {
			t.Fatal("no room at the beginning")
		}
	}
	gatewaytest.Until(t, "the first rows", func() bool {
		return gatewaytest.Sum(t, k.DB, "SELECT count(*) FROM ledger_calls") == k.finished
	})
	u.Delay.Store(int64(time.Minute))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var all sync.WaitGroup
	start := func(name string, calls int64) {
		before := u.Calls.Load()
		for i := range calls {
			all.Go(func() {
				gatewaytest.Send(ctx, k.Client, doomed.URL, gatewaytest.PricedRequest(300, maxLive, maxLive, fmt.Sprint(name, i), i%2 == 0), k.key)
			})
		}
		gatewaytest.Until(t, "calls are under way", func() bool { return u.Calls.Load() == before+calls })
	}
	start("live-", k.live)
	gatewaytest.Eventually(t, 3*heartbeat, "the calls are noted", func() bool {
		return gatewaytest.Sum(t, k.DB, "SELECT count(*) FROM running_calls") == k.live
	})
	start("late-", k.late)
	u.Delay.Store(0)
	doomed.Signal(t, syscall.SIGKILL)
	k.at = time.Now()
	doomed.Wait(t)
	leave()
	all.Wait()
	return k
}

// check compares the ledger after the lease with what the upstream was asked.
func (k *killed) check() {
	t := k.T
	t.Helper()
	const most = maxLive * gatewaytest.OutputPrice
	for query, want := range map[string]int64{
		"SELECT count(*) FROM running_calls":                                                                   0,
		"SELECT count(*) FROM ledger_calls":                                                                    k.finished + k.live,
		"SELECT count(DISTINCT request_id) FROM ledger_calls":                                                  k.finished + k.live,
		"SELECT count(*) FROM ledger_calls WHERE outcome = 'ok' AND cost = 100 * 30 + 100 * 60":                k.finished,
		fmt.Sprint("SELECT count(*) FROM ledger_calls WHERE outcome = 'lost' AND estimated AND cost > ", most): k.live,
		"SELECT sum(cost) - (SELECT sum(cost) FROM ledger_calls) FROM spend WHERE account = 'gateway'":         0,
		"SELECT sum(cost) - (SELECT sum(cost) FROM ledger_calls) FROM spend WHERE account LIKE 'key:%'":        0,
	} {
		if got := gatewaytest.Sum(t, k.DB, query); got != want {
			t.Errorf("%s: %d, not %d", query, got, want)
		}
	}
	cost := gatewaytest.Sum(t, k.DB, "SELECT sum(cost) FROM ledger_calls")
	if sum := storetest.Usage(t, k.DB); sum.Calls != k.finished+k.live || sum.Cost != cost {
		t.Errorf("the sums are %+v, and the rows cost %d", sum, cost)
	}
}

func (k *killed) awaitRows() {
	k.T.Helper()
	gatewaytest.Until(k.T, "a row for each call", func() bool {
		return gatewaytest.Sum(k.T, k.DB, "SELECT count(*) FROM ledger_calls") >= k.finished+k.live
	})
}

func TestCallsOfAKilledReplicaAreBookedWhenItsLeaseEnds(t *testing.T) {
	longtest.Skip(t) // waits for a lease of 20 s
	t.Parallel()
	u := gatewaytest.NewPricedUpstream(t)
	settings := []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)}
	k := killReplica(t, u, settings)
	for range 2 { // which start at once, and have no calls
		k.Programs = append(k.Programs, gatewaytest.Start(t, u.Settings(settings...)...))
	}
	k.awaitRows()
	took := time.Since(k.at)
	if took < 10*time.Second || took > 33*time.Second { // a lease of 20 s that is looked at every 5 s
		t.Errorf("the killed replica's calls are booked after %s", took)
	}
	time.Sleep(2 * heartbeat) // in which nothing more may be booked
	k.check()
	const limit = 12_000_000
	if spent := k.SpendRest("rest", "key:"+k.id, k.key, limit); spent > limit {
		t.Errorf("%d of %d", spent, limit)
	}
	t.Logf("booked %s after the kill", took.Round(time.Millisecond))
}

func TestCallsOfAKilledProcessAreBookedByTheNext(t *testing.T) {
	t.Parallel()
	u := gatewaytest.NewPricedUpstream(t)
	settings := []string{"DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "gateway.db")}
	k := killReplica(t, u, settings)
	k.Programs = []*gatewaytest.Program{gatewaytest.Start(t, u.Settings(settings...)...)}
	k.awaitRows()
	k.check()
	if held := gatewaytest.Sum(t, k.DB, "SELECT count(*) FROM budget_holds"); held != 0 {
		t.Errorf("%d holds of the killed process", held)
	}
}
