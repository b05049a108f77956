package budget

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

const dollar = 1_000_000

// testDatabase is a database with budgets. It writes the costs of calls as the
// ledger does.
type testDatabase struct {
	*storetest.Database
	db *sql.DB
}

func eachDatabase(t *testing.T, test func(t *testing.T, h *testDatabase)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, h *storetest.Database) { test(t, newTestDatabase(t, h)) })
}

func newTestDatabase(t testing.TB, h *storetest.Database) *testDatabase {
	t.Helper()
	db, err := sql.Open(h.Driver, h.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &testDatabase{h, db}
}

// budgets returns the service of a replica without its Run.
func (h *testDatabase) budgets(t testing.TB) *Service {
	t.Helper()
	return New(Options{Store: h.Open(t), Log: slog.New(slog.DiscardHandler), Now: time.Now})
}

// runTest runs a replica until stop, which waits for its end, or the end of the test.
func (b *Service) runTest(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

// write writes the cost of a call in one transaction, as the ledger does.
func (h *testDatabase) write(b *Service, at time.Time, holds models.Holds, cost int64) error {
	tx, err := h.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, hold := range holds {
		if hold.Account == "" {
			continue
		}
		for _, statement := range []string{
			fmt.Sprintf("INSERT INTO spend (account, day, cost) VALUES ('%s', '%s', %d) ON CONFLICT (account, day) DO UPDATE SET cost = spend.cost + EXCLUDED.cost",
				hold.Account, models.DayOf(at), cost),
			fmt.Sprintf("UPDATE budget_holds SET amount = amount - %d, moved = moved + %[1]d WHERE account = '%s' AND since = '%s' AND replica = '%s'",
				cost, hold.Account, hold.Since, b.Replica()),
		} {
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	b.Written([]models.Call{{Cost: cost, Holds: holds}})
	return nil
}

// pay settles a call and writes its cost.
func (h *testDatabase) pay(t testing.TB, b *Service, r *Reservation, at time.Time, cost int64) {
	t.Helper()
	r.Settle(cost)
	if err := h.write(b, at, r.Holds(), cost); err != nil {
		t.Error(err)
	}
}

func (h *testDatabase) number(t testing.TB, query string) int64 {
	t.Helper()
	var n int64
	if err := h.db.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (h *testDatabase) spent(t testing.TB, account string) int64 {
	t.Helper()
	return h.number(t, "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM spend WHERE account = '"+account+"'")
}

func (h *testDatabase) held(t testing.TB, account string) int64 {
	t.Helper()
	return h.number(t, "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM budget_holds WHERE account = '"+account+"'")
}

// reconcileNow makes a replica return what it does not need, as after some idle time.
func (b *Service) reconcileNow(ctx context.Context) {
	b.requests.Wait()
	for range 3 {
		b.mu.Lock()
		b.lease.reconciled = time.Time{}
		b.mu.Unlock()
		b.tick(ctx)
	}
}

func budgetOf(account string, limit int64) Budget {
	return Budget{Account: account, Window: models.Month, Limit: limit, Name: "this API key"}
}

func mustReserve(t testing.TB, b *Service, amount int64, of ...Budget) *Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), november, Need{Amount: amount}, of...)
	if err != nil {
		t.Fatalf("%d of %+v: %v", amount, of, err)
	}
	return r
}

func mustRefuse(t testing.TB, b *Service, amount int64, of ...Budget) *api.Error {
	t.Helper()
	r, err := b.Reserve(t.Context(), november, Need{Amount: amount}, of...)
	if e, ok := errors.AsType[*api.Error](err); ok && isRefused(e) && r == nil {
		return e
	}
	t.Fatalf("%d of %+v is not refused: %v", amount, of, err)
	return nil
}

// mustHaveLeft checks that exactly this amount can still be reserved.
func mustHaveLeft(t testing.TB, b *Service, left int64, of Budget) {
	t.Helper()
	mustRefuse(t, b, left+1, of)
	mustReserve(t, b, left, of).Settle(0)
}

func TestABudgetIsSpentToTheLastMicroDollarAndNoFurther(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		mustRefuse(t, b, dollar+1, of)
		first := mustReserve(t, b, 600_000, of)
		mustHaveLeft(t, b, 400_000, of)
		h.pay(t, b, first, november, 250_000)
		mustHaveLeft(t, b, 750_000, of)
		h.pay(t, b, mustReserve(t, b, 750_000, of), november, 750_000)
		mustRefuse(t, b, 1, of)
		if s := h.spent(t, "key:a"); s != dollar {
			t.Errorf("spent %d", s)
		}
		mustReserve(t, b, 0, of).Settle(0) // a call that costs nothing needs no budget
		mustReserve(t, b, -5, of).Settle(-7)
		mustRefuse(t, b, 1, of)
		b.reconcileNow(t.Context())
		if n := h.number(t, "SELECT COUNT(*) FROM budget_holds"); n != 0 || len(b.allowances) != 0 {
			t.Errorf("%d holds of nothing, %d allowances", n, len(b.allowances))
		}
		mustRefuse(t, b, 1, of)
	})
}

