package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/models/servertest"
	"modelgateway/models/storetest"
)

// testLedger is a replica's ledger: it writes the costs of calls with a delay, and
// several in one transaction.
type testLedger struct {
	h    *testDatabase
	b    *Service
	rows chan ledgerRow
	done sync.WaitGroup
}

type ledgerRow struct {
	holds [2]models.HoldKey
	cost  int64
}

func (h *testDatabase) testLedger(t *testing.T, b *Service) *testLedger {
	s := &testLedger{h: h, b: b, rows: make(chan ledgerRow, 1000)}
	s.done.Go(func() {
		for row := range s.rows {
			sums := map[[2]models.HoldKey]int64{row.holds: row.cost}
			for n := len(s.rows); n > 0; n-- {
				row := <-s.rows
				sums[row.holds] += row.cost
			}
			for holds, cost := range sums {
				if err := h.write(b, november, holds, cost); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return s
}

func (s *testLedger) end() { close(s.rows); s.done.Wait() }

// raceTrials is how many trials are run: 10, or as many as RACE says.
func raceTrials() int {
	if n, err := strconv.Atoi(os.Getenv("RACE")); err == nil {
		return n
	}
	return 10
}

func TestABudgetIsNeverOverdrawnBy500ConcurrentCallsOnTwoReplicas(t *testing.T) {
	h := newTestDatabase(t, storetest.Postgres(t, servertest.Postgres(t)))
	replicas := []*Service{h.budgets(t), h.budgets(t)}
	for _, b := range replicas {
		b.runTest(t)
	}
	began, totals := time.Now(), raceTotals{}
	for i := range raceTrials() {
		h.raceTrial(t, replicas, fmt.Sprint("key:race", i), &totals)
	}
	t.Logf(
		"%d trials in %v: %d calls served, %d refused, %d left; the fullest budget was spent to %.2f %%; %d grant requests",
		raceTrials(), time.Since(began).Round(time.Millisecond), totals.served.Load(), totals.refused.Load(),
		totals.left.Load(), totals.fullest, replicas[0].Stats().Requests+replicas[1].Stats().Requests,
	)
}

type raceTotals struct {
	served, refused, left atomic.Int64
	fullest               float64
}

func (h *testDatabase) raceTrial(t *testing.T, replicas []*Service, account string, totals *raceTotals) {
	t.Helper()
	const calls = 500
	limit := dollar/10 + rand.Int64N(20*dollar)
	key, all := budgetOf(account, limit), budgetOf(models.GatewayAccount+account, limit)
	ledgers := []*testLedger{h.testLedger(t, replicas[0]), h.testLedger(t, replicas[1])}
	exact := rand.IntN(2) == 0 // calls cost their upper bound, and use up the budget
	var spent atomic.Int64
	var calling sync.WaitGroup
	for i := range calls {
		b, s, amount := replicas[i%2], ledgers[i%2], rand.Int64N(200_000)
		calling.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if rand.IntN(5) == 0 {
				ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(30))*time.Millisecond)
				defer cancel()
			}
			r, err := b.Reserve(ctx, november, amount, key, all)
			switch {
			case isRefused(err):
				totals.refused.Add(1)
				return
			case errors.Is(err, context.DeadlineExceeded):
				totals.left.Add(1)
				return
			case err != nil:
				t.Errorf("%s: %v", account, err)
				return
			}
			totals.served.Add(1)
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // the call
			cost := amount
			if !exact {
				cost = rand.Int64N(amount + 1)
			}
			r.Settle(cost)
			spent.Add(cost)
			s.rows <- ledgerRow{r.Holds(), cost}
		})
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { h.watch(t, account, limit, stop) })
	calling.Wait()
	for _, s := range ledgers {
		s.end()
	}
	close(stop)
	watching.Wait()
	for _, b := range replicas {
		b.reconcileNow(t.Context())
	}
	for _, of := range []Budget{key, all} {
		if s := h.spent(t, of.Account); s != spent.Load() || s > limit {
			t.Errorf("%s: %d spent of %d, %d is written", of.Account, spent.Load(), limit, s)
		}
		if n := h.held(t, of.Account); n != 0 {
			t.Errorf("%s: %d is still held", of.Account, n)
		}
		mustHaveLeft(t, replicas[rand.IntN(2)], limit-spent.Load(), of)
		for _, b := range replicas {
			b.reconcileNow(t.Context())
		}
	}
	totals.fullest = max(totals.fullest, 100*float64(spent.Load())/float64(limit))
}

// watch checks that spent and held together never exceed the limit.
func (h *testDatabase) watch(t *testing.T, account string, limit int64, stop <-chan struct{}) {
	query := fmt.Sprintf(
		"SELECT (SELECT COALESCE(SUM(cost), 0) FROM spend WHERE account = '%s')::bigint + (SELECT COALESCE(SUM(amount), 0) FROM budget_holds WHERE account = '%[1]s')::bigint",
		account,
	)
	for {
		var sum int64
		if err := h.db.QueryRow(query).Scan(&sum); err != nil {
			t.Error(err)
			return
		}
		if sum > limit {
			t.Errorf("%s: %d of %d is spent or held", account, sum, limit)
		}
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
