//go:build unix

package router

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/services/budget"
	"modelgateway/services/inference"
	"modelgateway/services/ledger"
	"modelgateway/services/ratelimit"
)

// BenchmarkLimits compares the processor time of calls that are written to the ledger:
// with a key that nothing limits, and with one whose user has a budget and a limit of
// requests and whose team has a budget and a limit of tokens. The rounds of both
// alternate; the ratio is that of the medians.
func BenchmarkLimits(b *testing.B) {
	const calls = 5000
	var handlers [2]http.Handler
	var keys [2]string
	var took [2][]time.Duration
	for i := range handlers {
		handlers[i], keys[i] = accountedGateway(b, i == 1)
		call(b, handlers[i], keys[i], request+"}")
	}
	for b.Loop() {
		for i, h := range handlers {
			before := processorTime(b)
			for range calls {
				call(b, h, keys[i], request+"}")
			}
			time.Sleep(ledgerDelay)
			took[i] = append(took[i], (processorTime(b)-before)/calls)
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	free, limited := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(float64(free.Nanoseconds()), "free-ns/call")
	b.ReportMetric(float64(limited.Nanoseconds()), "limited-ns/call")
	b.ReportMetric(float64(limited)/float64(free), "ratio")
}

// ledgerDelay is how long the ledger takes to write what waits.
const ledgerDelay = 600 * time.Millisecond

func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// accountedGateway is a gateway with a ledger, budgets and quotas.
func accountedGateway(tb testing.TB, limited bool) (h http.Handler, key string) {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	file := filepath.Join(tb.TempDir(), "gateway.db")
	h, key = gatewayWith(tb, file, func(store *models.Store, calls *inference.Service) {
		calls.Log = log
		calls.Quotas = ratelimit.NewQuotas(ratelimit.QuotaOptions{Log: log, Now: time.Now})
		calls.Budgets = budget.New(budget.Options{Store: store, Log: log, Now: time.Now})
		calls.Ledger = ledger.NewWriter(ledger.Options{
			Store: store, Replica: calls.Budgets.Replica(), Log: log, Now: time.Now, Written: calls.Budgets.Written,
		})
		for _, run := range []func(context.Context){calls.Budgets.Run, calls.Ledger.Run} { // the last is stopped first
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
	})
	if !limited {
		return h, key
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		"UPDATE users SET rpm_limit = 1000000000, budget = 1000000000000000, budget_window = 'month'",
		"INSERT INTO teams (id, name, created_at, tpm_limit, budget, budget_window) VALUES ('t', 'Research', 1, 1000000000, 1000000000000000, 'month')",
		"UPDATE api_keys SET team_id = 't'",
	} {
		if _, err := db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	return h, key
}
