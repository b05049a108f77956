//go:build unix

package router

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/services/budget"
	"modelgateway/services/inference"
	"modelgateway/services/ledger"
)

// BenchmarkRefusals compares the processor time of calls that are refused, with and without the counting of
// refusals and what it writes. The rounds of both alternate; the ratio is that of the medians.
func BenchmarkRefusals(b *testing.B) {
	for name, limit := range map[string]string{"429": "rpm_limit = 1", "402": "budget = 0, budget_window = 'month'"} {
		b.Run(name, func(b *testing.B) {
			const calls = 5000
			var handlers [2]http.Handler
			var keys [2]string
			var took [2][]time.Duration
			for i := range handlers {
				handlers[i], keys[i] = refusingGateway(b, limit, i == 1)
				send(handlers[i], keys[i], request+"}") // the only one of the minute
			}
			for b.Loop() {
				for i, h := range handlers {
					before := processorTime(b)
					for range calls {
						refused(b, h, keys[i])
					}
					time.Sleep(2 * ledgerDelay)
					took[i] = append(took[i], (processorTime(b)-before)/calls)
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			before, now := took[0][len(took[0])/2], took[1][len(took[1])/2]
			b.ReportMetric(float64(before.Nanoseconds()), "before-ns/call")
			b.ReportMetric(float64(now.Nanoseconds()), "now-ns/call")
			b.ReportMetric(float64(now)/float64(before), "ratio")
		})
	}
}

func refused(tb testing.TB, h http.Handler, key string) {
	tb.Helper()
	if w := send(h, key, request+"}"); w.status < http.StatusBadRequest {
		tb.Fatal(w.status)
	}
}

// refusingGateway is a gateway whose only user has a limit.
func refusingGateway(tb testing.TB, limit string, counts bool) (h http.Handler, key string) {
	tb.Helper()
	file, log := filepath.Join(tb.TempDir(), "gateway.db"), slog.New(slog.DiscardHandler)
	var refusals *ledger.Refusals
	h, key = gatewayWith(tb, file, func(store *models.Store, calls *inference.Service) {
		calls.Log = log
		calls.Budgets = budget.New(budget.Options{Store: store, Log: log, Now: time.Now})
		refusals = ledger.NewRefusals(store, log, time.Now)
		for _, run := range []func(context.Context){calls.Budgets.Run, refusals.Run} {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				run(ctx)
			}()
			tb.Cleanup(func() {
				cancel()
				<-done
			})
		}
	}, func(o *Options) {
		if counts {
			o.Refused = refusals.Add
		}
	})
	db, err := sql.Open("sqlite", file)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec("UPDATE api_keys SET " + limit); err != nil {
		tb.Fatal(err)
	}
	return h, key
}
