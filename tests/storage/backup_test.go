package storage

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// callAlways makes calls until the returned function is called, which returns after
// the last of them.
func callAlways(t *testing.T, p *gatewaytest.Program, key string) (stop func()) {
	t.Helper()
	const callers = 3
	ended, client := make(chan struct{}), gatewaytest.ParallelClient(t)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				if o := gatewaytest.Send(t.Context(), client, p.URL, gatewaytest.HelloRequest, key); o.Status != 200 {
					t.Errorf("a call during the backup: %d %s", o.Status, o.Body)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() { close(ended); all.Wait() })
}

func TestARestoredGatewayHasWhatTheFormerOneHad(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		way := byCommands(settings)
		if !strings.Contains(settings[0], "=sqlite:") {
			way = byRecipe(t, settings)
		}
		p := gatewaytest.Start(t, keeping(settings)...)
		c := populate(t, p)
		db := gatewaytest.OpenDatabase(t, settings)
		const count = "SELECT count(*) FROM calls"
		stop := callAlways(t, p, c.teams)
		defer stop()
		gatewaytest.Until(t, "the ledger has calls", func() bool { return gatewaytest.Sum(t, db, count) > 50 })
		before := gatewaytest.Sum(t, db, count)
		live := filepath.Join(t.TempDir(), "live.backup")
		way.backup(t, live)
		after := gatewaytest.Sum(t, db, count)
		gatewaytest.Until(t, "calls go on", func() bool { return gatewaytest.Sum(t, db, count) > after })
		stop()
		if about, err := os.Stat(live); err != nil || about.Mode().Perm() != 0o600 {
			t.Fatalf("the backup: %v, %v", about, err)
		}

		t.Run("a copy of a gateway that serves", func(t *testing.T) {
			to := way.restore(t, live)
			copied := gatewaytest.OpenDatabase(t, to)
			if calls := gatewaytest.Sum(t, copied, count); calls < before || calls > after {
				t.Errorf("%d calls; there were %d before and %d after the backup", calls, before, after)
			}
			cost := gatewaytest.Sum(t, copied, "SELECT sum(cost) FROM calls")
			for _, query := range []string{"SELECT sum(cost) FROM spend WHERE account = 'gateway'", "SELECT sum(cost) FROM usage_days"} {
				if sum := gatewaytest.Sum(t, copied, query); sum != cost || cost == 0 {
					t.Errorf("%s: %d, and the calls cost %d", query, sum, cost)
				}
			}
			c.check(t, gatewaytest.Start(t, keeping(to)...))
		})
		t.Run("each row", func(t *testing.T) {
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "whole.backup")
			way.backup(t, file)
			want, got := tables(t, settings), tables(t, way.restore(t, file))
			if len(want) < 15 || !slices.Equal(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))) {
				t.Fatalf("tables: %v, and of the former database %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
			for name, rows := range want {
				if !slices.Equal(rows, got[name]) {
					t.Errorf("%s: %d rows, and the former database has %d, or they differ", name, len(got[name]), len(rows))
				}
			}
			for _, name := range []string{"users", "api_keys", "teams", "calls", "spend", "kept_responses", "call_contents", "secrets"} {
				if len(want[name]) == 0 {
					t.Errorf("%s has no rows to compare", name)
				}
			}
		})
	})
}
