package models_test

import (
	"fmt"
	"testing"
	"time"

	"modelgateway/models"
)

func TestKeysAreFoundByStateAndByTheBeginningOfTheirName(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada", "bob")
		db := rawDB(t, address)
		execute(t, db, "UPDATE api_keys SET revoked_at = 7 WHERE id = 'ada1'")
		execute(t, db, "UPDATE api_keys SET name = 'Eval_1', prefix = 'mgw_q7' WHERE id = 'ada2'")
		execute(t, db, "UPDATE api_keys SET name = 'evals' WHERE id = 'bob1'")
		for want, f := range map[string]models.KeyFilter{
			"[ada2]": {UserID: "ada"}, "[ada1]": {UserID: "ada", State: models.KeysRevoked}, "[ada1 ada2]": {UserID: "ada", State: models.KeysAll},
			"[ada2 bob1]": {Prefix: "EVAL"}, " [ada2]": {Prefix: "eval_"}, "[]": {Prefix: "val"}, "  [ada2]": {Prefix: "mgw_q"},
		} {
			keys, err := store.AllKeys(t.Context(), f, models.Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			for _, k := range keys {
				ids[k.ID] = true
			}
			var got []string
			for _, id := range []string{"ada1", "ada2", "bob1", "bob2"} {
				if ids[id] {
					got = append(got, id)
				}
			}
			if text := fmt.Sprint(got); " "+text != want && "  "+text != want && text != want {
				t.Errorf("%+v: %s", f, text)
			}
		}
	})
}

func TestCallsOfKeysAreCountedByDay(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		now := time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("", 3600))
		for _, row := range []struct {
			day, key string
			calls    int
		}{
			{"2026-03-01", "k1", 5}, {"2026-03-01", "k1", 2}, {"2026-02-27", "k1", 3}, {"2026-02-26", "k1", 9}, {"2026-02-28", "k2", 4},
			{"2026-03-02", "k2", 1}, // of a replica whose clock is ahead
		} {
			day, err := time.Parse(time.DateOnly, row.day)
			if err != nil {
				t.Fatal(err)
			}
			calls := make([]models.Call, row.calls)
			for i := range calls {
				calls[i] = models.Call{KeyID: row.key, BeganAt: day.Add(time.Hour).UnixMicro()}
			}
			write(t, store, calls...)
		}
		calls, err := store.CallsByDay(t.Context(), []string{"k1", "k2", "k3"}, 3, now)
		if err != nil || fmt.Sprint(calls) != "map[k1:[3 0 7] k2:[0 4 0]]" {
			t.Errorf("%v, %v", calls, err)
		}
	})
}
