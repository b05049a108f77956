package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

// shortHeartbeat gives a lease of a second.
const shortHeartbeat = 250 * time.Millisecond

func (h *testDatabase) shortLease(t *testing.T) *Service {
	t.Helper()
	b := h.budgets(t)
	b.heartbeat = shortHeartbeat
	return b
}

func postgresDatabase(t *testing.T) *testDatabase {
	t.Helper()
	return newTestDatabase(t, storetest.Postgres(t, servertest.Postgres(t)))
}

func (b *Service) freeAndLost() (free int64, lost uint64) {
	s := b.Stats()
	return s.Free, s.Lost
}

// awaitLeaseExpiry waits until the replica's lease has expired in the database.
func (h *testDatabase) awaitLeaseExpiry(t *testing.T, b *Service) {
	t.Helper()
	storetest.Until(t, "the lease expires", func() bool {
		return h.number(
			t,
			"SELECT COUNT(*) FROM replicas WHERE id = '"+b.Replica()+"' AND alive_until > (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint",
		) == 0
	})
}

func TestHoldsOfAKilledReplicaAreFreedWhenItsLeaseExpires(t *testing.T) {
	h := postgresDatabase(t)
	killed, other, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", dollar)
	other.runTest(t)
	mustReserve(t, other, 100_000, of).Settle(0)
	before := time.Now()
	r := mustReserve(t, killed, 600_000, of)
	after := time.Now()
	if held := h.held(t, "key:a"); held < 600_000 {
		t.Fatalf("%d is held", held)
	}
	duration := killed.leaseTerms().Duration
	var got time.Time
	storetest.Until(t, "it is free again", func() bool {
		_, err := other.Reserve(t.Context(), november, Need{Amount: 900_000}, of)
		got = time.Now()
		return err == nil
	})
	if got.Sub(before) < duration || got.Sub(after) > duration+500*time.Millisecond {
		t.Errorf("free %v after the reservation began and %v after it ended; a lease lasts %v", got.Sub(before), got.Sub(after), duration)
	}
	r.Settle(0)
	if real := h.budgets(t); real.leaseTerms().Duration != 20*time.Second || real.maxWait > 2500*time.Millisecond {
		t.Errorf("%+v", real.leaseTerms())
	}
}

func TestANewProcessOnSQLiteFreesFormerHoldsAtOnce(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	of := budgetOf("key:a", dollar)
	killed := h.budgets(t)
	h.pay(t, killed, mustReserve(t, killed, 300_000, of), november, 300_000)
	mustReserve(t, killed, 700_000, of)
	mustHaveLeft(t, h.budgets(t), 700_000, of)
}

func TestAResumedReplicaHasNoFreeAllowance(t *testing.T) {
	h := postgresDatabase(t)
	frozen, other, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", 10*dollar)
	other.runTest(t)
	mustReserve(t, other, dollar, of).Settle(0)
	r := mustReserve(t, frozen, 3*dollar, of)
	if free, _ := frozen.freeAndLost(); free < dollar/10 {
		t.Fatalf("%d is free", free)
	}
	h.awaitLeaseExpiry(t, frozen)
	var all *Reservation
	storetest.Until(t, "the other replica is granted its allowance", func() (ok bool) {
		var err error
		all, err = other.Reserve(t.Context(), november, Need{Amount: 10 * dollar}, of)
		return err == nil
	})
	mustRefuse(t, frozen, 1, of)
	if free, lost := frozen.freeAndLost(); free != 0 || lost != 1 {
		t.Errorf("%d free, %d times lost", free, lost)
	}
	frozen.runTest(t)
	storetest.Until(t, "the reservation of its call is saved again", func() bool { return h.held(t, "key:a") == 13*dollar })
	h.pay(t, other, all, november, dollar)
	storetest.Until(t, "the other replica returns the rest", func() bool { return h.held(t, "key:a") == 3*dollar })
	mustRefuse(t, other, 6*dollar+1, of)
	h.pay(t, frozen, r, november, 2*dollar)
	storetest.Until(t, "nothing is held", func() bool { return h.held(t, "key:a") == 0 })
	mustHaveLeft(t, other, 7*dollar, of)
	storetest.Until(t, "nothing is held again", func() bool { return h.held(t, "key:a") == 0 })
	mustHaveLeft(t, frozen, 7*dollar, of)
}

