package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
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
	holds models.Holds
	cost  int64
}

func (h *testDatabase) testLedger(t *testing.T, b *Service) *testLedger {
	s := &testLedger{h: h, b: b, rows: make(chan ledgerRow, 1000)}
	s.done.Go(func() {
		for row := range s.rows {
			sums := map[models.Holds]int64{row.holds: row.cost}
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

func TestNoBudgetIsOverdrawnBy500ConcurrentCallsOnTwoReplicas(t *testing.T) {
	h := newTestDatabase(t, storetest.Postgres(t, servertest.Postgres(t)))
	replicas := []*Service{h.budgets(t), h.budgets(t)}
	for _, b := range replicas {
		b.runTest(t)
	}
	began, totals := time.Now(), raceTotals{fullest: map[string]int64{}}
	for i := range raceTrials() {
		h.raceTrial(t, replicas, fmt.Sprint("race", i), &totals)
	}
	t.Logf(
		"%d trials in %v: %d calls served, %d refused, %d left; the fullest budgets in %% of the limit: %v; %d grant requests",
		raceTrials(), time.Since(began).Round(time.Millisecond), totals.served.Load(), totals.refused.Load(),
		totals.left.Load(), totals.fullest, replicas[0].Stats().Requests+replicas[1].Stats().Requests,
	)
}

type raceTotals struct {
	served, refused, left atomic.Int64
	fullest               map[string]int64 // by level, in percent
}

// raced is a budget of a trial, and what calls have spent of it.
type raced struct {
	Budget
	level string
	spent atomic.Int64
}

// payers draws the budgets of a trial: of two keys of two users in one team, and the
// gateway's. Those of one level may be the tightest as well as those of another.
func payers(name string) [][]*raced {
	draw := func(level, id string) *raced {
		return &raced{level: level, Budget: budgetOf(level+":"+name+id, dollar/10+rand.Int64N(20*dollar))}
	}
	team, all := draw("team", ""), draw(models.GatewayAccount, "")
	return [][]*raced{
		{draw("key", "a"), draw("user", "a"), team, all},
		{draw("key", "b"), draw("user", "b"), team, all},
	}
}

// eachOf are the budgets of a trial, each once.
func eachOf(payers [][]*raced) []*raced { return append(slices.Clone(payers[0]), payers[1][:2]...) }

func (h *testDatabase) raceTrial(t *testing.T, replicas []*Service, name string, totals *raceTotals) {
	t.Helper()
	const calls = 500
	by := payers(name)
	ledgers := []*testLedger{h.testLedger(t, replicas[0]), h.testLedger(t, replicas[1])}
	exact := rand.IntN(2) == 0 // calls cost their upper bound, and use up the budgets
	var calling sync.WaitGroup
	for i := range calls {
		b, s, amount := replicas[i%2], ledgers[i%2], rand.Int64N(200_000)
		calling.Go(func() {
			paying := by[rand.IntN(len(by))]
			holds, cost := raceCall(t, b, paying, amount, exact, totals)
			if holds == (models.Holds{}) {
				return
			}
			for _, of := range paying {
				of.spent.Add(cost)
			}
			s.rows <- ledgerRow{holds, cost}
		})
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { h.watch(t, eachOf(by), stop) })
	calling.Wait()
	for _, s := range ledgers {
		s.end()
	}
	close(stop)
	watching.Wait()
	for _, of := range eachOf(by) {
		for _, b := range replicas {
			b.reconcileNow(t.Context())
		}
		spent := of.spent.Load()
		if s := h.spent(t, of.Account); s != spent || s > of.Limit {
			t.Errorf("%s: %d spent of %d, %d is written", of.Account, spent, of.Limit, s)
		}
		if n := h.held(t, of.Account); n != 0 {
			t.Errorf("%s: %d is still held", of.Account, n)
		}
		mustHaveLeft(t, replicas[rand.IntN(2)], of.Limit-spent, of.Budget)
		totals.fullest[of.level] = max(totals.fullest[of.level], 100*spent/of.Limit)
	}
}

// raceCall makes one call. Its holds are empty when it was not admitted.
func raceCall(t *testing.T, b *Service, paying []*raced, amount int64, exact bool, totals *raceTotals) (models.Holds, int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if rand.IntN(5) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(30))*time.Millisecond)
		defer cancel()
	}
	var of []Budget
	for _, p := range paying {
		of = append(of, p.Budget)
	}
	r, err := b.Reserve(ctx, november, Need{Amount: amount}, of...)
	switch {
	case isRefused(err):
		totals.refused.Add(1)
		return models.Holds{}, 0
	case errors.Is(err, context.DeadlineExceeded):
		totals.left.Add(1)
		return models.Holds{}, 0
	case err != nil:
		t.Errorf("%s: %v", of[0].Account, err)
		return models.Holds{}, 0
	}
	totals.served.Add(1)
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // the call
	cost := amount
	if !exact {
		cost = rand.Int64N(amount + 1)
	}
	r.Settle(cost)
	return r.Holds(), cost
}

// watch checks that spent and held together never exceed a limit.
func (h *testDatabase) watch(t *testing.T, all []*raced, stop <-chan struct{}) {
	var accounts []string
	limits := map[string]int64{}
	for _, of := range all {
		accounts = append(accounts, "'"+of.Account+"'")
		limits[of.Account] = of.Limit
	}
	query := "SELECT account, SUM(n)::bigint FROM (SELECT account, cost AS n FROM spend UNION ALL " +
		"SELECT account, amount FROM budget_holds) AS paid WHERE account IN (" + strings.Join(accounts, ", ") + ") GROUP BY account"
	for {
		rows, err := h.db.Query(query)
		if err != nil {
			t.Error(err)
			return
		}
		for rows.Next() {
			var account string
			var sum int64
			if err := rows.Scan(&account, &sum); err != nil {
				t.Error(err)
			}
			if sum > limits[account] {
				t.Errorf("%s: %d of %d is spent or held", account, sum, limits[account])
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
