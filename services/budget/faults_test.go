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

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/servertest"
	"modelgateway/models/storetest"
)

// quickBeat makes a lease of a second.
const quickBeat = 250 * time.Millisecond

func (h *till) quick(t *testing.T) *Service {
	t.Helper()
	b := h.budgets(t)
	b.heartbeat = quickBeat
	return b
}

func postgresTill(t *testing.T) *till {
	t.Helper()
	return newTill(t, storetest.Postgres(t, servertest.Postgres(t)))
}

func (b *Service) holdsNow() (free int64, lost uint64) {
	s := b.Stats()
	return s.Free, s.Lost
}

// unleased waits until the database takes the replica for dead.
func (h *till) unleased(t *testing.T, b *Service) {
	t.Helper()
	storetest.Until(t, 10*time.Second, "the lease is over", func() bool {
		return h.number(
			t,
			"SELECT COUNT(*) FROM replicas WHERE id = '"+b.Replica()+"' AND alive_until > (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint",
		) == 0
	})
}

func TestMoneyOfAKilledReplicaIsFreeAfterItsLeaseAndNotBefore(t *testing.T) {
	h := postgresTill(t)
	killed, other, of := h.quick(t), h.quick(t), budgetOf("key:a", dollar)
	other.runTest(t)
	mustReserve(t, other, 100_000, of).Settle(0)
	before := time.Now()
	r := mustReserve(t, killed, 600_000, of)
	after := time.Now()
	if held := h.held(t, "key:a"); held < 600_000 {
		t.Fatalf("%d is held", held)
	}
	lasts := killed.leaseTerms().Duration
	var got time.Time
	storetest.Until(t, 10*time.Second, "it is free again", func() bool {
		_, err := other.Reserve(t.Context(), november, 900_000, of)
		got = time.Now()
		return err == nil
	})
	if got.Sub(before) < lasts || got.Sub(after) > lasts+500*time.Millisecond {
		t.Errorf("free %v after it was reserved, and %v after that; a lease lasts %v", got.Sub(before), got.Sub(after), lasts)
	}
	r.Settle(0)
	if real := h.budgets(t); real.leaseTerms().Duration != 20*time.Second || real.maxWait > 2500*time.Millisecond {
		t.Errorf("%+v", real.leaseTerms())
	}
}

func TestTheNextProcessOnAnEmbeddedDatabaseHasAllAtOnce(t *testing.T) {
	h := newTill(t, storetest.SQLite(t))
	of := budgetOf("key:a", dollar)
	killed := h.budgets(t)
	h.pay(t, killed, mustReserve(t, killed, 300_000, of), november, 300_000)
	mustReserve(t, killed, 700_000, of)
	mustLeave(t, h.budgets(t), 700_000, of)
}

func TestAFrozenReplicaThatComesBackHasNothingFree(t *testing.T) {
	h := postgresTill(t)
	frozen, other, of := h.quick(t), h.quick(t), budgetOf("key:a", 10*dollar)
	other.runTest(t)
	mustReserve(t, other, dollar, of).Settle(0)
	r := mustReserve(t, frozen, 3*dollar, of)
	if free, _ := frozen.holdsNow(); free < dollar/10 {
		t.Fatalf("%d is free", free)
	}
	h.unleased(t, frozen)
	var all *Reservation
	storetest.Until(t, 5*time.Second, "its money is another's", func() (ok bool) {
		var err error
		all, err = other.Reserve(t.Context(), november, 10*dollar, of)
		return err == nil
	})
	mustRefuse(t, frozen, 1, of)
	if free, lost := frozen.holdsNow(); free != 0 || lost != 1 {
		t.Errorf("%d free, %d times lost", free, lost)
	}
	frozen.runTest(t)
	storetest.Until(t, 5*time.Second, "what its call needs is held anew", func() bool { return h.held(t, "key:a") == 13*dollar })
	h.pay(t, other, all, november, dollar)
	storetest.Until(t, 5*time.Second, "the other gives back", func() bool { return h.held(t, "key:a") == 3*dollar })
	mustRefuse(t, other, 6*dollar+1, of)
	h.pay(t, frozen, r, november, 2*dollar)
	storetest.Until(t, 5*time.Second, "all is free or spent", func() bool { return h.held(t, "key:a") == 0 })
	mustLeave(t, other, 7*dollar, of)
	storetest.Until(t, 5*time.Second, "and given back", func() bool { return h.held(t, "key:a") == 0 })
	mustLeave(t, frozen, 7*dollar, of)
}