// What a call returns that ran when the lease expired may have been granted to
// others.
func TestACallFromBeforeAnExpiredLeasePaysForNoOther(t *testing.T) {
	h := postgresDatabase(t)
	frozen, other, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", 10*dollar)
	other.runTest(t)
	r := mustReserve(t, frozen, 3*dollar, of)
	h.awaitLeaseExpiry(t, frozen)
	storetest.Until(t, "the other replica is granted its allowance", func() (ok bool) {
		_, err := other.Reserve(t.Context(), november, Need{Amount: 9 * dollar}, of)
		return err == nil
	})
	if err := frozen.ensureLease(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Settle(0)
	mustRefuse(t, frozen, 2*dollar, of)
}

// While the database is unreachable every lease expires, since none can be renewed.
func TestNoHoldIsLostWhileTheDatabaseIsUnreachable(t *testing.T) {
	h := postgresDatabase(t)
	a, b, of := h.shortLease(t), h.shortLease(t), budgetOf("key:a", dollar)
	ra, rb := mustReserve(t, a, 600_000, of), mustReserve(t, b, 300_000, of)
	h.awaitLeaseExpiry(t, a)
	h.awaitLeaseExpiry(t, b)
	mustRefuse(t, b, 200_000, of)
	a.runTest(t)
	b.runTest(t)
	storetest.Until(t, "both leases are renewed", func() bool {
		return h.number(t,
			"SELECT COUNT(*) FROM replicas WHERE alive_until > (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint + 500000") == 2
	})
	mustRefuse(t, a, 200_000, of)
	mustRefuse(t, b, 200_000, of)
	h.pay(t, a, ra, november, 500_000)
	h.pay(t, b, rb, november, 300_000)
	storetest.Until(t, "all is given back", func() bool { return h.held(t, "key:a") == 0 })
	mustHaveLeft(t, a, 200_000, of)
	if a.Stats().Lost+b.Stats().Lost != 0 {
		t.Error("a lease was lost")
	}
}

// The lease is lost between the grant and its answer.
func TestAGrantFromBeforeALostLeaseIsNotUsed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		grant, asked := b.grant, 0
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			a, err := grant(ctx, q)
			if asked++; asked == 1 {
				if _, err := h.db.Exec("INSERT INTO spend (account, day, cost) VALUES ('key:a', '2026-11-02', 300000)"); err != nil {
					t.Error(err)
				}
				b.mu.Lock()
				b.loseLease()
				b.mu.Unlock()
			}
			return a, err
		}
		mustRefuse(t, b, dollar, of)
		if asked != 2 {
			t.Errorf("%d grant requests", asked)
		}
		b.reconcileNow(t.Context())
		mustHaveLeft(t, b, 700_000, of)
	})
}

// A commit may succeed although its answer is lost.
func TestNoMoneyIsLostWhenAnswersOfTheDatabaseAreLost(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		errLost := errors.New("connection reset")
		b, of := h.budgets(t), budgetOf("key:a", 20*dollar)
		grant, renew, save := b.grant, b.renew, b.saveHolds
		var faultless atomic.Bool
		fault := func() bool { return !faultless.Load() && rand.IntN(3) == 0 }
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			if fault() {
				return models.Grant{}, errLost // the request is lost
			}
			a, err := grant(ctx, q)
			if fault() {
				return models.Grant{}, errLost
			}
			return a, err
		}
		b.renew = func(ctx context.Context, r models.Renewal) (models.Renewed, error) {
			a, err := renew(ctx, r)
			if fault() {
				return models.Renewed{}, errLost
			}
			return a, err
		}
		b.saveHolds = func(ctx context.Context, replica string, held []models.Hold) error {
			err := save(ctx, replica, held)
			if fault() {
				return errLost
			}
			return err
		}
		var spent int64
		var failed int
		for range 300 {
			r, err := b.Reserve(t.Context(), november, Need{Amount: 50_000 + rand.Int64N(dollar/2)}, of)
			switch {
			case err == nil:
				cost := rand.Int64N(50_000)
				h.pay(t, b, r, november, cost)
				spent += cost
			case errors.Is(err, errLost) && api.AsError(err).Status == 503:
				failed++
			default:
				t.Fatal(err)
			}
			if rand.IntN(3) == 0 {
				b.reconcileNow(t.Context())
			}
		}
		if failed == 0 {
			t.Error("nothing failed")
		}
		faultless.Store(true)
		b.reconcileNow(t.Context())
		if held := h.held(t, "key:a"); held != 0 {
			t.Errorf("%d is still held", held)
		}
		mustHaveLeft(t, b, 20*dollar-spent, of)
	})
}

