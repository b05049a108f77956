package models_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// call is a call of a key at a time. Its numbers all differ.
func call(id, key string, at time.Time) models.Call {
	return models.Call{
		ID: storetest.CallID(at, id), RequestID: "req-" + id, UserID: "ada", KeyID: key, Model: "asked", Served: "served", Provider: "openai", UpstreamRequestID: "req_" + id,
		Stream: true, Attempts: 2, Status: 200, Outcome: models.OutcomeOK, ErrorCode: "none",
		InputTokens: 11, CachedTokens: 3, CacheWriteTokens: 4, OutputTokens: 25, ReasoningTokens: 6, Estimated: true, Priced: true, Cost: 70,
		BeganAt: at.UnixMicro(), FirstTokenUS: 8, DurationUS: 9, OverheadUS: 10,
		Dialect: "chat", UserAgent: "curl/8", UpstreamKey: "wxyz", OpenedUS: 7, Detail: "{}",
		Project: "ship", Session: "s1", AgentID: "sub", ParentAgentID: "main", Agent: "claude-code", Account: "eu", CacheMiss: 2,
		CacheWriteHourTokens: 2, Searches: 13, Requests: 14, Images: 15, Seconds: 16, Characters: 17,
	}
}

func write(t *testing.T, store *models.Store, calls ...models.Call) {
	t.Helper()
	if err := store.WriteCalls(t.Context(), "r1", calls); err != nil {
		t.Fatal(err)
	}
}

func TestAllColumnsOfACallAreWritten(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		c := call("a", "k1", noon)
		write(t, store, c)
		c.SessionN = read(t, store, c.ID).SessionN
		if got := read(t, store, c.ID); got != c || c.SessionN == 0 {
			t.Errorf("\n%+v\n%+v", got, c)
		}
		other := models.Call{ID: storetest.CallID(noon, "other"), BeganAt: noon.UnixMicro()} // all else is empty
		write(t, store, other)
		if got := read(t, store, other.ID); got != other {
			t.Errorf("\n%+v\n%+v", got, other)
		}
	})
}

// read reads a call as it was written.
func read(t *testing.T, store *models.Store, id string) models.Call {
	t.Helper()
	found, err := store.Call(t.Context(), models.CallFilter{}, id)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	found.Details = nil
	return found.Call
}

// Columns have the same value in all rows, or different ones, and texts that have a
// meaning in SQL.
func TestBatchesAreWrittenUnchanged(t *testing.T) {
	texts := []string{
		"", "a", "gpt-4.1/2025:x_Y", "it's", "'); DELETE FROM calls; --", "?", "?1", "$1", "a b", "Füße ☕", "\"", "\\", "%s",
		"NULL", "true", "1e3",
	}
	numbers := []int64{0, 1, -1, math.MaxInt32, math.MaxInt64, math.MinInt64}
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		for round := range 60 {
			common, rows := rand.IntN(1<<16), make([]models.Call, 1+rand.IntN(4))
			shared := rand.N(math.MaxInt32)
			for i := range rows {
				column := 0
				pick := func(n int) int { // the same in all rows, for some columns
					column++
					if common>>(column%16)&1 == 1 {
						return (shared + column) % n
					}
					return rand.IntN(n)
				}
				text := func() string { return texts[pick(len(texts))] }
				flag := func() bool { return pick(2) == 1 }
				number := func() int64 { return numbers[pick(len(numbers))] }
				rows[i] = models.Call{
					ID:        storetest.CallID(noon, fmt.Sprint(round, "-", i)),
					RequestID: text(), UserID: text(), KeyID: text(), Model: "m" + text(), Served: text(),
					Provider: text(), Outcome: text(), ErrorCode: text(), Stream: flag(), Estimated: flag(), Priced: flag(),
					Attempts: pick(
						9,
					), Status: pick(600), FirstTokenUS: number(), DurationUS: number(), OverheadUS: number(), BeganAt: noon.UnixMicro(),
				}
			}
			write(t, store, rows...)
			for i := range rows {
				if got := read(t, store, rows[i].ID); got != rows[i] {
					t.Fatalf("\nhas  %+v\nwant %+v", got, rows[i])
				}
			}
		}
	})
}