// All leases run out while nobody can say that they live.
func TestNobodyLosesWhatItHoldsWhileTheDatabaseIsAway(t *testing.T) {
	h := postgresTill(t)
	a, b, of := h.quick(t), h.quick(t), budgetOf("key:a", dollar)
	ra, rb := mustReserve(t, a, 600_000, of), mustReserve(t, b, 300_000, of)
	h.unleased(t, a)
	h.unleased(t, b)
	mustRefuse(t, b, 200_000, of)
	a.runTest(t)
	b.runTest(t)
	storetest.Until(t, 5*time.Second, "both live", func() bool {
		return h.number(
			t,
			"SELECT COUNT(*) FROM replicas WHERE alive_until > (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint + 500000",
		) == 2
	})
	mustRefuse(t, a, 200_000, of)
	mustRefuse(t, b, 200_000, of)
	h.pay(t, a, ra, november, 500_000)
	h.pay(t, b, rb, november, 300_000)
	storetest.Until(t, 5*time.Second, "all is given back", func() bool { return h.held(t, "key:a") == 0 })
	mustLeave(t, a, 200_000, of)
	if a.Stats().Lost+b.Stats().Lost != 0 {
		t.Error("a lease was lost")
	}
}

// An answer that comes after the lease was lost grants nothing.
func TestAnAnswerThatIsOlderThanALossOfTheLeaseIsNotUsed(t *testing.T) {
	eachTill(t, func(t *testing.T, h *till) {
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
			t.Errorf("asked %d times", asked)
		}
		b.rest(t.Context())
		mustLeave(t, b, 700_000, of)
	})
}

// A commit may succeed although nobody hears of it.
func TestWhatIsNotHeardOfIsNotLost(t *testing.T) {
	eachTill(t, func(t *testing.T, h *till) {
		unheard := errors.New("connection reset")
		b, of := h.budgets(t), budgetOf("key:a", 20*dollar)
		grant, renew, enter := b.grant, b.renew, b.saveHolds
		var fair atomic.Bool
		fault := func() bool { return !fair.Load() && rand.IntN(3) == 0 }
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			if fault() {
				return models.Grant{}, unheard // nor said
			}
			a, err := grant(ctx, q)
			if fault() {
				return models.Grant{}, unheard
			}
			return a, err
		}
		b.renew = func(ctx context.Context, r models.Renewal) (models.Renewed, error) {
			a, err := renew(ctx, r)
			if fault() {
				return models.Renewed{}, unheard
			}
			return a, err
		}
		b.saveHolds = func(ctx context.Context, replica string, held []models.Hold) error {
			err := enter(ctx, replica, held)
			if fault() {
				return unheard
			}
			return err
		}
		var spent int64
		var failed int
		for range 300 {
			r, err := b.Reserve(t.Context(), november, 50_000+rand.Int64N(dollar/2), of)
			switch {
			case err == nil:
				cost := rand.Int64N(50_000)
				h.pay(t, b, r, november, cost)
				spent += cost
			case errors.Is(err, unheard) && api.AsError(err).Status == 503:
				failed++
			default:
				t.Fatal(err)
			}
			if rand.IntN(3) == 0 {
				b.rest(t.Context())
			}
		}
		if failed == 0 {
			t.Error("nothing failed")
		}
		fair.Store(true)
		b.rest(t.Context())
		if held := h.held(t, "key:a"); held != 0 {
			t.Errorf("%d is held by nobody", held)
		}
		mustLeave(t, b, 20*dollar-spent, of)
	})
}

