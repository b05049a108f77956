package budget

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// runningCall is the call of a reservation: a prompt of 1,000 micro-dollars, and an
// answer of 1,000 tokens for 50,000, of which a second allows 100.
func runningCall(r *Reservation, id string) *models.RunningCall {
	at := november
	return &models.RunningCall{
		Call: models.Call{
			ID: storetest.CallID(at, id), RequestID: id, KeyID: "a", Model: "m", Provider: "p", BeganAt: time.Now().UnixMicro(),
			InputTokens: 10, Cost: 1000, Holds: r.Holds(),
		},
		MaxOutput: 1000, MaxOutputCost: 50_000, TokensPerSecond: 100,
	}
}

func TestCallsOfAKilledReplicaAreBookedOnce(t *testing.T) {
	h := postgresDatabase(t)
	killed, other, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", dollar)
	var running []*models.RunningCall
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
	storetest.Until(t, "the calls are booked", func() bool { return h.number(t, "SELECT COUNT(*) FROM running_calls") == 0 })
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM running_calls":                                     0,
		"SELECT COUNT(*) FROM ledger_calls":                                      3,
		"SELECT COUNT(*) FROM ledger_calls WHERE outcome = 'lost' AND estimated": 2,
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
	b.requests.Wait() // they read the clock as well
	now := b.now
	b.now = func() time.Time { return at }
	defer func() { b.now = now }()
	if err := b.ensureLease(t.Context()); err != nil {
		return err
	}
	return b.renewIfDue(t.Context())
}

// writeCalls does what the ledger does.
func (b *Service) writeCalls(t *testing.T, calls ...models.Call) {
	t.Helper()
	must(t, b.store.WriteCalls(t.Context(), b.replica, calls))
	b.Written(calls)
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
	storetest.Until(t, "the call is booked", func() bool { return h.number(t, "SELECT COUNT(*) FROM ledger_calls") == 1 })
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
		written := call.Call
		written.Cost = 10
		b.writeCalls(t, written)
		step(0)
		if !b.notesNothing() {
			t.Errorf("%+v", b.running)
		}
	})
}

// The estimates of calls that others have booked stay in the ledger. What these calls
// return is spent by then, also when the answer to the first renewal was lost.
func TestAResumedReplicaDoesNotReturnWhatOthersHaveBooked(t *testing.T) {
	for _, answers := range []string{"come", "are lost once"} {
		t.Run("answers "+answers, func(t *testing.T) {
			h := postgresDatabase(t)
			frozen, other, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", dollar)
			var calls []models.Call
			var reserved []*Reservation
			for i := range 3 {
				r := mustReserve(t, frozen, 100_000, of)
				running := runningCall(r, fmt.Sprint("call", i))
				running.Cost, running.MaxOutput, running.BeganAt = 90_000, 0, november.UnixMicro()
				r.Running(running)
				calls, reserved = append(calls, running.Call), append(reserved, r)
			}
			must(t, frozen.tickAt(t, frozen.now().Add(frozen.heartbeat)))
			reserved[0].Settle(20_000) // and the ledger does not come to write it
			calls[0].Cost, calls[1].Cost, calls[2].Cost = 20_000, 0, 100_000
			h.awaitLeaseExpiry(t, frozen)
			must(t, other.ensureLease(t.Context()))
			other.runTest(t)
			const spent = 270_000
			storetest.Until(t, "the calls are booked", func() bool { return h.spent(t, "key:a") == spent })
			if answers != "come" {
				renew := frozen.renew
				frozen.renew = func(ctx context.Context, r models.Renewal) (models.Renewed, error) {
					frozen.renew = renew
					_, err := renew(ctx, r)
					return models.Renewed{}, errors.Join(err, errors.New("connection reset"))
				}
				if err := frozen.ensureLease(t.Context()); err == nil {
					t.Error("the answer came")
				}
			}
			must(t, frozen.ensureLease(t.Context()))
			reserved[1].Settle(0)
			reserved[2].Settle(100_000)
			frozen.saveChanged(t.Context())
			mustReserve(t, other, dollar-spent-30_000, of) // the rest is what was reserved and not booked
			mustRefuse(t, frozen, 30_001, of)
			frozen.writeCalls(t, calls...)
			frozen.reconcileNow(t.Context())
			if held, n := h.held(t, "key:a"), h.spent(t, "key:a"); held != dollar-spent-30_000 || n != spent {
				t.Errorf("%d is held, %d spent", held, n)
			}
			mustHaveLeft(t, frozen, 30_000, of)
		})
	}
}

func TestANoteWhoseAnswerWasLostIsDeleted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		r := mustReserve(t, b, 51_000, of)
		call := runningCall(r, "one")
		r.Running(call)
		renew := b.renew
		b.renew = func(ctx context.Context, r models.Renewal) (models.Renewed, error) {
			_, err := renew(ctx, r)
			return models.Renewed{}, errors.Join(err, errors.New("connection reset"))
		}
		at := b.now().Add(b.heartbeat)
		if err := b.tickAt(t, at); err == nil || h.number(t, "SELECT COUNT(*) FROM running_calls") != 1 {
			t.Fatalf("it is not noted, or the answer came: %v", err)
		}
		r.Settle(1000)
		call.Cost = 1000
		b.writeCalls(t, call.Call)
		b.renew = renew
		must(t, b.tickAt(t, at.Add(b.heartbeat)))
		if n := h.number(t, "SELECT COUNT(*) FROM running_calls"); n != 0 {
			t.Errorf("%d notes", n)
		}
	})
}

// If the replica died before the ledger has the call, others would book what was
// reserved.
func TestWhatANotedCallReturnsIsFreeOnceTheLedgerHasIt(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", 100_000)
		noted := mustReserve(t, b, 51_000, of)
		call := runningCall(noted, "noted")
		noted.Running(call)
		at := b.now().Add(b.heartbeat)
		must(t, b.tickAt(t, at))
		fresh := mustReserve(t, b, 40_000, of)
		fresh.Running(runningCall(fresh, "fresh"))
		noted.Settle(1000)
		fresh.Settle(2000)
		mustRefuse(t, b, 47_001, of)
		mustReserve(t, b, 47_000, of).Settle(0)
		must(t, b.tickAt(t, at.Add(b.heartbeat)))
		want := []int64{1000 + 50_000, 2000} // at most, by their notes
		for i, id := range []string{"noted", "fresh"} {
			n := h.number(t, "SELECT input_cost + output_cost FROM running_calls WHERE request_id = '"+id+"'")
			if n != want[i] {
				t.Errorf("%s: %d", id, n)
			}
		}
		call.Cost, call.BeganAt = 1000, november.UnixMicro()
		b.writeCalls(t, call.Call)
		mustReserve(t, b, 100_000-1000-2000, of).Settle(0)
	})
}
