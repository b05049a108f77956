package models_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// formerly makes a store write calls as the former release does.
func formerly(t *testing.T, address string, yes bool) {
	t.Helper()
	until := 0
	if yes {
		until = 253402300800
	}
	execute(t, rawDB(t, address), fmt.Sprint("UPDATE ledger_state SET write_from = ", until))
}

// formerCall is a call as the former release wrote it: with an id of its form, and none of what
// its table has no columns for.
func formerCall(id, key string, at time.Time) models.Call {
	c := call(id, key, at)
	c.ID = fmt.Sprintf("call_%016d%s", at.UnixMicro(), strings.Repeat("a", 13-len(id))+id)
	c.Project, c.Session, c.AgentID, c.ParentAgentID, c.Agent, c.Account, c.CacheMiss = "", "", "", "", "", "", 0
	c.CacheWriteHourTokens, c.Searches, c.Requests, c.Images, c.Seconds, c.Characters = 0, 0, 0, 0, 0, 0
	return c
}

// listed are the ids of all calls of a filter, by pages.
func listed(t *testing.T, store *models.Store, f models.CallFilter, limit int) (ids []string) {
	t.Helper()
	for page := (models.Page{Limit: limit}); ; {
		found, err := store.Calls(t.Context(), f, page)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found.Rows {
			ids = append(ids, found.Rows[i].ID)
		}
		if page.After = found.Next; page.After == "" {
			return ids
		}
	}
}

// A long call is written when later ones are moved already.
func TestCallsThatAreWrittenLateAreMovedToo(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		formerly(t, address, true)
		for i := range 20 {
			write(t, store, formerCall(fmt.Sprint("former", i), "k1", noon.Add(time.Duration(i)*time.Second)))
		}
		for late, more := 0, true; more; late++ {
			formerly(t, address, false)
			var err error
			if more, err = store.MoveCalls(t.Context(), time.Now(), 8); err != nil {
				t.Fatal(err)
			}
			formerly(t, address, true)
			write(t, store, formerCall(fmt.Sprint("late", late), "k1", noon.Add(-time.Duration(late)*time.Hour)))
		}
		expect(t, rawDB(t, address), map[string]int64{"SELECT count(*) FROM calls": 1, "SELECT count(*) FROM ledger": 23})
	})
}

func TestRowsOfTheFormerReleaseAreMovedAsTheyWere(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		formerly(t, address, true)
		random := rand.New(rand.NewPCG(1, 2))
		var calls []models.Call
		for i := range 150 {
			// Some are of the same microsecond, and some ids are of this release.
			at := noon.Add(time.Duration(random.IntN(40)) * time.Millisecond).Add(time.Duration(random.IntN(2)) * time.Microsecond)
			c := formerCall(fmt.Sprint(i), fmt.Sprint("k", i%3), at)
			c.UserID, c.Outcome = []string{"ada", "bob", ""}[i%3], []string{models.OutcomeOK, models.OutcomeFailed}[i%2]
			if i%5 == 0 {
				c.ID = storetest.CallID(at, fmt.Sprint(i))
			}
			calls = append(calls, c)
		}
		for some := range slices.Chunk(calls, 100) {
			write(t, store, some...)
		}
		if n := number(t, rawDB(t, address), "SELECT count(*) FROM calls"); n != 150 {
			t.Fatalf("%d rows are in the former table", n)
		}
		filters := []models.CallFilter{{}, {UserID: "ada"}, {Failed: true}, {KeyID: "k1", Outcome: models.OutcomeFailed}}
		var before [][]string
		for _, f := range filters {
			before = append(before, listed(t, store, f, 7))
		}
		if len(before[0]) != 150 {
			t.Fatalf("%d calls are listed", len(before[0]))
		}
		if more, err := store.MoveCalls(t.Context(), time.Now(), 40); more || err != nil {
			t.Errorf("%t, %v: while replicas of the former release may live", more, err)
		}
		formerly(t, address, false)
		write(t, store, call("new", "k1", noon.Add(time.Hour)))
		sums, moves := total(t, store), 0
		for more := true; more; moves++ {
			var err error
			if more, err = store.MoveCalls(t.Context(), time.Now(), 40); err != nil {
				t.Fatal(err)
			}
			write(t, store, slices.Clone(calls[:10])...) // an answer to their commit was lost
			for i, f := range filters {
				after := slices.DeleteFunc(listed(t, store, f, 7), func(id string) bool { return id == storetest.CallID(noon.Add(time.Hour), "new") })
				if !slices.Equal(after, before[i]) {
					t.Fatalf("%d moves, %+v: %d calls, not %d\n%v\n%v", moves, f, len(after), len(before[i]), after, before[i])
				}
			}
			for _, c := range calls[:60] { // of all times and kinds of ids
				if got := read(t, store, c.ID); got != c {
					t.Fatalf("%d moves:\n%+v\n%+v", moves, got, c)
				}
			}
		}
		expect(t, rawDB(t, address), map[string]int64{"SELECT count(*) FROM calls": 0, "SELECT count(*) FROM ledger": 151})
		if got := total(t, store); moves != 5 || got != sums || got.Calls != 151 {
			t.Errorf("%d moves, %+v, not %+v", moves, got, sums)
		}
		if n, err := store.DeleteCallsBefore(t.Context(), noon.Add(time.Minute), 1000); n != 150 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// A replica of the former release has a lease, which it renews as that release does. Until the lease
// ends, replicas of this release write what that one reads.
func TestCallsAreWrittenForReplicasOfTheFormerRelease(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		if strings.HasPrefix(address, "sqlite:") {
			t.Skip("an embedded database has one process")
		}
		store, db := migrated(t, address), rawDB(t, address)
		renew(t, store, "r1")
		const now = "CAST(EXTRACT(EPOCH FROM now()) * 1000000 AS BIGINT)"
		for i, tt := range []struct {
			lease          string
			former, ledger int64
		}{
			{"INSERT INTO replicas (id, alive_until, epoch) VALUES ('former', " + now + " + 60000000, 1)", 1, 0},
			{"UPDATE replicas SET alive_until = " + now + " - 1 WHERE id = 'former'", 1, 1},
			{"UPDATE replicas SET alive_until = " + now + " + 60000000 WHERE id = 'former'", 2, 1},
			{"DELETE FROM replicas WHERE id = 'former'", 2, 2},
		} {
			execute(t, db, tt.lease)
			write(t, store, call(fmt.Sprint(i), "k1", noon))
			expect(t, db, map[string]int64{"SELECT count(*) FROM calls": tt.former, "SELECT count(*) FROM ledger": tt.ledger})
		}
		if sum := total(t, store); sum.Calls != 4 {
			t.Errorf("%+v", sum)
		}
		// A batch is written again after the answer to its commit was lost, and meanwhile the former replica has
		// come or gone.
		again := []models.Call{call("0", "k1", noon), call("1", "k1", noon), call("2", "k1", noon), call("3", "k1", noon)}
		write(t, store, again...)
		execute(t, db, "INSERT INTO replicas (id, alive_until, epoch) VALUES ('former', "+now+" + 60000000, 1)")
		write(t, store, again...)
		if sum := total(t, store); sum.Calls != 4 || len(listed(t, store, models.CallFilter{}, 3)) != 4 {
			t.Errorf("%+v", sum)
		}
	})
}