func TestCallsAreAddedToTheSumsOfTheirDay(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		db := rawDB(t, address)
		execute(t, db, `INSERT INTO budget_holds (account, since, replica, amount) VALUES
			('key:k1', '2026-11-01', 'r1', 1000), ('gateway', '', 'r1', 1000), ('gateway', '', 'r2', 1000), ('key:k1', '', 'r1', 1000)`)
		paid := models.Holds{{Account: "key:k1", Since: "2026-11-01"}, {Account: models.GatewayAccount}}
		a, b, c := call("a", "k1", noon), call("b", "k1", noon), call("c", "", noon)
		a.Holds, b.Holds = paid, paid
		b.Outcome, b.Estimated, b.Priced, b.Cost = models.OutcomeTimeout, false, false, 5
		c.Outcome, c.Served = models.OutcomeClient, ""   // no model was tried: the requested one is counted
		c.Holds[1] = models.HoldKey{Account: "key:gone"} // a hold without a row
		free := call("d", "k2", noon)
		free.Cost = 0
		write(t, store, a, b)
		write(t, store, c, free)
		groups := usage(t, store, models.UsageQuery{}, noon.AddDate(0, 0, -1), noon.AddDate(0, 0, 1))
		group := models.UsageGroup{User: "ada", Key: "k1", Model: "served", Provider: "openai", Project: "ship", Agent: "claude-code"}
		want := models.Sum{
			Calls: 2, Failed: 1, Estimated: 1, Unpriced: 1, InputTokens: 22, CachedTokens: 6, CacheWriteTokens: 8,
			OutputTokens: 50, ReasoningTokens: 12, Cost: 75, CacheWriteHourTokens: 4, Searches: 26, Requests: 28, Images: 30,
			Seconds: 32, Characters: 34, CacheMisses: 2,
		}
		if groups[group] != want || len(groups) != 3 {
			t.Errorf("%+v", groups)
		}
		group.Key, group.Model = "", "asked"
		if sum := groups[group]; sum.Calls != 1 || sum.Failed != 0 {
			t.Errorf("%+v", groups)
		}
		expect(t, db, map[string]int64{
			"SELECT cost FROM spend WHERE account = 'key:k1' AND day = '2026-11-21'":   75,
			"SELECT cost FROM spend WHERE account = 'gateway' AND day = '2026-11-21'":  145,
			"SELECT cost FROM spend WHERE account = 'user:ada' AND day = '2026-11-21'": 145,
			"SELECT count(*) FROM spend": 3,
			"SELECT amount FROM budget_holds WHERE account = 'key:k1' AND since = '2026-11-01'": 925,
			"SELECT amount FROM budget_holds WHERE account = 'key:k1' AND since = ''":           1000,
			"SELECT amount FROM budget_holds WHERE account = 'gateway' AND replica = 'r1'":      925,
			"SELECT amount FROM budget_holds WHERE account = 'gateway' AND replica = 'r2'":      1000,
			"SELECT count(*) FROM budget_holds":                                                 4,
		})
	})
}

func TestCallsWrittenAgainAreCountedOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		db := rawDB(t, address)
		execute(t, db, "INSERT INTO budget_holds (account, since, replica, amount) VALUES ('gateway', '', 'r1', 1000)")
		var calls []models.Call
		for i := range 5 {
			c := call(fmt.Sprint(i), "k1", noon)
			c.Holds[0] = models.HoldKey{Account: "gateway"}
			calls = append(calls, c)
		}
		write(t, store, calls[:3]...)
		write(t, store, calls[:3]...)
		write(t, store, calls[2:4]...)                  // one is new
		write(t, store, calls[4], calls[4], calls[0])   // twice in one batch
		write(t, store, slices.Concat(calls, calls)...) // nothing is new
		write(t, store)                                 // nothing at all
		expect(t, db, map[string]int64{
			"SELECT count(*) FROM ledger":                      5,
			"SELECT cost FROM spend WHERE account = 'key:k1'":  350,
			"SELECT cost FROM spend WHERE account = 'gateway'": 350,
			"SELECT amount FROM budget_holds":                  650,
		})
	})
}

func TestReplicasAddToTheSameSumsConcurrently(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		const replicas, batches, rows = 3, 15, 40
		migrated(t, address)
		var all sync.WaitGroup
		for r := range replicas {
			store := open(t, address)
			all.Go(func() {
				for b := range batches {
					var calls []models.Call
					for i := range rows {
						// Each replica has the same keys, days and holds, in another order.
						c := call(fmt.Sprintf("%d-%d-%d", r, b, i), fmt.Sprint("k", rand.IntN(20)), noon.AddDate(0, 0, -rand.IntN(3)))
						c.Holds = models.Holds{{Account: models.KeyAccount(c.KeyID)}, {Account: models.GatewayAccount}}
						calls = append(calls, c)
					}
					// SQLite admits writers one after the other, in no order: on a busy machine
					// one may time out. It tries again, as the ledger does.
					err := store.WriteCalls(t.Context(), "r", calls)
					for began := time.Now(); err != nil && !errors.Is(err, models.ErrRefused) && time.Since(began) < time.Minute; {
						t.Log(err)
						err = store.WriteCalls(t.Context(), "r", calls)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		const n = replicas * batches * rows
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT count(*) FROM ledger":                            n,
			"SELECT sum(cost) FROM spend WHERE account = 'gateway'":  70 * n,
			"SELECT sum(cost) FROM spend WHERE account LIKE 'key:%'": 70 * n,
		})
	})
}

func TestARefusedRowRollsItsBatchBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		db := rawDB(t, address)
		execute(t, db, refusal(address))
		bad := call("b", "k1", noon)
		bad.Model = "bad"
		if err := store.WriteCalls(t.Context(), "r1", []models.Call{call("a", "k1", noon), bad}); !errors.Is(err, models.ErrRefused) {
			t.Errorf("%v", err)
		}
		expect(t, db, map[string]int64{
			"SELECT count(*) FROM ledger": 0, "SELECT count(*) FROM ledger_sums": 0, "SELECT count(*) FROM spend": 0,
		})
	})
}

