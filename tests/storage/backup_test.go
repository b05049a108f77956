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
	"modelgateway/tests/storetest"
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
		const count = "SELECT count(*) FROM ledger_calls"
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
			cost := gatewaytest.Sum(t, copied, "SELECT sum(cost) FROM ledger_calls")
			spent := gatewaytest.Sum(t, copied, "SELECT sum(cost) FROM spend WHERE account = 'gateway'")
			if sum := storetest.Usage(t, copied); sum.Cost != cost || spent != cost || cost == 0 {
				t.Errorf("the calls cost %d, %d is spent, and the sums are %+v", cost, spent, sum)
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
			for _, name := range []string{"users", "api_keys", "teams", "ledger", "spend", "kept_responses", "call_contents", "secrets"} {
				if len(want[name]) == 0 {
					t.Errorf("%s has no rows to compare", name)
				}
			}
		})
	})
}
