package models_test

import (
	"fmt"
	"testing"
	"time"

	"modelgateway/models"
)

// usage are the sums of all calls of a time, by group.
func usage(t *testing.T, store *models.Store, q models.UsageQuery, from, to time.Time) map[models.UsageGroup]models.Sum {
	t.Helper()
	groups := map[models.UsageGroup]models.Sum{}
	_, err := store.UsageTimes(t.Context(), &q, models.UsageRange{
		From: from.Unix(), To: to.Unix(), Whole: func(int64, int64) bool { return false },
		Add: func(at models.UsageTime) error {
			sum := groups[at.Group]
			sum.Add(&at.Tally.Sum)
			groups[at.Group] = sum
			return nil
		},
	})
	if err != nil {
		t.Error(err)
	}
	return groups
}

// total is the sum of all calls.
func total(t *testing.T, store *models.Store) (all models.Sum) {
	t.Helper()
	for _, sum := range usage(t, store, models.UsageQuery{}, noon.AddDate(-1, 0, 0), noon.AddDate(0, 1, 0)) {
		all.Add(&sum)
	}
	return all
}

func TestUsageHasAllSums(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		failed := call("b", "k1", noon)
		failed.Outcome, failed.Priced, failed.Estimated = models.OutcomeRefused, false, false
		write(t, store, call("a", "k1", noon), failed, call("c", "k2", noon))
		want := models.Sum{
			Calls: 3, Failed: 1, Estimated: 2, Unpriced: 1, InputTokens: 33, CachedTokens: 9, CacheWriteTokens: 12,
			OutputTokens: 75, ReasoningTokens: 18, Cost: 210, CacheWriteHourTokens: 6, Searches: 39, Requests: 42, Images: 45,
			Seconds: 48, Characters: 51, CacheMisses: 3,
		}
		if got := total(t, store); got != want {
			t.Errorf("%+v", got)
		}
		groups := usage(t, store, models.UsageQuery{}, noon.AddDate(0, 0, -1), noon.AddDate(0, 0, 1))
		group := models.UsageGroup{
			User: "ada", Key: "k2", Model: "served", Provider: "openai", Team: "", Project: "ship", Agent: "claude-code",
		}
		if sum, ok := groups[group]; !ok || sum.Calls != 1 || len(groups) != 2 {
			t.Errorf("%+v", groups)
		}
	})
}

func TestUsageIsSelected(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		var calls []models.Call
		for i, of := range [][6]string{
			{"ada", "ada1", "t1", "a", "x", ""}, {"ada", "ada1", "t1", "b", "x", "codex"}, {"ada", "", "", "a", "", ""},
			{"bob", "bob1", "t1", "a", "y", "codex"}, {"", "", "", "a", "", "curl"},
		} {
			one := call(fmt.Sprint(i), of[1], noon)
			one.UserID, one.TeamID, one.Served, one.Project, one.Agent, one.Cost = of[0], of[2], of[3], of[4], of[5], int64(1)<<i
			calls = append(calls, one)
		}
		write(t, store, calls...)
		for _, tt := range []struct {
			ask  models.UsageQuery
			cost int64
		}{
			{models.UsageQuery{}, 31},
			{models.UsageQuery{UserID: "ada"}, 7},
			{models.UsageQuery{UserID: "ada", KeyID: "bob1"}, 0},
			{models.UsageQuery{KeyID: "ada1", ModelID: "b"}, 2},
			{models.UsageQuery{TeamID: "t1"}, 11},
			{models.UsageQuery{Project: "x"}, 3},
			{models.UsageQuery{Agent: "codex", TeamID: "t1"}, 10},
			{models.UsageQuery{Provider: "gemini"}, 0},
			{models.UsageQuery{UserID: "unknown' OR '1'='1"}, 0},
		} {
			var cost int64
			for _, sum := range usage(t, store, tt.ask, noon.AddDate(0, 0, -1), noon.AddDate(0, 0, 1)) {
				cost += sum.Cost
			}
			if cost != tt.cost {
				t.Errorf("%+v: %d", tt.ask, cost)
			}
		}
	})
}

func TestSpendOfManyAccountsIsReadInSeveralStatements(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		now := time.Date(2026, 11, 19, 23, 59, 59, 0, time.UTC) // a Thursday
		for i, day := range []string{"2026-11-19", "2026-11-18", "2026-11-16", "2026-11-15", "2026-11-01", "2026-10-31", "2025-11-19"} {
			at, err := time.Parse(time.DateOnly, day)
			if err != nil {
				t.Fatal(err)
			}
			c := call(fmt.Sprint(i), "k1", at)
			c.Cost = int64(1) << i
			write(t, store, c)
		}
		write(t, store, call("other", "k2", now))
		many := make([]string, 1500)
		for i := range many {
			many[i] = fmt.Sprint("none", i)
		}
		want1, want2 := models.Spend{Total: 127, Day: 1, Week: 7, Month: 31}, models.Spend{Total: 70, Day: 70, Week: 70, Month: 70}
		for _, ids := range [][]string{{"key:k1", "key:k2", "none"}, append(append([]string{"key:k1"}, many...), "key:k2")} {
			got, err := store.AccountSpend(t.Context(), ids, now.In(time.FixedZone("east", 14*3600)))
			if err != nil || len(got) != 2 || got["key:k1"] != want1 || got["key:k2"] != want2 {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if got, err := store.AccountSpend(t.Context(), nil, now); err != nil || len(got) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestSpendIsSummedByWindow(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		now := time.Date(2026, 11, 25, 23, 59, 59, 0, time.UTC) // a Wednesday
		db := rawDB(t, address)
		for day, cost := range map[string]string{
			"2025-11-25": "1", "2026-10-31": "10", "2026-11-01": "100", "2026-11-22": "1000",
			"2026-11-23": "10000", "2026-11-24": "100000", "2026-11-25": "1000000",
		} {
			execute(t, db, "INSERT INTO spend (account, day, cost) VALUES ('key:a', '"+day+"', "+cost+"), ('gateway', '"+day+"', 7)")
		}
		execute(t, db, "INSERT INTO spend (account, day, cost) VALUES ('key:b', '2026-01-01', 5)")
		spent, err := store.AccountSpend(t.Context(), []string{"key:a", "key:b", "key:c"}, now)
		want := models.Spend{Total: 1111111, Day: 1000000, Week: 1110000, Month: 1111100}
		if err != nil || spent["key:a"] != want || spent["key:b"] != (models.Spend{Total: 5}) || spent["key:c"] != (models.Spend{}) {
			t.Errorf("%+v, %v", spent, err)
		}
	})
}