func TestWithoutTheDatabaseOnlyTheAllowanceIsSpent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stop   func(*servertest.Server)
		resume func(*servertest.Server)
	}{
		{"frozen", (*servertest.Server).Freeze, (*servertest.Server).Thaw},
		{"killed", (*servertest.Server).Kill, (*servertest.Server).Restart},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := servertest.StartPostgres(t)
			h := newTestDatabase(t, storetest.Postgres(t, server.URL))
			b, of := h.shortLease(t), budgetOf("key:a", 64*dollar)
			b.heartbeat = 750 * time.Millisecond // a lease of three seconds
			b.runTest(t)
			cost := int64(0)
			h.pay(t, b, mustReserve(t, b, dollar, of), november, dollar/2) // an allowance of two dollars is free
			cost += dollar / 2
			tt.stop(server.Server)
			local := mustReserve(t, b, dollar, of)
			began, late := time.Now(), longtest.Lateness(t)
			if _, err := b.Reserve(t.Context(), november, Need{Amount: 10 * dollar}, of); api.AsError(err).Status != 503 ||
				time.Since(began) > 2700*time.Millisecond+late() {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			storetest.Until(t, "the lease ends", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return !b.lease.valid(time.Now())
			})
			if _, err := b.Reserve(t.Context(), november, Need{Amount: 1}, of); api.AsError(err).Status != 503 {
				t.Errorf("without a lease: %v", err)
			}
			local.Settle(dollar / 4)
			tt.resume(server.Server)
			storetest.Until(t, "calls are granted again", func() bool {
				r, err := b.Reserve(t.Context(), november, Need{Amount: 10 * dollar}, of)
				r.Settle(0)
				return err == nil
			})
			if err := h.write(b, november, local.Holds(), dollar/4); err != nil {
				t.Error(err)
			}
			cost += dollar / 4
			storetest.Until(t, "all is given back", func() bool { return h.held(t, "key:a") == 0 })
			mustHaveLeft(t, b, 64*dollar-cost, of)
		})
	}
}

// Two replicas go on calling while the database is frozen and killed in turn.
func TestABudgetIsNotOverdrawnWhileTheDatabaseFailsRepeatedly(t *testing.T) {
	server := servertest.StartPostgres(t)
	h := newTestDatabase(t, storetest.Postgres(t, server.URL))
	const limit = 5 * dollar
	of := budgetOf("key:a", limit)
	replicas := []*Service{h.shortLease(t), h.shortLease(t)}
	for _, b := range replicas {
		b.heartbeat = 750 * time.Millisecond
		b.runTest(t)
	}
	type unwritten struct {
		b    *Service
		r    *Reservation
		cost int64
	}
	var spent, served atomic.Int64
	var mu sync.Mutex
	var rows []unwritten
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calling sync.WaitGroup
	for i := range 20 {
		b := replicas[i%2]
		calling.Go(func() {
			for ctx.Err() == nil {
				r, err := b.Reserve(ctx, november, Need{Amount: rand.Int64N(50_000)}, of)
				if err != nil {
					if s := api.AsError(err).Status; s != 503 && s != 402 && ctx.Err() == nil {
						t.Error(err)
					}
					time.Sleep(20 * time.Millisecond) // as a client does
					continue
				}
				served.Add(1)
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // the call
				cost := rand.Int64N(min(r.amount, 2000) + 1)
				r.Settle(cost)
				spent.Add(cost)
				mu.Lock()
				rows = append(rows, unwritten{b, r, cost})
				mu.Unlock()
			}
		})
	}
	more := func(n int64) {
		t.Helper()
		enough := served.Load() + n
		storetest.Until(t, "calls go on", func() bool { return served.Load() > enough })
	}
	more(100)
	for range 2 {
		server.Freeze()
		more(1)
		server.Thaw()
		more(30)
		server.Kill()
		server.Restart()
		more(30)
	}
	cancel()
	calling.Wait()
	for _, row := range rows {
		if err := h.write(row.b, november, row.r.Holds(), row.cost); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Until(t, "all is given back", func() bool { return h.held(t, "key:a") == 0 })
	if s := h.spent(t, "key:a"); s != spent.Load() || s > limit {
		t.Errorf("%d spent, %d written", spent.Load(), s)
	}
	mustHaveLeft(t, replicas[0], limit-spent.Load(), of)
	t.Logf("%d calls, %d of %d spent", served.Load(), spent.Load(), int64(limit))
}

func TestACallWaitsForAHangingDatabaseUpToItsTimeout(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", dollar)
	mustReserve(t, b, 1, of).Settle(0)
	b.reconcileNow(t.Context())
	b.maxWait = 100 * time.Millisecond
	grant, release := b.grant, make(chan struct{})
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		<-release
		return grant(ctx, q)
	}
	began, late := time.Now(), longtest.Lateness(t)
	_, err := b.Reserve(t.Context(), november, Need{Amount: dollar / 2}, budgetOf("key:b", dollar), of)
	if e := api.AsError(err); e.Status != 503 || !errors.Is(err, errSlow) || time.Since(began) > time.Second+late() {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	close(release)
	b.requests.Wait()
	mustHaveLeft(t, b, dollar, of)
}

func TestNoGoroutineRunsAfterTheStop(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", dollar)
	mustReserve(t, b, 1, of).Settle(0) // the store has its goroutines
	b.requests.Wait()
	before := runtime.NumGoroutine()
	grant, asked := b.grant, make(chan struct{}, 99)
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		asked <- struct{}{}
		time.Sleep(50 * time.Millisecond) // a slow database
		return grant(ctx, q)
	}
	stop := b.runTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for i := range 30 {
		calling.Go(func() {
			r, _ := b.Reserve(ctx, november, Need{Amount: dollar}, budgetOf(fmt.Sprint("key:", i), 2*dollar))
			r.Settle(0)
		})
	}
	<-asked
	cancel()
	stop()
	calling.Wait()
	storetest.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	if held := h.number(t, "SELECT COUNT(*) FROM budget_holds"); held != 0 {
		t.Errorf("%d holds of a replica that stopped", held)
	}
}