func TestWithoutBudgetsThereIsNothingToReserve(t *testing.T) {
	b := newTestDatabase(t, storetest.SQLite(t)).budgets(t)
	r, err := b.Reserve(t.Context(), november, Need{Amount: dollar})
	if r != nil || err != nil || r.Holds() != (models.Holds{}) {
		t.Errorf("%+v, %v", r, err)
	}
	r.Settle(5)
	tooMany := slices.Repeat([]Budget{budgetOf("a", 1)}, len(models.Holds{})+1)
	if _, err := b.Reserve(t.Context(), november, Need{Amount: 1}, tooMany...); code(err) != api.CodeInternal {
		t.Error(err)
	}
}

func TestOnlyTheFirstSettleCounts(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", dollar)
	r := mustReserve(t, b, dollar, of)
	r.Settle(300_000)
	r.Settle(0)
	r.Settle(dollar * 2)
	mustHaveLeft(t, b, 700_000, of)
	if s := b.Stats(); s.Overdrawn != 0 {
		t.Errorf("%+v", s)
	}
}

func TestACallReservesFromBothBudgetsOrNeither(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, key, all := h.budgets(t), budgetOf("key:a", 10*dollar), budgetOf(models.GatewayAccount, dollar)
		all.Name, all.Window = "the gateway", models.Day
		for range 2 { // with a grant request, and from the allowance
			if e := mustRefuse(t, b, 2*dollar, key, all); !strings.HasPrefix(
				e.Message, "the budget of the gateway does not cover this call",
			) {
				t.Error(e.Message)
			}
			mustHaveLeft(t, b, 10*dollar, key)
		}
		r := mustReserve(t, b, 800_000, key, all)
		want := models.Holds{{Account: "key:a", Since: "2026-11-01"}, {Account: models.GatewayAccount, Since: "2026-11-21"}}
		if r.Holds() != want {
			t.Errorf("%+v", r.Holds())
		}
		mustRefuse(t, b, 300_000, all)
		h.pay(t, b, r, november, 100_000)
		mustHaveLeft(t, b, 9_900_000, key)
		mustHaveLeft(t, b, 900_000, all)
		if h.spent(t, "key:a") != 100_000 || h.spent(t, models.GatewayAccount) != 100_000 {
			t.Error("not both budgets have paid")
		}
	})
}

func TestARefusalSaysWhatIsLeftAndWhatToDo(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", 5*dollar)
	spend := func(amount int64) { h.pay(t, b, mustReserve(t, b, amount, of), november, amount) }
	spend(4_987_655)
	e := mustRefuse(t, b, 400_000, of)
	const want = "this API key has a budget of $5.00 a month, of which $0.012345 is left, and this call could cost up to $0.40; " +
		"this is reserved for its prompt, as it is estimated beforehand, and for the output tokens that it allows; the month ends at 2026-12-01T00:00:00Z"
	if e.Message != want || e.Status != 402 || e.Type != api.TypeBudget || e.ShouldRetry() {
		t.Errorf("%+v", e)
	}
	of.Account, of.Window, of.Limit = "key:b", models.Total, 10
	spend(10)
	if e := mustRefuse(t, b, dollar, of); e.Message != "this API key has a budget of $0.00001 in total, of which $0.00 is left, and this call could cost up to $1.00" {
		t.Error(e.Message)
	}
}

