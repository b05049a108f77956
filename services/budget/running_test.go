package budget

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/models/storetest"
)

// runningCall is the call of a reservation: a prompt of 1,000 micro-dollars, and an
// answer of 1,000 tokens for 50,000, of which a second allows 100.
func runningCall(r *Reservation, id string) models.RunningCall {
	at := november
	return models.RunningCall{
		Call: models.Call{
			ID: models.CallID(at, id), RequestID: id, KeyID: "a", Model: "m", Provider: "p", BeganAt: time.Now().UnixMicro(),
			InputTokens: 10, Cost: 1000, Holds: r.Holds(),
		},
		MaxOutput: 1000, MaxOutputCost: 50_000, TokensPerSecond: 100,
	}
}

func TestCallsOfAKilledReplicaAreBookedOnce(t *testing.T) {
	h := postgresDatabase(t)
	killed, other, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", dollar)
	var running []models.RunningCall
	for i := range 3 {
		r := mustReserve(t, killed, 51_000, of)
		running = append(running, runningCall(r, fmt.Sprint("call", i)))
		r.Running(running[i])
	}
	must(t, killed.tickAt(t, killed.now().Add(killed.heartbeat)))
	if n := h.number(t, "SELECT COUNT(*) FROM running_calls"); n != 3 {
		t.Fatalf("%d of 3 calls are noted", n)
	}
	// The ledger has one of them, and its note is not deleted yet.
	ended := running[0].Call
	ended.Cost = 77
	must(t, h.Store.WriteCalls(t.Context(), killed.Replica(), []models.Call{ended}))
	other.runTest(t) // has no call of its own
	storetest.Until(t, 10*time.Second, "the calls are booked", func() bool { return h.number(t, "SELECT COUNT(*) FROM running_calls") == 0 })
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM running_calls":                              0,
		"SELECT COUNT(*) FROM calls":                                      3,
		"SELECT COUNT(*) FROM calls WHERE outcome = 'lost' AND estimated": 2,
	} {
		if got := h.number(t, query); got != want {
			t.Errorf("%s: %d, not %d", query, got, want)
		}
	}
	spent := h.number(t, "SELECT SUM(cost) FROM spend WHERE account = 'key:a'")
	// The lease is short: the calls ran for less than a tenth of their 1,000 tokens.
	if spent < 77+2*(1000+1) || spent > 77+2*(1000+5000) {
		t.Errorf("%d are spent", spent)
	}
	// The process was only suspended: its ledger writes the calls as well.
	must(t, h.Store.WriteCalls(t.Context(), killed.Replica(), []models.Call{running[1].Call, running[2].Call}))
	if again := h.number(t, "SELECT SUM(cost) FROM spend WHERE account = 'key:a'"); again != spent {
		t.Errorf("%d are spent, not %d", again, spent)
	}
	mustReserve(t, other, dollar-spent, of).Settle(0)
}

// tickAt renews the lease as Run does at that time.
func (b *Service) tickAt(t *testing.T, at time.Time) error {
	t.Helper()
	now := b.now
	b.now = func() time.Time { return at }
	defer func() { b.now = now }()
	if err := b.ensureLease(t.Context()); err != nil {
		return err
	}
	return b.renewIfDue(t.Context())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRunningCallsOfAFormerProcessAreBookedOnSQLite(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	former, of := h.budgets(t), budgetOf("key:a", dollar)
	r := mustReserve(t, former, 51_000, of)
	r.Running(runningCall(r, "one"))
	must(t, former.tickAt(t, former.now().Add(former.heartbeat)))
	next := h.budgets(t)
	next.heartbeat = 10 * time.Millisecond
	next.runTest(t) // has no call of its own
	storetest.Until(t, 5*time.Second, "the call is booked", func() bool { return h.number(t, "SELECT COUNT(*) FROM calls") == 1 })
	spent := h.number(t, "SELECT SUM(cost) FROM spend WHERE account = 'key:a'")
	if spent < 1001 || spent > 51_000 || h.number(t, "SELECT COUNT(*) FROM budget_holds") != 0 {
		t.Errorf("%d are spent, %d held", spent, h.number(t, "SELECT SUM(amount) FROM budget_holds"))
	}
	mustReserve(t, next, dollar-spent, of).Settle(0)
}

// A note is deleted after the ledger has the call, and written again after a renewal
// that failed.
func TestNotesFollowTheLedger(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		r := mustReserve(t, b, 51_000, of)
		call := runningCall(r, "one")
		r.Running(call)
		renew := b.renew
		at := b.now()
		step := func(want int64) {
			t.Helper()
			at = at.Add(b.heartbeat)
			_ = b.tickAt(t, at)
			if n := h.number(t, "SELECT COUNT(*) FROM running_calls"); n != want {
				t.Errorf("%d notes, not %d", n, want)
			}
		}
		b.renew = func(ctx context.Context, r models.Renewal) (models.Renewed, error) {
			return models.Renewed{}, errors.New("refused")
		}
		step(0)
		b.renew = func(ctx context.Context, r models.Renewal) (models.Renewed, error) {
			_, err := renew(ctx, r)
			return models.Renewed{}, errors.Join(err, errors.New("the answer is lost"))
		}
		step(1)
		b.renew = renew
		step(1)
		r.Settle(10)
		step(1) // the ledger does not have it
		call.Cost = 10
		must(t, h.Store.WriteCalls(t.Context(), b.Replica(), []models.Call{call.Call}))
		b.Written([]models.Call{call.Call})
		step(0)
		if !b.notesNothing() {
			t.Errorf("%+v", b.running)
		}
	})
}