func TestAStopEndsWaitingCalls(t *testing.T) {
	h := newTestDatabase(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", dollar)
	grant, asked, release := b.grant, make(chan struct{}), make(chan struct{})
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		close(asked)
		<-release
		return grant(ctx, q)
	}
	stop := b.runTest(t)
	waiting := make(chan error)
	go func() {
		_, err := b.Reserve(t.Context(), november, Need{Amount: 1}, of)
		waiting <- err
	}()
	<-asked
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	if err := <-waiting; !errors.Is(err, errClosed) || api.AsError(err).Status != 503 {
		t.Error(err)
	}
	select {
	case <-stopped:
		t.Error("stopped while a grant request is under way")
	default:
	}
	close(release)
	<-stopped
	if held := h.held(t, "key:a"); held != 0 {
		t.Errorf("%d is held", held)
	}
}

// A call with an upper bound of zero needs no lease, but may cost something.
func TestCostsBeforeTheFirstLeaseAreSavedAfterIt(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		r := mustReserve(t, b, 0, of)
		r.Settle(500)
		b.saveChanged(t.Context())
		if n := h.number(t, "SELECT COUNT(*) FROM budget_holds"); n != 0 {
			t.Error("held without a lease")
		}
		mustHaveLeft(t, b, dollar-500, of)
		b.reconcileNow(t.Context())
		if held := h.held(t, "key:a"); held != 500 {
			t.Errorf("%d is held", held)
		}
		if err := h.write(b, november, r.Holds(), 500); err != nil {
			t.Error(err)
		}
		b.reconcileNow(t.Context())
		mustHaveLeft(t, b, dollar-500, of)
	})
}

func TestALeaseEndsByEitherClock(t *testing.T) {
	now := time.Now()
	l := lease{until: now.Add(time.Second)}
	if !l.valid(now) || l.valid(now.Add(time.Second)) || l.valid(now.Round(0).Add(time.Second)) || (&lease{}).valid(now) {
		t.Error("the lease does not end in time")
	}
	l.permanent = true
	if !l.valid(now.Add(time.Hour)) {
		t.Error("a permanent lease ends")
	}
}