func TestMoneyIsWrittenExactly(t *testing.T) {
	for micro, want := range map[int64]string{0: "$0.00", 1: "$0.000001", 10_000: "$0.01", 100_000: "$0.10", 123_456_789: "$123.456789", 5 * dollar: "$5.00", -1_500_000: "-$1.50"} {
		if got := usd(micro); got != want {
			t.Errorf("%d is %s", micro, got)
		}
	}
}

func TestACallCountsInTheWindowOfItsStart(t *testing.T) {
	at := func(text string) time.Time {
		tm, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		for _, tt := range []struct {
			window        models.Window
			before, after string
		}{
			{models.Day, "2026-11-20T23:59:59.999999Z", "2026-11-21T00:00:00Z"},
			{models.Day, "2026-11-21T00:30:00+01:00", "2026-11-21T01:00:00+01:00"},
			{models.Week, "2027-01-03T23:59:59Z", "2027-01-04T00:00:00Z"},
			{models.Month, "2028-02-29T23:59:59Z", "2028-03-01T00:00:00Z"},
		} {
			b, of := h.budgets(t), budgetOf("key:"+tt.before+string(tt.window), dollar)
			of.Window = tt.window
			ctx, before, after := t.Context(), at(tt.before), at(tt.after)
			old, err := b.Reserve(ctx, before, Need{Amount: 700_000}, of)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Reserve(ctx, before, Need{Amount: 400_000}, of); !isRefused(err) {
				t.Error(err)
			}
			next, err := b.Reserve(ctx, after, Need{Amount: dollar}, of)
			if err != nil {
				t.Fatalf("%s: a new window begins with something spent: %v", tt.after, err)
			}
			h.pay(t, b, old, before, 500_000)
			h.pay(t, b, next, after, dollar)
			late, err := b.Reserve(ctx, before, Need{Amount: 500_000}, of)
			if err != nil {
				t.Fatalf("what is spent in the next window counts in the one before: %v", err)
			}
			late.Settle(0)
			if _, err := b.Reserve(ctx, before, Need{Amount: 500_001}, of); !isRefused(err) {
				t.Error(err)
			}
			if _, err := b.Reserve(ctx, after, Need{Amount: 1}, of); !isRefused(err) {
				t.Error(err)
			}
			b.reconcileNow(ctx)
			if n := h.number(t, "SELECT COUNT(*) FROM budget_holds"); n != 0 {
				t.Errorf("%d holds are left", n)
			}
		}
	})
}

func TestATotalBudgetCountsAllDays(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		of.Window = models.Total
		for _, at := range []time.Time{november, november.AddDate(-3, 0, 0), november.AddDate(4, 0, 0)} {
			r, err := b.Reserve(t.Context(), at, Need{Amount: 300_000}, of)
			if err != nil {
				t.Fatal(err)
			}
			h.pay(t, b, r, at, 300_000)
		}
		b.reconcileNow(t.Context())
		mustHaveLeft(t, b, 100_000, of)
	})
}

// A key's window may be made longer while calls are running.
func TestALongerWindowCountsTheHoldsOfAShorterOne(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		of.Window = models.Day
		r := mustReserve(t, b, 900_000, of)
		b.reconcileNow(t.Context())
		of.Window = models.Month
		mustHaveLeft(t, b, 100_000, of)
		h.pay(t, b, r, november, 200_000)
		b.reconcileNow(t.Context())
		mustHaveLeft(t, b, 800_000, of)
		b.reconcileNow(t.Context())
		earlier := of
		earlier.Window = models.Day
		if _, err := b.Reserve(t.Context(), november.AddDate(0, 0, -1), Need{Amount: dollar}, earlier); err != nil {
			t.Errorf("a day counts what a later one holds: %v", err)
		}
	})
}