// refusal makes the database refuse calls of the model "bad".
func refusal(address string) string {
	if address[:7] == "sqlite:" {
		return "CREATE TRIGGER no BEFORE INSERT ON ledger_names WHEN NEW.text = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
	}
	return "ALTER TABLE ledger_names ADD CONSTRAINT no CHECK (text <> 'bad')"
}

func TestAnUnreachableOrEmptyDatabaseIsNotARefusal(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := open(t, address)
		if err := store.WriteCalls(t.Context(), "r1", []models.Call{call("a", "k1", noon)}); err == nil ||
			errors.Is(err, models.ErrRefused) {
			t.Errorf("without a schema: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		err := migrated(t, address).WriteCalls(gone, "r1", []models.Call{call("a", "k1", noon)})
		if err == nil || errors.Is(err, models.ErrRefused) {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

func TestOldCallsAreDeletedUpToTheLimit(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		var calls []models.Call
		for i := range 25 {
			calls = append(calls, call(fmt.Sprint(i), "k1", noon.Add(time.Duration(i-20)*time.Millisecond)))
		}
		write(t, store, calls...)
		for _, want := range []int64{8, 8, 4, 0} {
			if n, err := store.DeleteCallsBefore(t.Context(), noon, 8); err != nil || n != want {
				t.Errorf("%d were deleted, not %d: %v", n, want, err)
			}
		}
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT count(*) FROM ledger":      5,
			"SELECT min(began_at) FROM ledger": noon.UnixMicro(),
		})
		if sum := total(t, store); sum.Calls != 25 {
			t.Errorf("%+v", sum)
		}
	})
}

func TestTheOldestCallsAreDeletedFirst(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		for i := range 5 {
			write(t, store, call("x", "k1", noon.Add(time.Duration(-i)*time.Hour)))
		}
		if n, err := store.DeleteCallsBefore(t.Context(), noon, 2); err != nil || n != 2 {
			t.Fatalf("%d, %v", n, err)
		}
		expect(t, rawDB(t, address), map[string]int64{"SELECT min(began_at) FROM ledger": noon.Add(-2 * time.Hour).UnixMicro()})
	})
}

func TestDeletionSkipsRowsThatAnotherReplicaIsDeleting(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		if address[:7] == "sqlite:" {
			t.Skip("SQLite has one lock")
		}
		store := migrated(t, address)
		write(t, store, call("a", "k1", noon), call("b", "k1", noon))
		tx, err := rawDB(t, address).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), "DELETE FROM ledger WHERE id = (SELECT MIN(id) FROM ledger)"); err != nil {
			t.Fatal(err)
		}
		if n, err := store.DeleteCallsBefore(t.Context(), noon.Add(time.Hour), 10); err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func TestACallIsCountedUnderTheDayItBegan(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		last := call("last", "k1", midnight.Add(-time.Microsecond).In(time.FixedZone("east", 9*3600)))
		last.DurationUS = time.Hour.Microseconds()
		write(t, store, last, call("first", "k1", midnight))
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT count(*) FROM spend WHERE day = '2026-11-21' AND cost = 70": 3,
			"SELECT count(*) FROM spend WHERE day = '2026-11-22' AND cost = 70": 3,
			"SELECT count(*) FROM spend":                                        6,
		})
		for _, day := range []time.Time{midnight.AddDate(0, 0, -1), midnight} {
			var calls int64
			for _, sum := range usage(t, store, models.UsageQuery{}, day, day.AddDate(0, 0, 1)) {
				calls += sum.Calls
			}
			if calls != 1 {
				t.Errorf("%d calls of %s", calls, day)
			}
		}
	})
}

func TestAnInterruptedBatchIsWrittenCompletelyOrNotAtAll(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		done := 0
		const tries = 80
		for i := range tries + 1 {
			var calls []models.Call
			for j := range 40 {
				calls = append(calls, call(fmt.Sprint(i, "-", j), "k1", noon))
			}
			// The context ends before, in or after the transaction.
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
			if i == tries {
				ctx = t.Context()
			}
			if store.WriteCalls(ctx, "r1", calls) == nil {
				done++
			}
			cancel()
		}
		db := rawDB(t, address)
		n := number(t, db, "SELECT count(*) FROM ledger")
		if n < int64(40*done) || n%40 != 0 {
			t.Errorf("%d rows of %d batches", n, done)
		}
		expect(t, db, map[string]int64{
			"SELECT cost FROM spend WHERE account = 'gateway'": 70 * n,
		})
	})
}