func TestCallsOfALostFormerReplicaStayWhereItLooksForThem(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		if strings.HasPrefix(address, "sqlite:") {
			t.Skip("an embedded database has one process")
		}
		store, db := migrated(t, address), rawDB(t, address)
		lost := formerCall("1", "k1", time.Now())
		renew(t, store, "r1")
		execute(t, db, "INSERT INTO replicas (id, alive_until, epoch) VALUES ('former', 1, 1)")
		execute(t, db, fmt.Sprintf("INSERT INTO running_calls (id, replica, request_id, user_id, key_id, model, served, provider, account, since, "+
			"other_account, other_since, stream, began_at, opened_at, input_tokens, input_cost, output_tokens, output_cost, tokens_per_second) "+
			"VALUES ('%s', 'former', 'r', '', 'k1', 'm', 'm', 'openai', 'key:k1', '', '', '', false, %d, 0, 1, 5, 1, 1, 1)", lost.ID, lost.BeganAt))
		renew(t, store, "r1")
		for _, at := range []struct {
			now  time.Time
			left int64
		}{{time.Now(), 1}, {time.Now().Add(2 * time.Hour), 0}} {
			if _, err := store.MoveCalls(t.Context(), at.now, 10); err != nil {
				t.Fatal(err)
			}
			expect(t, db, map[string]int64{"SELECT count(*) FROM calls": at.left, "SELECT count(*) FROM ledger": 1 - at.left})
		}
		if got := read(t, store, lost.ID); got.Outcome != models.OutcomeLost || got.Cost == 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestNoTwoCallsShareAnID(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		first, second := migrated(t, address), migrated(t, address)
		seen := map[string]bool{}
		clock := noon
		var last string
		for i := range 20_000 {
			switch i % 5000 { // the clock is set
			case 1000:
				clock = clock.Add(-time.Hour)
			case 3000:
				clock = clock.Add(30 * time.Minute)
			}
			id, other := first.NewCallID(clock), second.NewCallID(clock)
			if seen[id] || seen[other] || id == other || id <= last || !models.IsCallID(id) {
				t.Fatalf("%s and %s after %s", id, other, last)
			}
			seen[id], seen[other], last = true, true, id
		}
		if began := models.CallBegan(last); began.Before(noon) || began.After(noon.Add(time.Minute)) {
			t.Errorf("%s", began)
		}
		// A number is taken again when all others have been used later: after the times that its process used.
		db := rawDB(t, address)
		execute(t, db, "DELETE FROM ledger_processes")
		execute(t, db, fmt.Sprint("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4095) ",
			"INSERT INTO ledger_processes SELECT i, ", noon.AddDate(1, 0, 0).UnixMilli(), " + i FROM n"))
		third := migrated(t, address)
		id := third.NewCallID(noon)
		if began := models.CallBegan(id); began.Before(noon.AddDate(1, 0, 0)) {
			t.Errorf("%s of %s is not after what a former process used", id, began)
		}
		expect(t, db, map[string]int64{"SELECT count(*) FROM ledger_processes": 4095})
	})
}
