package models_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

func lease(lasts time.Duration) models.Lease {
	return models.Lease{Duration: lasts, MaxSilence: lasts / 2, Grace: lasts / 4}
}

// grantRequest is a request of replica r for a budget of 1000 in November.
func grantRequest(r string, needs ...int64) models.GrantRequest {
	return models.GrantRequest{
		Hold: models.Hold{HoldKey: models.HoldKey{Account: "key:a", Since: "2026-11-01"}}, Until: "2026-12-01",
		Limit: 1000, Replica: r, Lease: lease(time.Minute), Needs: needs,
	}
}

func renew(t *testing.T, store *models.Store, r string, change ...func(*models.Renewal)) models.Renewed {
	t.Helper()
	renewal := models.Renewal{Replica: r, Lease: lease(time.Minute)}
	for _, c := range change {
		c(&renewal)
	}
	renewed, err := store.Renew(t.Context(), renewal)
	if err != nil {
		t.Fatal(err)
	}
	return renewed
}

func granted(t *testing.T, store *models.Store, q models.GrantRequest, want, left int64) {
	t.Helper()
	a, err := store.Grant(t.Context(), q)
	if err != nil || a.Granted != want || a.Left != left {
		t.Errorf("%v of %+v: %+v, %v; want %d, %d", q.Needs, q.Hold, a, err, want, left)
	}
}

func TestNeedsThatFitAreGrantedWithSlack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		renew(t, store, "r")
		for _, tt := range []struct {
			name          string
			needs         []int64
			spare         int64
			granted, left int64
		}{
			{"need and slack", []int64{100, 40}, 0, 140 + 26, 860 - 26},
			{"spare is used first", []int64{100}, 30, 70 + 29, 901},
			{"much spare", []int64{10}, 500, 0, 1000},
			{"spare instead of slack", []int64{10}, 20, 21, 979},
			{"all", []int64{1000}, 0, 1000, 0},
			{"too much", []int64{1001}, 0, 31, 969},
			{"too much, but with the spare", []int64{1001}, 1, 1000, 0},
			{"those that fit, in turn", []int64{600, 500, 300, 200, 100}, 0, 1000, 0},
			{"no call waits", nil, 0, 31, 969},
			{"more than a number holds", []int64{1 << 62, 1 << 62, 1 << 62, 5}, 0, 36, 964},
		} {
			q := grantRequest("r", tt.needs...)
			q.Spare = tt.spare
			t.Run(tt.name, func(t *testing.T) { granted(t, store, q, tt.granted, tt.left) })
			execute(t, db, "DELETE FROM budget_holds")
		}
	})
}

func TestSpentAndHeldMoneyIsNotGranted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		renew(t, store, "r", func(r *models.Renewal) { r.First = true })
		renew(t, store, "other")
		execute(t, db, `INSERT INTO spend (account, day, cost) VALUES ('key:a', '2026-10-31', 5000), ('key:a', '2026-11-01', 1),
			('key:a', '2026-11-30', 20), ('key:a', '2026-12-01', 6000), ('key:b', '2026-11-05', 7000)`)
		execute(t, db, `INSERT INTO budget_holds (account, since, replica, amount) VALUES
			('key:a', '2026-11-01', 'other', 300), ('key:a', '2026-11-21', 'other', 50), ('key:a', '2026-11-21', 'r', 6),
			('key:a', '2026-11-02', 'other', -500), ('key:a', '2026-10-26', 'other', 8000), ('key:a', '2026-12-01', 'other', 8000),
			('key:b', '2026-11-01', 'other', 8000), ('key:a', '', 'other', 8000)`)
		q := grantRequest("r", 623)
		granted(t, store, q, 623, 0)
		q.Granted = 623
		q.Needs = []int64{1}
		granted(t, store, q, 0, 0)
		q.Limit = 500
		granted(t, store, q, 0, -500)
		if n := number(t, db, "SELECT amount FROM budget_holds WHERE replica = 'r' AND since = '2026-11-01'"); n != 623 {
			t.Error(n)
		}
		total := grantRequest("r", 1)
		total.Since, total.Until, total.Limit = "", "", 50_000
		const left = 50_000 - (5000 + 1 + 20 + 6000) - (300 + 50 + 6 + 8000 + 8000 + 8000 + 623)
		granted(t, store, total, 1+(left-1)/models.SlackDivisor, left-1-(left-1)/models.SlackDivisor)
	})
}

