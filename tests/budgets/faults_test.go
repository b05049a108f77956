package budgets

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"modelgateway/models/servertest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

func TestKilledReplicaLeavesNoReservationAndNoDuplicateRow(t *testing.T) {
	longtest.Skip(t) // waits for a lease of 20 s
	t.Parallel()
	u := gatewaytest.NewPricedUpstream(t)
	settings := []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)}
	doomed, other := gatewaytest.Launch(t, nil, u.Settings(settings...)...), gatewaytest.Launch(t, nil, u.Settings(settings...)...)
	r := &gatewaytest.Replicas{
		T:        t,
		Upstream: u,
		Client:   gatewaytest.ParallelClient(t),
		DB:       gatewaytest.OpenDatabase(t, settings),
		Programs: []*gatewaytest.Program{other.Program},
	}
	const limit, before, live, most = 8_000_000, 20, 30, 2000
	id, key := doomed.CreateLimitedKey(t, doomed.Login(t), `"budget_usd":8,"budget_window":"total"`)
	for i := range before {
		if !gatewaytest.Send(t.Context(), r.Client, doomed.URL, gatewaytest.PricedRequest(100, 100, 200, fmt.Sprint("before-", i), i%2 == 0), key).
			Served(t) {
			t.Fatal("no room at the beginning")
		}
	}
	gatewaytest.Eventually(
		t, 5*time.Second, "the first rows",
		func() bool { return gatewaytest.Sum(t, r.DB, "SELECT count(*) FROM calls") == before },
	)
	charged := u.Charged.Load()

	u.Delay.Store(int64(time.Minute))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var all sync.WaitGroup
	for i := range live {
		all.Go(func() {
			gatewaytest.Send(ctx, r.Client, doomed.URL, gatewaytest.PricedRequest(300, most, most, fmt.Sprint("live-", i), i%2 == 0), key)
		})
	}
	gatewaytest.Eventually(t, 10*time.Second, "calls are under way", func() bool { return u.Calls.Load() == before+live })
	u.Delay.Store(0)
	lost := u.Charged.Load() - charged
	doomed.Signal(t, syscall.SIGKILL)
	killed := time.Now()
	doomed.Wait(t)
	leave()
	all.Wait()

	spent := r.SpendRest("rest", "key:"+id, key, limit)
	took := time.Since(killed)
	if took < 10*time.Second || took > 28*time.Second { // a lease of 20 s, checked periodically
		t.Errorf("what the killed one had reserved was free after %s", took)
	}
	if now := u.Charged.Load() - lost; spent > limit || spent != now {
		t.Errorf("%d of %d; the upstream charged %d", spent, limit, now)
	}
	for query, want := range map[string]int64{
		"SELECT count(*) FROM calls":                                           u.Calls.Load() - live,
		"SELECT count(DISTINCT request_id) FROM calls":                         u.Calls.Load() - live,
		"SELECT sum(cost) FROM calls":                                          spent,
		"SELECT sum(calls) FROM usage_days":                                    u.Calls.Load() - live,
		"SELECT count(*) FROM calls WHERE cost = 100 * 30 + 100 * 60":          before,
		"SELECT sum(cost) FROM spend WHERE account = 'gateway' AND cost < 1e9": spent,
	} {
		if got := gatewaytest.Sum(t, r.DB, query); got != want {
			t.Errorf("%s: %d, not %d", query, got, want)
		}
	}
	t.Logf("%s after the kill %d of %d are spent", took.Round(time.Millisecond), spent, limit)
}

// outcomeCounts counts calls by their outcome.
type outcomeCounts struct{ ok, unavailable, other atomic.Int64 }