func TestWithoutTheDatabaseWhatIsHeldIsSpentAndNoMore(t *testing.T) {
	for _, tt := range []struct {
		name      string
		away      func(*servertest.Server)
		backAgain func(*servertest.Server)
	}{
		{"frozen", (*servertest.Server).Freeze, (*servertest.Server).Thaw},
		{"killed", (*servertest.Server).Kill, (*servertest.Server).Restart},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := servertest.StartPostgres(t)
			h := newTill(t, storetest.Postgres(t, server.URL))
			b, of := h.quick(t), budgetOf("key:a", 64*dollar)
			b.heartbeat = 750 * time.Millisecond // a lease of three seconds
			b.runTest(t)
			cost := int64(0)
			h.pay(t, b, mustReserve(t, b, dollar, of), november, dollar/2) // a share of two dollars is free
			cost += dollar / 2
			tt.away(server.Server)
			share := mustReserve(t, b, dollar, of)
			began := time.Now()
			if _, err := b.Reserve(t.Context(), november, 10*dollar, of); api.AsError(err).Status != 503 ||
				time.Since(began) > 2700*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			storetest.Until(t, 5*time.Second, "the lease ends", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return !b.lease.valid(time.Now())
			})
			if _, err := b.Reserve(t.Context(), november, 1, of); api.AsError(err).Status != 503 {
				t.Errorf("without a lease: %v", err)
			}
			share.Settle(dollar / 4)
			tt.backAgain(server.Server)
			storetest.Until(t, 10*time.Second, "it goes on", func() bool {
				r, err := b.Reserve(t.Context(), november, 10*dollar, of)
				r.Settle(0)
				return err == nil
			})
			if err := h.write(b, november, share.Holds(), dollar/4); err != nil {
				t.Error(err)
			}
			cost += dollar / 4
			storetest.Until(t, 10*time.Second, "all is given back", func() bool { return h.held(t, "key:a") == 0 })
			mustLeave(t, b, 64*dollar-cost, of)
		})
	}
}

// Two replicas work on while the database comes and goes.
func TestABudgetIsNotOverdrawnWhileTheDatabaseComesAndGoes(t *testing.T) {
	server := servertest.StartPostgres(t)
	h := newTill(t, storetest.Postgres(t, server.URL))
	const limit = 5 * dollar
	of := budgetOf("key:a", limit)
	replicas := []*Service{h.quick(t), h.quick(t)}
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
				r, err := b.Reserve(ctx, november, rand.Int64N(50_000), of)
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
		storetest.Until(t, 10*time.Second, "calls go on", func() bool { return served.Load() > enough })
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
	storetest.Until(t, 10*time.Second, "all is given back", func() bool { return h.held(t, "key:a") == 0 })
	if s := h.spent(t, "key:a"); s != spent.Load() || s > limit {
		t.Errorf("%d spent, %d entered", spent.Load(), s)
	}
	mustLeave(t, replicas[0], limit-spent.Load(), of)
	t.Logf("%d calls, %d of %d spent", served.Load(), spent.Load(), int64(limit))
}

func TestADatabaseThatHangsCostsNoCallMoreThanItsPatience(t *testing.T) {
	h := newTill(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", dollar)
	mustReserve(t, b, 1, of).Settle(0)
	b.rest(t.Context())
	b.maxWait = 100 * time.Millisecond
	grant, let := b.grant, make(chan struct{})
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		<-let
		return grant(ctx, q)
	}
	began := time.Now()
	_, err := b.Reserve(t.Context(), november, dollar/2, budgetOf("key:b", dollar), of)
	if e := api.AsError(err); e.Status != 503 || !errors.Is(err, errSlow) || time.Since(began) > time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	close(let)
	b.requests.Wait()
	mustLeave(t, b, dollar, of)
}

func TestNoGoroutineIsLeftBehind(t *testing.T) {
	h := newTill(t, storetest.SQLite(t))
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
			r, _ := b.Reserve(ctx, november, dollar, budgetOf(fmt.Sprint("key:", i), 2*dollar))
			r.Settle(0)
		})
	}
	<-asked
	cancel()
	stop()
	calling.Wait()
	storetest.Until(t, 2*time.Second, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	if held := h.number(t, "SELECT COUNT(*) FROM budget_holds"); held != 0 {
		t.Errorf("%d holds of a replica that stopped", held)
	}
}

func TestAStopEndsCallsThatWait(t *testing.T) {
	h := newTill(t, storetest.SQLite(t))
	b, of := h.budgets(t), budgetOf("key:a", dollar)
	grant, asked, let := b.grant, make(chan struct{}), make(chan struct{})
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		close(asked)
		<-let
		return grant(ctx, q)
	}
	stop := b.runTest(t)
	waiting := make(chan error)
	go func() {
		_, err := b.Reserve(t.Context(), november, 1, of)
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
		t.Error("stopped while a question is under way")
	default:
	}
	close(let)
	<-stopped
	if held := h.held(t, "key:a"); held != 0 {
		t.Errorf("%d is held", held)
	}
}

