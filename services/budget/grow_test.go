package budget

import (
	"context"
	"errors"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// A running call that costs more than was expected takes what is left, and then more than that, in
// each of its budgets. Other replicas know it as soon as the holds are saved.
func TestARunningCallTakesMoreThanWasReserved(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b := h.budgets(t)
		key, team := budgetOf("key:a", dollar), budgetOf("team:a", 2*dollar)
		r := mustReserve(t, b, 100_000, key, team)
		r.Grow(0)
		r.Grow(-5)
		r.Grow(200_000)
		if r.Amount() != 300_000 {
			t.Errorf("%d are reserved", r.Amount())
		}
		mustRefuse(t, b, 700_001, key)
		mustRefuse(t, b, 1_700_001, team)
		r.Grow(900_000) // 200,000 more than the key has
		if e := mustRefuse(t, b, 1, key); e.Code != api.CodeBudgetHeld {
			t.Errorf("%+v: the call may give back what it holds", e)
		}
		mustRefuse(t, b, 800_001, team)
		mustReserve(t, b, 800_000, team).Settle(0)
		must(t, h.saved(t, b))
		if held := h.held(t, "key:a"); held != 1_200_000 {
			t.Errorf("the database knows of %d", held)
		}
		h.pay(t, b, r, november, 1_250_000)
		r.Grow(5 * dollar) // has ended
		if spent := h.spent(t, "key:a"); spent != 1_250_000 {
			t.Errorf("%d are spent", spent)
		}
		mustRefuse(t, b, 1, key)
		mustHaveLeft(t, b, 750_000, team)
	})
}

// saved saves what the replica holds, as Run does.
func (h *testDatabase) saved(t *testing.T, b *Service) error {
	t.Helper()
	b.requests.Wait()
	if err := b.ensureLease(t.Context()); err != nil {
		return err
	}
	b.saveChanged(t.Context())
	return nil
}

// What a call takes beyond the budget while a grant is on its way is given back at its end, and
// not used again: the answer of the database does not know of it.
func TestAnOverdraftDuringAGrantIsGivenBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		r := mustReserve(t, b, 900_000, of)
		grant := b.grant
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			answer, err := grant(ctx, q)
			r.Grow(600_000)
			b.saveChanged(ctx)
			return answer, err
		}
		mustRefuse(t, b, 200_000, of)
		b.grant = grant
		h.pay(t, b, r, november, 300_000)
		mustHaveLeft(t, b, 700_000, of)
	})
}

func TestWhatARunningCallHasTakenIsFreeAgainAtItsEnd(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		r := mustReserve(t, b, 100_000, of)
		r.Grow(800_000)
		mustRefuse(t, b, 100_001, of)
		h.pay(t, b, r, november, 50_000)
		mustHaveLeft(t, b, 950_000, of)
		if stats := b.Stats(); stats.Overdrawn != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

// A process that dies takes nothing with it: the call is booked with the upper bound of its cost,
// also where less was reserved.
func TestALostCallIsBookedWithTheMostThatItCanCost(t *testing.T) {
	h := postgresDatabase(t)
	killed, other, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", dollar)
	r, err := killed.Reserve(t.Context(), november, Need{Amount: 500, Most: 51_000}, of)
	must(t, err)
	call := runningCall(r, "call")
	call.TokensPerSecond = 1_000_000
	r.Running(call)
	must(t, killed.tickAt(t, killed.now().Add(killed.heartbeat)))
	other.runTest(t)
	storetest.Until(t, "the call is booked", func() bool { return h.number(t, "SELECT COUNT(*) FROM running_calls") == 0 })
	if spent := h.spent(t, "key:a"); spent != 51_000 {
		t.Errorf("%d are spent", spent)
	}
	mustHaveLeft(t, other, dollar-51_000, of)
}

// What calls have cost, and the ledger has not written yet, does not come back: to wait for it is
// of no use.
func TestWhatIsSpentAndNotWrittenYetIsNotHeld(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		spent := mustReserve(t, b, 600_000, of)
		spent.Settle(600_000)
		live := mustReserve(t, b, 100_000, of)
		for amount, want := range map[int64]string{400_000: api.CodeBudgetHeld, 400_001: api.CodeBudgetExceeded} {
			if e := mustRefuse(t, b, amount, of); e.Code != want {
				t.Errorf("%d: %s, not %s", amount, e.Code, want)
			}
		}
		live.Settle(0)
		must(t, h.write(b, november, spent.Holds(), 600_000))
		mustHaveLeft(t, b, 400_000, of)
	})
}

// Of a call that has ended and is noted in the database the whole reservation is held until the
// ledger has it. The rest comes back then.
func TestTheRestOfANotedCallIsHeld(t *testing.T) {
	h := postgresDatabase(t)
	b, of := h.shortLease(t), budgetOf("key:a", dollar)
	r := mustReserve(t, b, 600_000, of)
	call := runningCall(r, "call")
	r.Running(call)
	must(t, b.tickAt(t, b.now().Add(b.heartbeat)))
	r.Settle(50_000)
	for amount, want := range map[int64]string{950_000: api.CodeBudgetHeld, 950_001: api.CodeBudgetExceeded} {
		if e := mustRefuse(t, b, amount, of); e.Code != want {
			t.Errorf("%d: %s, not %s", amount, e.Code, want)
		}
	}
	call.Cost = 50_000
	must(t, h.Store.WriteCalls(t.Context(), b.Replica(), []models.Call{call.Call}))
	b.Written([]models.Call{call.Call})
	mustHaveLeft(t, b, 950_000, of)
}

func TestARefusalSaysWhetherTheCostIsExpectedOrTheMost(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		for need, want := range map[Need]string{
			{Amount: 2 * dollar}:                   "and this call could cost up to $2.00",
			{Amount: 2 * dollar, Most: 2 * dollar}: "and this call could cost up to $2.00",
			{Amount: 2 * dollar, Most: 9 * dollar}: "and this call is expected to cost $2.00",
		} {
			_, err := b.Reserve(t.Context(), november, need, of)
			if e, ok := errors.AsType[*api.Error](err); !ok || !strings.Contains(e.Message, want) {
				t.Errorf("%+v: %v", need, err)
			}
		}
	})
}

// Only a cost above the upper bound is a fault that operators are told of.
func TestACostAboveTheReservationIsNoFault(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", dollar)
	for cost, fault := range map[int64]bool{1000: false, 5000: false, 5001: true} {
		r, err := b.Reserve(t.Context(), november, Need{Amount: 1000, Most: 5000}, of)
		must(t, err)
		before := b.Stats().Overdrawn
		r.Settle(cost)
		if got := b.Stats().Overdrawn > before; got != fault {
			t.Errorf("%d: %v", cost, got)
		}
	}
}