// startLoad starts callers that call until stop is closed.
func startLoad(
	t *testing.T, u *gatewaytest.PricedUpstream, stop <-chan struct{}, now *atomic.Pointer[outcomeCounts],
	url, key, name string,
) *sync.WaitGroup {
	t.Helper()
	client := gatewaytest.ParallelClient(t)
	var all sync.WaitGroup
	for c := range 8 {
		all.Go(func() {
			tick := time.NewTicker(40 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				got := gatewaytest.Send(
					t.Context(), client, url,
					gatewaytest.PricedRequest(100, 500, 600, fmt.Sprintf("%s-%d-%d", name, c, i), i%2 == 0), key,
				)
				in := now.Load()
				switch {
				case got.Err == nil && got.Status == 200 && strings.Contains(got.Body, "fine"):
					in.ok.Add(1)
				case got.Err == nil && got.Status == http.StatusServiceUnavailable && strings.Contains(got.Body, `"service_unavailable"`) && got.Header.Get("X-Should-Retry") == "true":
					in.unavailable.Add(1)
				default:
					if in.other.Add(1) < 5 {
						t.Errorf("%s: %d %v %s", name, got.Status, got.Err, got.Body)
					}
				}
			}
		})
	}
	return &all
}

func TestWithoutPostgreSQLOnlyLocalGrantsAreSpentAndNoRowIsLost(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name          string
		begin, finish func(s *servertest.PostgresServer)
	}{
		{"stopped", (*servertest.PostgresServer).Stop, (*servertest.PostgresServer).Restart},
		{"frozen", (*servertest.PostgresServer).Freeze, (*servertest.PostgresServer).Thaw},
		{"killed", (*servertest.PostgresServer).Kill, (*servertest.PostgresServer).Restart},
	} {
		for _, auth := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, auth %t", fault.name, auth), func(t *testing.T) {
				if fault.name != "stopped" || !auth {
					longtest.Skip(t)
				}
				t.Parallel()
				const limit = 400_000_000
				server, u := servertest.StartPostgres(t), gatewaytest.NewPricedUpstream(t)
				settings := []string{
					"DATABASE_URL=" + server.URL,
					"REDIS_URL=" + servertest.Redis(t),
					"MAX_BUDGET_USD=400",
					"MAX_BUDGET_WINDOW=total",
					fmt.Sprintf("REQUIRE_AUTH=%t", auth),
				}
				r := gatewaytest.StartReplicas(t, u, 2, settings...)
				key := ""
				if auth {
					_, key = r.Programs[0].CreateLimitedKey(t, r.Programs[0].Login(t), `"budget_usd":300`)
				}
				var now atomic.Pointer[outcomeCounts]
				before, during, after := &outcomeCounts{}, &outcomeCounts{}, &outcomeCounts{}
				now.Store(before)
				stop := make(chan struct{})
				var loads []*sync.WaitGroup
				for i, p := range r.Programs {
					loads = append(loads, startLoad(t, u, stop, &now, p.URL, key, fmt.Sprint("replica", i)))
				}
				time.Sleep(3 * time.Second)
				now.Store(during)
				fault.begin(server)
				time.Sleep(10 * time.Second)
				fault.finish(server)
				now.Store(after)
				served := u.Calls.Load()
				gatewaytest.Eventually(t, 15*time.Second, "it serves again", func() bool { return u.Calls.Load() > served+100 })
				close(stop)
				for _, load := range loads {
					load.Wait()
				}
				if charged := u.Charged.Load(); charged > limit {
					t.Errorf("a budget of %d was overdrawn: %d", limit, charged)
				}
				r.DB = gatewaytest.OpenSQL(t, server.URL)
				r.AwaitSpent("gateway", u.Charged.Load())
				r.AwaitBalance()
				t.Logf(
					"before %d served; without it %d, and %d unavailable; after it %d, and %d", before.ok.Load(),
					during.ok.Load(), during.unavailable.Load(), after.ok.Load(), after.unavailable.Load(),
				)
				if before.unavailable.Load() > 0 || during.ok.Load() < 20 || during.unavailable.Load() == 0 {
					t.Errorf(
						"before it %d unavailable; without it %d served, %d unavailable", before.unavailable.Load(),
						during.ok.Load(), during.unavailable.Load(),
					)
				}
			})
		}
	}
}