// A call that was to cost nothing needs no lease, but may cost something.
func TestWhatIsSpentBeforeTheFirstLeaseIsEnteredAfterIt(t *testing.T) {
	eachTill(t, func(t *testing.T, h *till) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		r := mustReserve(t, b, 0, of)
		r.Settle(500)
		b.saveChanged(t.Context())
		if n := h.number(t, "SELECT COUNT(*) FROM budget_holds"); n != 0 {
			t.Error("held without a lease")
		}
		mustLeave(t, b, dollar-500, of)
		b.rest(t.Context())
		if held := h.held(t, "key:a"); held != 500 {
			t.Errorf("%d is held", held)
		}
		if err := h.write(b, november, r.Holds(), 500); err != nil {
			t.Error(err)
		}
		b.rest(t.Context())
		mustLeave(t, b, dollar-500, of)
	})
}

func TestALeaseStandsByBothClocks(t *testing.T) {
	now := time.Now()
	l := lease{until: now.Add(time.Second)}
	if !l.valid(now) || l.valid(now.Add(time.Second)) || l.valid(now.Round(0).Add(time.Second)) || (&lease{}).valid(now) {
		t.Error("it does not end in time")
	}
	l.permanent = true
	if !l.valid(now.Add(time.Hour)) {
		t.Error("forever ends")
	}
}

func TestAGrantThatIsNotHeardOfIsTakenBack(t *testing.T) {
	eachTill(t, func(t *testing.T, h *till) {
		b, of := h.budgets(t), budgetOf("key:a", 10*dollar)
		mustReserve(t, b, dollar, of).Settle(400_000)
		b.rest(t.Context())
		grant := b.grant
		b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
			_, err := grant(ctx, q)
			return models.Grant{}, errors.Join(err, errors.New("connection reset"))
		}
		if _, err := b.Reserve(t.Context(), november, 5*dollar, of); api.AsError(err).Status != 503 {
			t.Error(err)
		}
		if held := h.held(t, "key:a"); held < 5*dollar {
			t.Errorf("%d is held: nothing was granted", held)
		}
		b.rest(t.Context())
		if held := h.held(t, "key:a"); held != 400_000 {
			t.Errorf("%d is held", held)
		}
	})
}

func TestAQuestionEntersWhatWasSpentTooMuch(t *testing.T) {
	eachTill(t, func(t *testing.T, h *till) {
		b, of := h.budgets(t), budgetOf("key:a", dollar)
		mustReserve(t, b, dollar, of).Settle(3 * dollar)
		mustRefuse(t, b, 1, of)
		if held := h.held(t, "key:a"); held != 3*dollar {
			t.Errorf("others think that %d is held", held)
		}
	})
}

// A replica may be forgotten while it thinks that its lease stands: the
// database was restored, or somebody tidied up.
func TestAReplicaThatWasForgottenBeginsAnew(t *testing.T) {
	h := postgresTill(t)
	b, of := h.budgets(t), budgetOf("key:a", 10*dollar)
	r := mustReserve(t, b, dollar, of)
	h.Query(t, "DELETE FROM replicas")
	h.Query(t, "DELETE FROM budget_holds")
	mustLeave(t, b, 9*dollar, of)
	if free, lost := b.holdsNow(); lost != 1 || free > 9*dollar {
		t.Errorf("%d free, lost %d times", free, lost)
	}
	h.pay(t, b, r, november, dollar)
	b.rest(t.Context())
	if held := h.held(t, "key:a"); held != 0 {
		t.Errorf("%d is held", held)
	}
	mustLeave(t, b, 9*dollar, of)
}

func TestWithItsLeaseAReplicaLosesAllThatIsFree(t *testing.T) {
	b, of := newTill(t, storetest.SQLite(t)).budgets(t), budgetOf("key:a", 64*dollar)
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

func TestOneWhoWaitsIsServedWithWhatAnotherGivesBack(t *testing.T) {
	b, of := newTill(t, storetest.SQLite(t)).budgets(t), budgetOf("key:a", dollar)
	all := mustReserve(t, b, dollar, of)
	b.requests.Wait()
	grant, asked, let := b.grant, make(chan struct{}, 9), make(chan struct{})
	b.grant = func(ctx context.Context, q models.GrantRequest) (models.Grant, error) {
		asked <- struct{}{}
		<-let
		return grant(ctx, q)
	}
	waiting := make(chan error)
	go func() {
		_, err := b.Reserve(t.Context(), november, dollar/2, of)
		waiting <- err
	}()
	<-asked
	all.Settle(0)
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	close(let)
	b.requests.Wait()
}
