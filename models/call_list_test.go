package models_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// listedCalls are calls of several users, keys, models and times: the suffix of an id is the
// number of the call, and each began a minute before the next.
func listedCalls(t *testing.T, store *models.Store) {
	t.Helper()
	createUsers(t, store, "ada", "bob")
	var calls []models.Call
	for i, c := range []struct {
		user, key, team, served, outcome string
		status                           int
	}{
		{"ada", "ada1", "", "a", models.OutcomeOK, 200},
		{"ada", "ada2", "t1", "b", models.OutcomeRefused, 429},
		{"ada", "", "", "a", models.OutcomeClient, 499},
		{"bob", "bob1", "", "a", models.OutcomeFailed, 502},
		{"", "team-key", "t1", "b", models.OutcomeOK, 200},
		{"", "", "", "", models.OutcomeInternal, 500},
	} {
		one := call(fmt.Sprint(i), c.key, noon.Add(time.Duration(i)*time.Minute))
		one.UserID, one.TeamID, one.Served, one.Outcome, one.Status = c.user, c.team, c.served, c.outcome, c.status
		one.Dialect = []string{"chat", "messages"}[i%2]
		calls = append(calls, one)
	}
	write(t, store, calls...)
}

func suffixes(rows []models.NamedCall) string {
	var all strings.Builder
	for i := range rows {
		all.WriteString(rows[i].RequestID[len(rows[i].RequestID)-1:])
	}
	return all.String()
}

func TestCallsAreListedByEachFilterTheNewestFirst(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		listedCalls(t, store)
		minute := func(n int) int64 { return noon.Add(time.Duration(n) * time.Minute).UnixMicro() }
		for _, tt := range []struct {
			filter models.CallFilter
			want   string
		}{
			{models.CallFilter{}, "543210"},
			{models.CallFilter{UserID: "ada"}, "210"},
			{models.CallFilter{UserID: "ada", KeyID: "ada2"}, "1"},
			{models.CallFilter{UserID: "bob", KeyID: "ada2"}, ""},
			{models.CallFilter{KeyID: "team-key"}, "4"},
			{models.CallFilter{TeamID: "t1"}, "41"},
			{models.CallFilter{TeamID: "t1", UserID: "ada"}, "1"},
			{models.CallFilter{Model: "a"}, "320"},
			{models.CallFilter{Model: "asked"}, "5"},
			{models.CallFilter{Dialect: "messages"}, "531"},
			{models.CallFilter{Provider: "gemini"}, ""},
			{models.CallFilter{Outcome: models.OutcomeOK}, "40"},
			{models.CallFilter{Failed: true}, "531"},
			{models.CallFilter{MinStatus: 400, MaxStatus: 499}, "21"},
			{models.CallFilter{RequestID: "req-3"}, "3"},
			{models.CallFilter{Search: "req-3"}, "3"},
			{models.CallFilter{Search: "AD"}, "210"},
			{models.CallFilter{Search: "mgw_a"}, "310"},
			{models.CallFilter{Search: "mgw%"}, ""},
			{models.CallFilter{From: minute(1), To: minute(4)}, "321"},
			{models.CallFilter{UserID: "ada", From: minute(1), To: minute(2)}, "1"},
			{models.CallFilter{UserID: "x' OR '1'='1"}, ""},
		} {
			page, err := store.Calls(t.Context(), tt.filter, models.Page{Limit: 100})
			if got := suffixes(page.Rows); err != nil || got != tt.want || page.Next != "" {
				t.Errorf("%+v: calls %q, want %q: %v", tt.filter, got, tt.want, err)
			}
		}
	})
}

func TestAPageOfCallsGoesOnAfterTheOneBefore(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		listedCalls(t, store)
		for _, filter := range []models.CallFilter{{}, {UserID: "ada"}, {TeamID: "t1"}, {Failed: true}} {
			all, err := store.Calls(t.Context(), filter, models.Page{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var pages string
			page := models.Page{Limit: 2}
			for more := true; more; more = page.After != "" {
				got, err := store.Calls(t.Context(), filter, page)
				if err != nil {
					t.Fatal(err)
				}
				pages += suffixes(got.Rows)
				page.After = got.Next
			}
			if pages != suffixes(all.Rows) {
				t.Errorf("%+v: pages %q, all %q", filter, pages, suffixes(all.Rows))
			}
		}
	})
}

func TestACallHasTheNamesOfThoseWhoseItIs(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		listedCalls(t, store)
		id := storetest.CallID(noon, "0")
		got, err := store.Call(t.Context(), models.CallFilter{UserID: "ada"}, id)
		if err != nil || got.UserEmail != "ada@x.com" || got.KeyName != "n" || got.TeamName != "" || got.DurationUS != 9 {
			t.Errorf("%+v: %v", got, err)
		}
		for _, filter := range []models.CallFilter{{UserID: "bob"}, {KeyID: "ada2"}, {TeamID: "t1"}} {
			if got, err := store.Call(t.Context(), filter, id); !errors.Is(err, models.ErrNotFound) {
				t.Errorf("%+v: %+v, %v", filter, got, err)
			}
		}
	})
}

func TestOnlyIDsOfCallsHaveTheirForm(t *testing.T) {
	for id, want := range map[string]bool{
		storetest.CallID(noon, ""): true, "call_0383518402731450369": true,
		"call_1763711640123456kqzmtbvwxhfjd": true, "call_1763711640123456": true, // of the former release
		"": false, "call_": false, "call_123": false, "call_12345678901234x6": false, "call_1763711640123456A'": false,
		"call_1763711640123456" + strings.Repeat("a", 99): false, "0383518402731450369": false,
	} {
		if got := models.IsCallID(id); got != want {
			t.Errorf("%q: %t", id, got)
		}
	}
}

func TestAPageReadsSoManyRowsAndGoesOnFromThere(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		const rows = 2500 // more than are read of an owner
		calls := make([]models.Call, rows)
		for i := range calls {
			calls[i] = call(fmt.Sprint(i), "k", noon.Add(time.Duration(i)*time.Second))
		}
		calls[3].Served = "rare"
		write(t, store, calls...)
		filter := models.CallFilter{UserID: "ada", Model: "rare"}
		first, err := store.Calls(t.Context(), filter, models.Page{Limit: 5})
		if err != nil || len(first.Rows) != 0 || first.Next == "" {
			t.Fatalf("%+v: %v", first, err)
		}
		second, err := store.Calls(t.Context(), filter, models.Page{After: first.Next, Limit: 5})
		if err != nil || len(second.Rows) != 1 || second.Rows[0].ID != calls[3].ID || second.Next != "" {
			t.Errorf("%+v: %v", second, err)
		}
		all, err := store.Calls(t.Context(), models.CallFilter{Model: "rare"}, models.Page{Limit: 5})
		if err != nil || len(all.Rows) != 1 || all.Next != "" {
			t.Errorf("%+v: %v", all, err)
		}
	})
}
