package budgets

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

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
				got := gatewaytest.Send(t.Context(), client, url,
					gatewaytest.PricedRequest(100, 500, 600, fmt.Sprintf("%s-%d-%d", name, c, i), i%2 == 0), key)
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
				gatewaytest.Until(t, "what was granted is spent", func() bool { return during.unavailable.Load() > 0 })
				fault.finish(server)
				now.Store(after)
				served := u.Calls.Load()
				gatewaytest.Until(t, "it serves again", func() bool { return u.Calls.Load() > served+100 })
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
				t.Logf("before %d served; without it %d, and %d unavailable; after it %d, and %d", before.ok.Load(),
					during.ok.Load(), during.unavailable.Load(), after.ok.Load(), after.unavailable.Load())
				if before.unavailable.Load() > 0 || during.ok.Load() < 5 || during.unavailable.Load() == 0 {
					t.Errorf("before it %d unavailable; without it %d served, %d unavailable", before.unavailable.Load(),
						during.ok.Load(), during.unavailable.Load())
				}
			})
		}
	}
}
