package app

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
)

func TestAKilledProgramLeavesNothingReservedAndNothingTwice(t *testing.T) {
	beTheProgram()
	t.Parallel()
	u := newTariff(t)
	settings := []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)}
	doomed, other := launch(t, nil, u.settings(settings...)...), launch(t, nil, u.settings(settings...)...)
	r := &race{t: t, upstream: u, client: crowd(t), db: settled(t, settings), programs: []*program{other.program}}
	const limit, before, live, most = 8_000_000, 20, 30, 2000
	id, key := doomed.newKey(t, doomed.login(t), `"budget_usd":8,"budget_window":"total"`)
	for i := range before {
		if !pay(t.Context(), r.client, doomed.url, paying(100, 100, 200, fmt.Sprint("before-", i), i%2 == 0), key).fits(t) {
			t.Fatal("no room at the beginning")
		}
	}
	eventually(t, 5*time.Second, "the first rows", func() bool { return sum(t, r.db, "SELECT count(*) FROM calls") == before })
	charged := u.charged.Load()

	u.takes.Store(int64(time.Minute))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var all sync.WaitGroup
	for i := range live {
		all.Go(func() { pay(ctx, r.client, doomed.url, paying(300, most, most, fmt.Sprint("live-", i), i%2 == 0), key) })
	}
	eventually(t, 10*time.Second, "calls are under way", func() bool { return u.asked.Load() == before+live })
	u.takes.Store(0)
	lost := u.charged.Load() - charged
	doomed.signal(t, syscall.SIGKILL)
	killed := time.Now()
	doomed.end(t)
	leave()
	all.Wait()

	spent := r.rest("rest", "key:"+id, key, limit)
	took := time.Since(killed)
	if took < 10*time.Second || took > 28*time.Second { // a lease of 20 s, looked at every so often
		t.Errorf("what the killed one had reserved was free after %s", took)
	}
	if now := u.charged.Load() - lost; spent > limit || spent != now {
		t.Errorf("%d of %d; the upstream charged %d", spent, limit, now)
	}
	for query, want := range map[string]int64{
		"SELECT count(*) FROM calls":                                           u.asked.Load() - live,
		"SELECT count(DISTINCT request_id) FROM calls":                         u.asked.Load() - live,
		"SELECT sum(cost) FROM calls":                                          spent,
		"SELECT sum(calls) FROM usage_days":                                    u.asked.Load() - live,
		"SELECT count(*) FROM calls WHERE cost = 100 * 30 + 100 * 60":          before,
		"SELECT sum(cost) FROM spend WHERE account = 'gateway' AND cost < 1e9": spent,
	} {
		if got := sum(t, r.db, query); got != want {
			t.Errorf("%s: %d, not %d", query, got, want)
		}
	}
	t.Logf("%s after the kill %d of %d are spent", took.Round(time.Millisecond), spent, limit)
}

// tally is how the calls of a time ended.
type tally struct{ ok, unavailable, other atomic.Int64 }

// load has callers call until stop is closed.
func (u *tariff) load(t *testing.T, stop <-chan struct{}, now *atomic.Pointer[tally], url, key, name string) *sync.WaitGroup {
	t.Helper()
	client := crowd(t)
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
				got := pay(t.Context(), client, url, paying(100, 500, 600, fmt.Sprintf("%s-%d-%d", name, c, i), i%2 == 0), key)
				in := now.Load()
				switch {
				case got.err == nil && got.status == 200 && strings.Contains(got.body, "fine"):
					in.ok.Add(1)
				case got.err == nil && got.status == http.StatusServiceUnavailable && strings.Contains(got.body, `"service_unavailable"`) && got.header.Get("X-Should-Retry") == "true":
					in.unavailable.Add(1)
				default:
					if in.other.Add(1) < 5 {
						t.Errorf("%s: %d %v %s", name, got.status, got.err, got.body)
					}
				}
			}
		})
	}
	return &all
}

func TestWithoutPostgreSQLTheLocalShareIsSpentAndNothingIsLost(t *testing.T) {
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
			if auth == (fault.name == "frozen") && trials(0) == 0 {
				continue // all of them only where there is time
			}
			t.Run(fmt.Sprintf("%s, auth %t", fault.name, auth), func(t *testing.T) {
				t.Parallel()
				const limit = 400_000_000
				server, u := servertest.StartPostgres(t), newTariff(t)
				settings := []string{"DATABASE_URL=" + server.URL, "REDIS_URL=" + servertest.Redis(t), "MAX_BUDGET_USD=400", "MAX_BUDGET_WINDOW=total", fmt.Sprintf("REQUIRE_AUTH=%t", auth)}
				r := newRace(t, u, 2, settings...)
				key := ""
				if auth {
					_, key = r.programs[0].newKey(t, r.programs[0].login(t), `"budget_usd":300`)
				}
				var now atomic.Pointer[tally]
				before, during, after := &tally{}, &tally{}, &tally{}
				now.Store(before)
				stop := make(chan struct{})
				var loads []*sync.WaitGroup
				for i, p := range r.programs {
					loads = append(loads, u.load(t, stop, &now, p.url, key, fmt.Sprint("replica", i)))
				}
				time.Sleep(3 * time.Second)
				now.Store(during)
				fault.begin(server)
				time.Sleep(10 * time.Second)
				fault.finish(server)
				now.Store(after)
				served := u.asked.Load()
				eventually(t, 15*time.Second, "it serves again", func() bool { return u.asked.Load() > served+100 })
				close(stop)
				for _, load := range loads {
					load.Wait()
				}
				if charged := u.charged.Load(); charged > limit {
					t.Errorf("a budget of %d was overdrawn: %d", limit, charged)
				}
				r.db = openSQL(t, server.URL)
				r.settledAt("gateway", u.charged.Load())
				r.balances()
				t.Logf("before %d served; without it %d, and %d unavailable; after it %d, and %d", before.ok.Load(), during.ok.Load(), during.unavailable.Load(), after.ok.Load(), after.unavailable.Load())
				if before.unavailable.Load() > 0 || during.ok.Load() < 20 || during.unavailable.Load() == 0 {
					t.Errorf("before it %d unavailable; without it %d served, %d unavailable", before.unavailable.Load(), during.ok.Load(), during.unavailable.Load())
				}
			})
		}
	}
}