// A key's window may be made shorter while calls are running.
func TestAShorterWindowCountsTheHoldsOfLongerOnes(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		for _, longer := range []models.Window{models.Total, models.Month, models.Week} {
			b, of := h.budgets(t), budgetOf("key:"+string(longer), dollar)
			of.Window = longer
			r := mustReserve(t, b, 900_000, of)
			b.reconcileNow(t.Context())
			of.Window = models.Day
			mustHaveLeft(t, b, 100_000, of)
			b.reconcileNow(t.Context())
			if h.Driver != "sqlite" { // which has one process
				other := h.budgets(t)
				mustHaveLeft(t, other, 100_000, of)
				other.reconcileNow(t.Context())
			}
			h.pay(t, b, r, november, 200_000)
			b.reconcileNow(t.Context())
			mustHaveLeft(t, b, 800_000, of)
		}
	})
}

// A week and a month overlap without one being inside the other.
func TestAWindowCountsTheHoldsOfOneThatBeganBeforeIt(t *testing.T) {
	friday, saturday := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2027, 1, 2, 12, 0, 0, 0, time.UTC)
	thursday := friday.AddDate(0, 0, -1)
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		for _, tt := range []struct {
			former, changed models.Window
			before, after   time.Time
		}{
			{models.Week, models.Month, friday, saturday},
			{models.Month, models.Week, thursday, saturday},
		} {
			b, of := h.budgets(t), budgetOf("key:"+string(tt.former), dollar)
			of.Window = tt.former
			if _, err := b.Reserve(t.Context(), tt.before, Need{Amount: 900_000}, of); err != nil {
				t.Fatal(err)
			}
			of.Window = tt.changed
			if _, err := b.Reserve(t.Context(), tt.after, Need{Amount: 100_001}, of); err == nil {
				t.Errorf("a %s does not count what a running call holds of a %s that began before it", tt.changed, tt.former)
			}
			if _, err := b.Reserve(t.Context(), tt.after, Need{Amount: 90_000}, of); err != nil { // the former window may hold some slack
				t.Errorf("a %s beside a %s: %v", tt.changed, tt.former, err)
			}
		}
	})
}

func TestALoweredLimitAppliesAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, high, low := h.budgets(t), budgetOf("key:a", 100*dollar), budgetOf("key:a", 2*dollar)
		mustReserve(t, b, dollar, high).Settle(0) // leaves about four dollars free
		if s := b.Stats(); s.Free < 3*dollar {
			t.Fatalf("%+v", s)
		}
		mustRefuse(t, b, 2*dollar+1, low)
		mustReserve(t, b, 2*dollar, low).Settle(0)
		big := mustReserve(t, b, 80*dollar, high)
		mustRefuse(t, b, 1, low)
		h.pay(t, b, big, november, 500_000)
		// What came back of the eighty was granted under another limit.
		mustHaveLeft(t, b, 1_500_000, low)
		mustHaveLeft(t, b, 99_500_000, high)
		b.reconcileNow(t.Context())
		mustHaveLeft(t, b, 1_500_000, low)
	})
}

func TestACallAboveItsUpperBoundIsBookedAtItsCost(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		r, second := mustReserve(t, b, 500_000, of), mustReserve(t, b, 100_000, of)
		if first, again := r.Settle(700_000), second.Settle(100_001); !first || again {
			t.Errorf("a warning of the first: %t, of the second: %t", first, again)
		}
		if s := b.Stats(); s.Overdrawn != 2 {
			t.Errorf("%+v", s)
		}
		storetest.Until(t, "the overdraft is saved", func() bool { // Run may be saving it
			b.saveChanged(t.Context())
			return h.held(t, "key:a") >= 800_001
		})
		mustHaveLeft(t, b, 199_999, of)
		// The ledger may write a cost before the overdraft is saved.
		overdrawn := mustReserve(t, b, 199_999, of)
		h.pay(t, b, overdrawn, november, 2*dollar)
		for range 2 {
			mustRefuse(t, b, 1, of)
			b.reconcileNow(t.Context())
		}
		if err := h.write(b, november, r.Holds(), 800_001); err != nil {
			t.Error(err)
		}
		b.reconcileNow(t.Context())
		if held, spent := h.held(t, "key:a"), h.spent(t, "key:a"); held != 0 || spent != 2_800_001 {
			t.Errorf("held %d, spent %d", held, spent)
		}
	})
}