func TestAGrantWhoseAnswerIsLostIsReturned(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", 10*dollar)
		mustReserve(t, b, dollar, of).Settle(400_000)
		b.reconcileNow(t.Context())
		grant := b.grant
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			_, err := grant(ctx, q)
			return models.Grant{}, errors.Join(err, errors.New("connection reset"))
		}
		if _, err := b.Reserve(t.Context(), november, Need{Amount: 5 * dollar}, of); api.AsError(err).Status != 503 {
			t.Error(err)
		}
		if held := h.held(t, "key:a"); held < 5*dollar {
			t.Errorf("%d is held: nothing was granted", held)
		}
		b.reconcileNow(t.Context())
		if held := h.held(t, "key:a"); held != 400_000 {
			t.Errorf("%d is held", held)
		}
	})
}

func TestAGrantRequestSavesTheOverdraft(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		mustReserve(t, b, dollar, of).Settle(3 * dollar)
		mustRefuse(t, b, 1, of)
		if held := h.held(t, "key:a"); held != 3*dollar {
			t.Errorf("%d is held", held)
		}
	})
}

// The row of a replica may disappear while its lease is valid by its own clock,
// for instance when the database is restored.
func TestAReplicaWhoseRowWasDeletedAcquiresANewLease(t *testing.T) {
	h := postgresDatabase(t)
	b, of := h.budgets(t), budgetOf("key:a", 10*dollar)
	r := mustReserve(t, b, dollar, of)
	h.Query(t, "DELETE FROM replicas")
	h.Query(t, "DELETE FROM budget_holds")
	mustHaveLeft(t, b, 9*dollar, of)
	if free, lost := b.freeAndLost(); lost != 1 || free > 9*dollar {
		t.Errorf("%d free, lost %d times", free, lost)
	}
	h.pay(t, b, r, november, dollar)
	b.reconcileNow(t.Context())
	if held := h.held(t, "key:a"); held != 0 {
		t.Errorf("%d is held", held)
	}
	mustHaveLeft(t, b, 9*dollar, of)
}

func TestALostLeaseEndsTheFreeAllowance(t *testing.T) {
	b, of := newTestDatabase(t, storetest.SQLite(t)).budgets(t), budgetOf("key:a", 64*dollar)
	r := mustReserve(t, b, dollar, of)
	if s := b.Stats(); s.Free < dollar {
		t.Fatalf("%+v", s)
	}
	b.mu.Lock()
	b.loseLease()
	b.mu.Unlock()
	if s := b.Stats(); s.Free != 0 || s.Held != dollar || s.Lost != 1 {
		t.Errorf("%+v", s)
	}
	r.Settle(0)
}

func TestAWaitingCallIsServedFromAReturnedReservation(t *testing.T) {
	b, of := newTestDatabase(t, storetest.SQLite(t)).budgets(t), budgetOf("key:a", dollar)
	all := mustReserve(t, b, dollar, of)
	b.requests.Wait()
	grant, asked, release := b.grant, make(chan struct{}, 9), make(chan struct{})
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		asked <- struct{}{}
		<-release
		return grant(ctx, q)
	}
	waiting := make(chan error)
	go func() {
		_, err := b.Reserve(t.Context(), november, Need{Amount: dollar / 2}, of)
		waiting <- err
	}()
	<-asked
	all.Settle(0)
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	close(release)
	b.requests.Wait()
}

func TestCallsOfSeveralBudgetsShareARenewal(t *testing.T) {
	b := newTestDatabase(t, storetest.SQLite(t)).budgets(t)
	var sent atomic.Int32
	answer := make(chan struct{})
	b.renew = func(context.Context, models.Renewal) (models.Renewed, error) {
		sent.Add(1)
		<-answer
		return models.Renewed{}, errors.New("connection refused")
	}
	const accounts = 3
	var calls sync.WaitGroup
	for i := range accounts {
		calls.Go(func() {
			if _, err := b.Reserve(t.Context(), november, Need{Amount: dollar}, budgetOf(fmt.Sprint("key:", i), dollar)); api.AsError(err).Status != 503 {
				t.Error(err)
			}
		})
	}
	storetest.Until(t, "all wait", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		waiting := 0
		for _, p := range b.allowances {
			waiting += len(p.calls)
		}
		return waiting == accounts
	})
	time.Sleep(20 * time.Millisecond) // until their requests wait for the renewal
	close(answer)
	calls.Wait()
	b.requests.Wait()
	if n := sent.Load(); n != 1 {
		t.Errorf("%d renewals failed, one after the other", n)
	}
}