// The replica saves its hold from its own totals, several times, and the ledger
// deducts from the row in between.
func TestASavedHoldKeepsWhatTheLedgerHasDeducted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		renew(t, store, "r")
		q := grantRequest("r", 400)
		hold := func(want, moved int64) {
			t.Helper()
			if n, m := number(t, db, "SELECT amount FROM budget_holds"), number(t, db, "SELECT moved FROM budget_holds"); n != want ||
				m != moved {
				t.Errorf("%d is held, %d moved; want %d, %d", n, m, want, moved)
			}
		}
		spend := func(cost int64) {
			t.Helper()
			moved := map[models.HoldKey]int64{q.HoldKey: cost, {}: 7, {Account: "key:z"}: 7}
			if err := store.Spend(t.Context(), "r", "2026-11-21", moved); err != nil {
				t.Fatal(err)
			}
		}
		q.Needs = []int64{1000}
		granted(t, store, q, 1000, 0)
		granted(t, store, q, 1000, 0) // the answer to the first one was lost
		hold(1000, 0)
		spend(150)
		hold(850, 150)
		q.Granted = 1000
		q.Needs = nil
		granted(t, store, q, 0, 0)
		for range 2 {
			if err := store.SaveHolds(t.Context(), "r", []models.Hold{{HoldKey: q.HoldKey, Granted: 700, Moved: 100}}); err != nil {
				t.Fatal(err)
			}
			hold(550, 150)
		}
		q.Granted, q.Needs, q.Upsert = 650, []int64{350}, true
		granted(t, store, q, 350, 0)
		hold(850, 150)
		q.Needs, q.Limit = nil, 10
		granted(t, store, q, 0, -640)
		hold(500, 150)
		spend(500)
		hold(0, 650)
		q.Upsert, q.Limit, q.Granted = false, 1000, 650
		granted(t, store, q, 10, 340)
		if err := store.SaveHolds(t.Context(), "r", []models.Hold{{HoldKey: q.HoldKey, Granted: 650, Moved: 650}}); err != nil {
			t.Fatal(err)
		}
		if n := number(t, db, "SELECT COUNT(*) FROM budget_holds"); n != 0 {
			t.Errorf("%d rows of holds of nothing", n)
		}
		q.Moved = 650
		q.Needs = []int64{350}
		granted(t, store, q, 350, 0)
		hold(350, 650)
	})
}

func TestTheLedgerDeductsFromManyHoldsInOneTransaction(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		moved, held := map[models.HoldKey]int64{}, []models.Hold{}
		for i := range 250 {
			h := models.HoldKey{Account: fmt.Sprint("key:", i), Since: "2026-11-01"}
			moved[h] = int64(i)
			held = append(held, models.Hold{HoldKey: h, Granted: 1000})
		}
		for _, r := range []string{"r", "other"} {
			if err := store.SaveHolds(t.Context(), r, held); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Spend(t.Context(), "r", "2026-11-21", moved); err != nil {
			t.Fatal(err)
		}
		const deducted = "SELECT COUNT(*) FROM budget_holds WHERE replica = 'r' AND 'key:' || (1000 - amount) = account AND moved = 1000 - amount"
		if n := number(t, db, deducted); n != 250 {
			t.Errorf("%d holds have the right amounts, want 250", n)
		}
		if n := number(t, db, "SELECT COUNT(*) FROM budget_holds WHERE replica = 'other' AND amount = 1000 AND moved = 0"); n != 250 {
			t.Errorf("%d holds of another replica are unchanged, want 250", n)
		}
	})
}