func TestUnusedAllowancesAreReturned(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", 64*dollar)
		b.heartbeat = 50 * time.Millisecond
		r := mustReserve(t, b, dollar, of)
		if held := h.held(t, "key:a"); held < 2*dollar {
			t.Errorf("only %d is held", held)
		}
		stop := b.runTest(t) // which gives back what is free
		storetest.Until(t, "the free part is given back while a call runs",
			func() bool { return h.held(t, "key:a") == dollar })
		r.Settle(400_000)
		storetest.Until(t, "what the call did not need is given back", func() bool { return h.held(t, "key:a") == 400_000 })
		if err := h.write(b, november, r.Holds(), 400_000); err != nil {
			t.Error(err)
		}
		storetest.Until(t, "no row is left", func() bool { return h.number(t, "SELECT COUNT(*) FROM budget_holds") == 0 })
		mustReserve(t, b, dollar, of).Settle(300_000)
		unwritten := h.held(t, "key:a")
		stop()
		if held := h.held(t, "key:a"); held != 300_000 || unwritten < held {
			t.Errorf("a stopped replica holds %d", held)
		}
		if _, err := b.Reserve(t.Context(), november, Need{Amount: 1}, of); api.AsError(err).Status != 503 {
			t.Errorf("a stopped replica still reserves: %v", err)
		}
	})
}

func TestAStoppedReplicaLeavesNoHold(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", 64*dollar)
		stop := b.runTest(t)
		h.pay(t, b, mustReserve(t, b, dollar, of), november, 10)
		stop()
		if holds, replicas := h.number(t, "SELECT COUNT(*) FROM budget_holds"), h.number(t, "SELECT COUNT(*) FROM replicas"); holds+replicas != 0 {
			t.Errorf("%d holds, %d replicas", holds, replicas)
		}
		mustHaveLeft(t, h.budgets(t), 64*dollar-10, of)
	})
}

// A busy replica may have been granted more than it turned out to need.
func TestAnAllowanceKeepsOnlyItsSlackNearTheLimit(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		mustReserve(t, b, dollar, of).Settle(0)
		b.reconcileNow(t.Context())
		mustReserve(t, b, 320_000, of).Settle(0)
		b.requests.Wait()
		b.mu.Lock()
		p := b.allowances[models.HoldKey{Account: "key:a", Since: "2026-11-01"}]
		p.minFree = p.free
		slack := p.slack()
		b.mu.Unlock()
		if want := (680_000 - 680_000/models.SlackDivisor) / models.SlackDivisor; slack < int64(want)-10 || slack > int64(want)+10 {
			t.Errorf("a slack of %d", slack)
		}
		b.lease.reconciled = time.Time{}
		b.tick(t.Context())
		if s := b.Stats(); s.Free != slack || h.held(t, "key:a") != slack {
			t.Errorf("%d free, %d held, want %d", s.Free, h.held(t, "key:a"), slack)
		}
	})
}

func TestConcurrentCallsShareFewGrantRequests(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", 499*1000)
		const calls = 500
		grant, release := b.grant, make(chan struct{})
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			<-release
			return grant(ctx, q)
		}
		var served, refused atomic.Int64
		var all sync.WaitGroup
		for range calls {
			all.Go(func() {
				_, err := b.Reserve(t.Context(), november, Need{Amount: 1000}, of)
				switch {
				case err == nil:
					served.Add(1)
				case isRefused(err):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		storetest.Until(t, "all wait", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, p := range b.allowances {
				return len(p.calls) == calls
			}
			return false
		})
		close(release)
		all.Wait()
		if s := b.Stats(); served.Load() != calls-1 || refused.Load() != 1 || s.Requests > 3 || s.Refused != 1 {
			t.Errorf("%d served, %d refused, %+v", served.Load(), refused.Load(), s)
		}
	})
}

