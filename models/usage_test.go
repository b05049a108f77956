package models_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
)

// writeUsage writes calls of several users, keys, models and days.
func writeUsage(t *testing.T, store *models.Store) {
	t.Helper()
	var calls []models.Call
	for i, c := range []struct {
		user, key, model string
		days             int
	}{
		{"ada", "ada1", "a", 0}, {"ada", "ada1", "b", 0}, {"ada", "ada2", "a", 1}, {"ada", "", "a", 1},
		{"bob", "bob1", "a", 1}, {"bob", "gone", "b", 2}, {"", "", "a", 2}, {"", "", "a", 2},
	} {
		one := call(fmt.Sprint(i), c.key, noon.AddDate(0, 0, -c.days))
		one.UserID, one.Served, one.Cost = c.user, c.model, int64(1)<<i
		calls = append(calls, one)
	}
	write(t, store, calls...)
}

func TestUsageIsGroupedByEveryDimension(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada", "bob")
		if _, err := store.RevokeKey(t.Context(), "ada", "ada2", 5); err != nil {
			t.Fatal(err)
		}
		writeUsage(t, store)
		all := models.UsageQuery{From: "2026-11-01", To: "2026-11-30", MaxGroups: 100}
		for _, tt := range []struct {
			by   string
			ask  func(q *models.UsageQuery)
			want string // the cost of each group
		}{
			{"", nil, " 255"},
			{"day", nil, "2026-11-19 224, 2026-11-20 28, 2026-11-21 3"},
			{"day", func(q *models.UsageQuery) { q.From, q.To = "2026-11-20", "2026-11-20" }, "2026-11-20 28"},
			{"day", func(q *models.UsageQuery) { q.From = "2026-11-22" }, ""},
			{"", func(q *models.UsageQuery) { q.From = "2026-11-22" }, ""},
			{"user", nil, "- 192, ada 15, bob 48"},
			{"key", nil, "- 200, ada1/n 3, ada2/n 4, bob1/n 16, gone 32"},
			{"model", nil, "a@openai 221, b@openai 34"},
			{"model", func(q *models.UsageQuery) { q.UserID = "ada" }, "a@openai 13, b@openai 2"},
			{"model", func(q *models.UsageQuery) { q.UserID, q.KeyID = "ada", "ada1" }, "a@openai 1, b@openai 2"},
			{"key", func(q *models.UsageQuery) { q.UserID, q.KeyID = "ada", "bob1" }, ""},
			{"user", func(q *models.UsageQuery) { q.ModelID = "b" }, "ada 2, bob 32"},
			{"user,day", func(q *models.UsageQuery) { q.From = "2026-11-20" }, "2026-11-20 ada 12, 2026-11-20 bob 16, 2026-11-21 ada 3"},
			{
				"day,user,key,model", func(q *models.UsageQuery) { q.UserID = "bob" },
				"2026-11-19 bob gone b@openai 32, 2026-11-20 bob bob1/n a@openai 16",
			},
			{"user", func(q *models.UsageQuery) { q.UserID = "nobody' OR '1'='1" }, ""},
		} {
			q := all
			for by := range strings.SplitSeq(tt.by, ",") {
				q.By = append(q.By, models.UsageBy(by))
			}
			if tt.ask != nil {
				tt.ask(&q)
			}
			rows, err := store.Usage(t.Context(), q)
			if got := costs(q.By, rows); err != nil || got != tt.want {
				t.Errorf("by %s: %s, want %s: %v", tt.by, got, tt.want, err)
			}
		}
	})
}

func costs(by []models.UsageBy, rows []models.Usage) string {
	var all []string
	for _, r := range rows {
		name := []string{}
		if slices.Contains(by, models.ByDay) {
			name = append(name, r.Day)
		}
		if slices.Contains(by, models.ByUser) {
			name = append(name, cmp.Or(r.UserID, "-"))
		}
		if slices.Contains(by, models.ByKey) {
			key := cmp.Or(r.KeyID, "-")
			if r.KeyName != "" {
				key += "/" + r.KeyName
			}
			name = append(name, key)
		}
		if slices.Contains(by, models.ByModel) {
			name = append(name, r.Model+"@"+r.Provider)
		}
		all = append(all, strings.Join(name, " ")+fmt.Sprint(" ", r.Cost))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestUsageHasAllSums(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		failed := call("b", "k1", noon)
		failed.Outcome, failed.Priced, failed.Estimated = models.OutcomeRefused, false, false
		write(t, store, call("a", "k1", noon), failed, call("c", "k2", noon))
		query := models.UsageQuery{From: "2026-11-21", To: "2026-11-21", By: []models.UsageBy{models.ByDay}, MaxGroups: 1}
		rows, err := store.Usage(t.Context(), query)
		want := models.Usage{Day: "2026-11-21", Sum: models.Sum{
			Calls: 3, Failed: 1, Estimated: 2, Unpriced: 1, InputTokens: 33, CachedTokens: 9, CacheWriteTokens: 12,
			OutputTokens: 75, ReasoningTokens: 18, Cost: 210,
		}}
		if err != nil || len(rows) != 1 || rows[0] != want {
			t.Errorf("%+v, %v", rows, err)
		}
		twice := want.Sum
		twice.Add(&want.Sum)
		if twice != (models.Sum{
			Calls: 6, Failed: 2, Estimated: 4, Unpriced: 2, InputTokens: 66, CachedTokens: 18, CacheWriteTokens: 24,
			OutputTokens: 150, ReasoningTokens: 36, Cost: 420,
		}) {
			t.Errorf("%+v", twice)
		}
	})
}

func TestUsageFailsWithTooManyGroups(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		writeUsage(t, store)
		q := models.UsageQuery{From: "2026-11-01", To: "2026-11-30", By: []models.UsageBy{models.ByDay, models.ByKey}, MaxGroups: 6}
		if rows, err := store.Usage(t.Context(), q); err != nil || len(rows) != 6 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		q.MaxGroups = 5
		if rows, err := store.Usage(t.Context(), q); !errors.Is(err, models.ErrTooMany) || len(rows) != 0 {
			t.Errorf("%d rows, %v", len(rows), err)
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
