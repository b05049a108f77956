package models_test

import (
	"testing"
	"time"

	"modelgateway/models"
)

// What a session has spent is kept as a whole until its last day is old. Of other accounts it stays.
func TestWhatIdleSessionsHaveSpentIsDeleted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		write := func(id string, session string, ago time.Duration) {
			c := call(id, "k", noon.Add(-ago))
			c.Cost, c.Holds = 5, models.Holds{{Account: "key:k"}, {Account: models.SessionAccount("key:k", session)}}
			if err := store.WriteCalls(t.Context(), "r", []models.Call{c}); err != nil {
				t.Fatal(err)
			}
		}
		const day = 24 * time.Hour
		write("1", "old", 40*day)
		write("2", "old", 35*day)
		write("3", "busy", 40*day)
		write("4", "busy", day)
		for _, want := range []struct{ deleted, rows int64 }{{1, 9}, {1, 8}, {0, 8}} {
			n, err := store.DeleteSessionSpend(t.Context(), noon.Add(-30*day), 1)
			if rows := number(t, db, "SELECT COUNT(*) FROM spend WHERE account <> 'gateway'"); err != nil || n != want.deleted || rows != want.rows {
				t.Errorf("%d are deleted, %d left, %v, want %v", n, rows, err, want)
			}
		}
		busy := models.SessionAccount("key:k", "busy")
		if n := number(t, db, "SELECT SUM(cost) FROM spend WHERE account = '"+busy+"'"); n != 10 {
			t.Errorf("the other session has spent %d", n)
		}
	})
}