func TestWaitingCallsAreServedInOrder(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", 100)
	mustReserve(t, b, 1, of).Settle(0) // acquires the lease
	b.reconcileNow(t.Context())
	grant, release := b.grant, make(chan struct{})
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		<-release
		return grant(ctx, q)
	}
	amounts := []int64{60, 50, 30, 20, 10}
	results := make([]error, len(amounts))
	var all sync.WaitGroup
	for i, amount := range amounts {
		all.Go(func() { _, results[i] = b.Reserve(t.Context(), november, Need{Amount: amount}, of) })
		storetest.Until(t, "it waits", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			p := b.allowances[models.HoldKey{Account: "key:a", Since: "2026-11-01"}]
			return p != nil && len(p.calls) == i+1 && p.busy
		})
	}
	close(release)
	all.Wait()
	for i, served := range []bool{true, false, true, false, true} {
		if (results[i] == nil) != served {
			t.Errorf("%d: %v", amounts[i], results[i])
		}
	}
	if e := api.AsError(results[1]); !strings.Contains(e.Message, "$0.00 is left") {
		t.Error(e.Message)
	}
}

func TestACancelledCallReservesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		grant, asked, release := b.grant, make(chan struct{}, 9), make(chan struct{})
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			asked <- struct{}{}
			<-release
			return grant(ctx, q)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := b.Reserve(ctx, november, Need{Amount: dollar}, of)
			left <- err
		}()
		<-asked
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(release)
		mustHaveLeft(t, b, dollar, of)
		b.requests.Wait()
		b.reconcileNow(t.Context())
		if held := h.held(t, "key:a"); held != 0 {
			t.Errorf("%d is still held", held)
		}
	})
}

func BenchmarkReserve(b *testing.B) {
	budgets := newTestDatabase(b, storetest.SQLite(b)).budgets(b)
	for _, tt := range [][]Budget{{budgetOf("key:a", 1000*dollar)}, {budgetOf("key:a", 1000*dollar), budgetOf(models.GatewayAccount, 1000*dollar)}} {
		b.Run(strconv.Itoa(len(tt)), func(b *testing.B) {
			ctx, now := context.Background(), time.Now()
			b.ReportAllocs()
			for b.Loop() {
				r, err := budgets.Reserve(ctx, now, Need{Amount: 1000}, tt...)
				if err != nil {
					b.Fatal(err)
				}
				r.Settle(0)
			}
		})
		b.Run(strconv.Itoa(len(tt))+"parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				ctx, now := context.Background(), time.Now()
				for pb.Next() {
					r, err := budgets.Reserve(ctx, now, Need{Amount: 1000}, tt...)
					if err != nil {
						b.Error(err)
						return
					}
					r.Settle(0)
				}
			})
		})
	}
}

func TestDebtIsPaidOnce(t *testing.T) {
	p := &allowance{granted: 100}
	p.free = 100
	p.take(40)
	p.take(60)
	p.debt = 15
	p.settle(40, 30, 30)
	if p.free != 0 || p.granted != 90 || p.debt != 5 {
		t.Errorf("%+v", p)
	}
	p.settle(60, 0, 0)
	if p.free != 55 || p.granted != 85 || p.debt != 0 {
		t.Errorf("%+v", p)
	}
}

// While a limit is changed, two waiting calls may have different limits.
func TestEachCallIsGrantedUnderItsOwnLimit(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, high, low := h.budgets(t), budgetOf("key:a", 10*dollar), budgetOf("key:a", 2*dollar)
		mustReserve(t, b, 1, high).Settle(0)
		b.reconcileNow(t.Context())
		grant, release := b.grant, make(chan struct{})
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			<-release
			return grant(ctx, q)
		}
		results := make([]error, 3)
		var all sync.WaitGroup
		for i, c := range []struct {
			of     Budget
			amount int64
		}{{high, 1}, {high, 6 * dollar}, {low, 5 * dollar}} {
			all.Go(func() { _, results[i] = b.Reserve(t.Context(), november, Need{Amount: c.amount}, c.of) })
			storetest.Until(t, "it waits", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				p := b.allowances[models.HoldKey{Account: "key:a", Since: "2026-11-01"}]
				return p != nil && len(p.calls) == i+1
			})
		}
		close(release)
		all.Wait()
		if results[0] != nil || results[1] != nil || !isRefused(results[2]) {
			t.Fatal(results)
		}
		if m := api.AsError(results[2]).Message; !strings.Contains(m, "$2.00 a month, of which $0.00 is left") {
			t.Error(m)
		}
	})
}
