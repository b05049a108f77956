package models_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
)

var midnight = noon.Truncate(24 * time.Hour)

// usageCalls reads how many calls the sums have.
func usageCalls(t *testing.T, store *models.Store, whole bool) (calls int64) {
	t.Helper()
	_, err := store.UsageTimes(t.Context(), &models.UsageQuery{}, models.UsageRange{
		From: midnight.AddDate(0, 0, -20).Unix(), To: midnight.AddDate(0, 0, 1).Unix(),
		Whole: func(int64, int64) bool { return whole },
		Add: func(u models.UsageTime) error {
			calls += u.Tally.Calls
			return nil
		},
	})
	if err != nil {
		t.Error(err)
	}
	return calls
}

// Two replicas write and merge at once, and a third reads: it never sees fewer calls than
// before, nor more than were written.
func TestSumsAreCompleteWhileReplicasMergeThem(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		first := migrated(t, address)
		second := open(t, address)
		const batches, rows = 30, 5
		var writing, reading sync.WaitGroup
		for r, store := range []*models.Store{first, second} {
			writing.Go(func() {
				for i := range batches {
					var calls []models.Call
					for j := range rows {
						at := noon.Add(-time.Duration(i*j) * 3 * time.Hour) // some of old days
						calls = append(calls, call(fmt.Sprintf("%d-%d-%d", r, i, j), fmt.Sprint("k", j), at))
					}
					if err := store.WriteCalls(t.Context(), fmt.Sprint("r", r), calls); err != nil {
						t.Error(err)
					}
					if _, err := store.MergeUsage(t.Context(), noon); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		reading.Go(func() {
			last := int64(0)
			for i := 0; ; i++ {
				n := usageCalls(t, first, i%2 == 0)
				if n < last || n > 2*batches*rows {
					t.Errorf("%d calls after %d", n, last)
				}
				last = n
				select {
				case <-done:
					return
				default:
				}
			}
		})
		writing.Wait()
		close(done)
		reading.Wait()
		for more := true; more; {
			var err error
			if more, err = second.MergeUsage(t.Context(), noon); err != nil {
				t.Fatal(err)
			}
		}
		if n := usageCalls(t, first, false); n != 2*batches*rows {
			t.Errorf("%d calls", n)
		}
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT count(*) FROM ledger_sums WHERE part <> ''":                                                              0,
			fmt.Sprint("SELECT count(*) FROM ledger_sums WHERE hours = 1 AND begins < ", midnight.AddDate(0, 0, -4).Unix()):  0,
			fmt.Sprint("SELECT count(*) FROM ledger_sums WHERE hours = 24 AND begins < ", midnight.AddDate(0, 0, -4).Unix()): 10,
			"SELECT count(*) FROM usage_since WHERE fill_from <> ''":                                                         0,
		})
	})
}

func TestADatabaseWithoutCallsNeedsNoFilling(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		write(t, store, call("a", "k1", noon))
		if more, err := store.FillUsage(t.Context(), time.Now().Add(time.Hour), 10); more || err != nil {
			t.Errorf("%v, %v", more, err)
		}
		if n := usageCalls(t, store, true); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestFormerReplicasAreWaitedFor(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		db := rawDB(t, address)
		execute(t, db, "UPDATE ledger_state SET write_from = 253402300800")
		write(t, store, call("a", "k1", noon))
		execute(t, db, "DELETE FROM usage_sums")
		execute(t, db, "UPDATE usage_since SET since = 253402300800, fill_from = 'call_9999999999999999'")
		execute(t, db, "UPDATE calls SET summed = FALSE")
		if _, err := store.FillUsage(t.Context(), time.Now(), 10); err != nil {
			t.Fatal(err)
		}
		want := int64(0) // SQLite has one process only
		if !strings.HasPrefix(address, "sqlite:") {
			want = 1
		}
		expect(t, db, map[string]int64{"SELECT count(*) FROM usage_since WHERE fill_from <> ''": want})
		if _, err := store.FillUsage(t.Context(), time.Now().Add(time.Hour), 10); err != nil {
			t.Fatal(err)
		}
		expect(t, db, map[string]int64{
			"SELECT count(*) FROM usage_since WHERE fill_from <> ''": 0, "SELECT count(*) FROM usage_sums": 1,
		})
	})
}