func TestConcurrentGrantsNeverExceedTheLimit(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		stores := []*models.Store{migrated(t, address), migrated(t, address)}
		db := rawDB(t, address)
		var all sync.WaitGroup
		for i := range 20 {
			name, store := fmt.Sprint("r", i), stores[i%2]
			renew(t, store, name)
			all.Go(func() {
				if _, err := store.Grant(t.Context(), grantRequest(name, 70)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := number(t, db, "SELECT SUM(amount) FROM budget_holds"); n > 1000 || n < 980 {
			t.Errorf("%d of 1000 is granted", n)
		}
	})
}

func onPostgres(t *testing.T, test func(t *testing.T, store *models.Store, db *sql.DB)) {
	t.Helper()
	eachDatabase(t, func(t *testing.T, address string) {
		if strings.HasPrefix(address, "sqlite:") {
			t.Skip("SQLite has one process")
		}
		test(t, migrated(t, address), rawDB(t, address))
	})
}

// clock is the time of PostgreSQL in Unix microseconds.
const clock = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint"

// setLease sets the time at which a lease ends, from now.
func setLease(t *testing.T, db *sql.DB, replica string, in time.Duration) {
	t.Helper()
	execute(t, db, fmt.Sprintf("INSERT INTO replicas (id, alive_until) VALUES ('%s', %s + %d) "+
		"ON CONFLICT (id) DO UPDATE SET alive_until = EXCLUDED.alive_until", replica, clock, in.Microseconds()))
}

func TestHoldsOfAReplicaAreFreeWhenItsLeaseHasExpired(t *testing.T) {
	onPostgres(t, func(t *testing.T, store *models.Store, db *sql.DB) {
		if _, err := store.Grant(t.Context(), grantRequest("r", 1)); !errors.Is(err, models.ErrLeaseExpired) {
			t.Errorf("granted to an unknown replica: %v", err)
		}
		renew(t, store, "r")
		execute(t, db, `INSERT INTO budget_holds (account, since, replica, amount) VALUES
			('key:a', '2026-11-01', 'dead', 900), ('key:a', '2026-11-01', 'unknown', 900)`)
		setLease(t, db, "dead", time.Second)
		granted(t, store, grantRequest("r", 200), 3, 97)
		execute(t, db, "DELETE FROM budget_holds WHERE replica = 'r'")
		setLease(t, db, "dead", -time.Millisecond)
		granted(t, store, grantRequest("r", 1000), 1000, 0)
		setLease(t, db, "r", -time.Millisecond)
		if _, err := store.Grant(t.Context(), grantRequest("r", 1)); !errors.Is(err, models.ErrLeaseExpired) {
			t.Errorf("granted to a replica whose lease has expired: %v", err)
		}
	})
}

// When no replica has renewed its lease for some time, the database was
// unreachable.
func TestNoLeaseExpiresWhileTheDatabaseIsUnreachable(t *testing.T) {
	onPostgres(t, func(t *testing.T, store *models.Store, db *sql.DB) {
		execute(t, db, "INSERT INTO budget_holds (account, since, replica, amount) VALUES ('key:a', '2026-11-01', 'other', 900)")
		setLease(t, db, "r", 20*time.Second) // last renewed 40 s ago
		setLease(t, db, "other", -10*time.Second)
		granted(t, store, grantRequest("r", 200), 3, 97)
		setLease(t, db, "r", -time.Second)
		setLease(t, db, "expired_before", -62*time.Second)
		renewed := renew(t, store, "r")
		if !renewed.Kept || renewed.Alone {
			t.Errorf("%+v", renewed)
		}
		if n := number(t, db, "SELECT alive_until - "+clock+" FROM replicas WHERE id = 'other'"); n < 10e6 || n > 15e6 {
			t.Errorf("another replica has %d µs left", n)
		}
		if n := number(t, db, "SELECT COUNT(*) FROM replicas WHERE alive_until < "+clock); n != 1 {
			t.Error("a lease that had expired before is valid again")
		}
		setLease(t, db, "other", 40*time.Second)
		setLease(t, db, "r", 25*time.Second)
		renew(t, store, "third")
		if n := number(t, db, "SELECT COUNT(*) FROM replicas WHERE alive_until > "+clock+" + 39000000"); n != 2 {
			t.Error("a lease was shortened")
		}
		setLease(t, db, "other", -time.Millisecond)
		if renew(t, store, "other").Kept {
			t.Error("a lease that had expired was kept though other replicas renewed theirs")
		}
	})
}

// A replica repeats a renewal whose answer it did not get.
func TestThatALeaseHadExpiredIsSaidAgain(t *testing.T) {
	onPostgres(t, func(t *testing.T, store *models.Store, db *sql.DB) {
		epoch := renew(t, store, "r").Epoch
		renew(t, store, "other")
		same := func(r *models.Renewal) { r.Epoch = epoch }
		if renewed := renew(t, store, "r", same); !renewed.Kept || renewed.Epoch != epoch {
			t.Errorf("%+v", renewed)
		}
		for _, lose := range []func(){
			func() { setLease(t, db, "r", -time.Millisecond) },
			func() { execute(t, db, "DELETE FROM replicas WHERE id = 'r'") },
		} {
			lose()
			for range 3 {
				if renewed := renew(t, store, "r", same); renewed.Kept {
					t.Errorf("%+v", renewed)
				}
			}
			epoch = renew(t, store, "r", same).Epoch
			if renewed := renew(t, store, "r", same); !renewed.Kept {
				t.Errorf("%+v", renewed)
			}
		}
	})
}

func TestExpiredReplicasAndTheirHoldsAreDeleted(t *testing.T) {
	onPostgres(t, func(t *testing.T, store *models.Store, db *sql.DB) {
		renew(t, store, "r")
		setLease(t, db, "asleep", -59*time.Minute)
		setLease(t, db, "dead", -61*time.Minute)
		execute(t, db, `INSERT INTO budget_holds (account, since, replica, amount) VALUES
			('a', '', 'r', 1), ('a', '', 'asleep', 1), ('a', '', 'dead', 1), ('a', '', 'unknown', 1)`)
		renew(t, store, "r")
		if n := number(t, db, "SELECT COUNT(*) FROM budget_holds"); n != 4 {
			t.Errorf("%d holds", n)
		}
		renew(t, store, "r", func(r *models.Renewal) { r.Clean = true })
		if h, r := number(t, db, "SELECT COUNT(*) FROM budget_holds"), number(t, db, "SELECT COUNT(*) FROM replicas"); h != 2 || r != 2 {
			t.Errorf("%d holds, %d replicas", h, r)
		}
		renew(t, store, "asleep", func(r *models.Renewal) { r.First = true })
		if n := number(t, db, "SELECT COUNT(*) FROM budget_holds"); n != 1 {
			t.Errorf("%d holds, of them some of a former process of the same name", n)
		}
	})
}

func TestANewProcessOnSQLiteDeletesFormerHolds(t *testing.T) {
	store := migrated(t, "sqlite:"+t.TempDir()+"/gateway.db")
	for i := range 2 {
		name := fmt.Sprint("r", i)
		if renewed := renew(t, store, name, func(r *models.Renewal) { r.First = true }); !renewed.Alone || !renewed.Kept {
			t.Errorf("%+v", renewed)
		}
		granted(t, store, grantRequest(name, 1000), 1000, 0)
		renew(t, store, name)
		granted(t, store, grantRequest("another", 1), 0, 0)
	}
}

func TestALeavingReplicaKeepsHoldsOfCallsThatAreNotInTheLedger(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		renew(t, store, "r")
		a, b := models.HoldKey{Account: "a"}, models.HoldKey{Account: "b"}
		if err := store.SaveHolds(t.Context(), "r", []models.Hold{{HoldKey: b, Granted: 9}, {HoldKey: a, Granted: 9}}); err != nil {
			t.Fatal(err)
		}
		last := []models.Hold{{HoldKey: b, Granted: 5, Moved: 5}, {HoldKey: a, Granted: 7, Moved: 5}}
		if err := store.EndLease(t.Context(), "r", last); err != nil {
			t.Fatal(err)
		}
		replicas := number(t, db, "SELECT COUNT(*) FROM replicas")
		if n := number(t, db, "SELECT SUM(amount) FROM budget_holds"); n != 7 || !strings.HasPrefix(address, "sqlite:") && replicas != 1 {
			t.Errorf("%d is held, %d replicas", n, replicas)
		}
		if err := store.EndLease(t.Context(), "r", []models.Hold{{HoldKey: a, Granted: 7, Moved: 7}}); err != nil {
			t.Fatal(err)
		}
		if n := number(t, db, "SELECT COUNT(*) FROM budget_holds") + number(t, db, "SELECT COUNT(*) FROM replicas"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// A replica that hangs in the transaction of a grant holds the lock.
func TestAHangingReplicaLosesTheLockOfAnAccount(t *testing.T) {
	store := migrated(t, servertest.StartPostgres(t).URL) // with the timeouts of a gateway
	renew(t, store, "r")
	locked, thaw := make(chan struct{}), make(chan struct{})
	var frozen sync.WaitGroup
	frozen.Go(func() {
		err := store.WithLock(context.Background(), "key:a", func() {
			close(locked)
			<-thaw
		})
		if err == nil {
			t.Error("the hanging transaction was committed")
		}
	})
	defer frozen.Wait()
	defer close(thaw)
	<-locked
	began, late := time.Now(), longtest.Lateness(t)
	if _, err := store.Grant(t.Context(), grantRequest("r", 1)); err == nil || time.Since(began) > 3*time.Second+late() {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	other := grantRequest("r", 1)
	other.Account = "key:b"
	granted(t, store, other, 32, 968)
	granted(t, store, grantRequest("r", 1), 32, 968)
	if took := time.Since(began); took > 4*time.Second+late() {
		t.Errorf("the grants took %v", took)
	}
}
