//go:build !race

package models_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/ledger"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

// year makes the calls of a year: of 200 keys, 50 users and 12 models, of which each key
// uses a few. Some keys call much more than others, and most calls are made in working
// hours.
type year struct {
	random *rand.Rand
	end    time.Time
	keys   []yearKey
	weight []float64 // of the keys so far
}

type yearKey struct {
	id, user string
	models   []string
}

func newYear(end time.Time) *year {
	y := &year{random: rand.New(rand.NewPCG(1, 2)), end: end}
	all := 0.0
	for i := range 200 {
		k := yearKey{id: fmt.Sprintf("key_QZ3M5T2JXH4V6N7ABCDEFG%04d", i), user: fmt.Sprintf("usr_7KZL3XW5VHYB4F2QABCDEF%04d", i%50)}
		for range 1 + y.random.IntN(4) {
			k.models = append(k.models, fmt.Sprintf("claude-model-%d-20251001", y.random.IntN(12)))
		}
		y.keys = append(y.keys, k)
		all += 1 / math.Pow(float64(i+1), 0.8)
		y.weight = append(y.weight, all)
	}
	return y
}

// day makes the calls of the day that is so many days before the end.
func (y *year) day(before, calls int) []models.Call {
	begin := y.end.AddDate(0, 0, -before).Truncate(24 * time.Hour)
	all := make([]models.Call, 0, calls)
	for len(all) < calls {
		second := y.random.IntN(24 * 3600)
		if work := 0.15 + math.Pow(math.Sin(math.Pi*float64(second)/(24*3600)), 4); y.random.Float64() > work {
			continue
		}
		key, _ := slices.BinarySearch(y.weight, y.random.Float64()*y.weight[len(y.weight)-1])
		k := &y.keys[min(key, len(y.keys)-1)]
		at := begin.Add(time.Duration(second) * time.Second)
		c := models.Call{
			ID: storetest.CallID(at, fmt.Sprint("y", before, "x", len(all))), UserID: k.user, KeyID: k.id,
			Model: k.models[y.random.IntN(len(k.models))], Provider: "anthropic", Outcome: models.OutcomeOK, Priced: true,
			InputTokens: int64(y.random.ExpFloat64() * 1500), OutputTokens: int64(y.random.ExpFloat64() * 400),
			BeganAt: at.UnixMicro(), FirstTokenUS: int64(math.Exp(y.random.NormFloat64()*0.6) * 450_000),
			DurationUS: int64(math.Exp(y.random.NormFloat64()*0.8) * 4_000_000),
		}
		c.CachedTokens, c.Cost = c.InputTokens/2, c.InputTokens*3+c.OutputTokens*15
		if y.random.IntN(150) == 0 {
			c.Outcome, c.Status = models.OutcomeRefused, 429
		}
		all = append(all, c)
	}
	return all
}

// TestAYearOfUsageIsReportedWithinASecond loads ten million calls a year, of two years
// since the period before is asked for as well, and measures each range of the console.
func TestAYearOfUsageIsReportedWithinASecond(t *testing.T) {
	longtest.Skip(t)
	addresses := []string{"sqlite:" + filepath.Join(t.TempDir(), "gateway.db"), servertest.Postgres(t)}
	now := time.Date(2026, 11, 22, 16, 7, 23, 0, time.UTC)
	const days, calls = 366, 10_000_000 / 365
	var stores []*models.Store
	for _, address := range addresses {
		stores = append(stores, migrated(t, address))
	}
	y := newYear(now)
	for before := days - 1; before >= 0; before-- {
		all := y.day(before, calls)
		for _, store := range stores {
			err := store.SumCalls(t.Context(), all)
			for tries := 5; err != nil && tries > 0; tries-- { // a statement may take two seconds, less than a busy machine needs
				err = store.SumCalls(t.Context(), all)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, store := range stores {
		mergeUsage(t, store, now)
		db := rawDB(t, addresses[i])
		t.Log(usageSize(t, db))
		// The year before has the same calls: the sums of a day do not say which one it is.
		execute(t, db, fmt.Sprintf("INSERT INTO ledger_sums SELECT begins - %d, hours, part, totals, details FROM ledger_sums", days*24*3600))
		t.Run([]string{"sqlite", "postgres"}[i], func(t *testing.T) {
			reportYear(t, ledger.NewUsage(store, func() time.Time { return now }), now)
		})
	}
}

// mergeUsage merges all sums. Each step may fail where the machine is busy.
func mergeUsage(t *testing.T, store *models.Store, now time.Time) {
	t.Helper()
	for failures := 0; ; {
		more, err := store.MergeUsage(t.Context(), now)
		if err == nil && !more {
			return
		}
		if err == nil {
			continue
		}
		if failures++; failures > 9 {
			t.Fatal(err)
		}
	}
}

// slow is how much longer than on a quiet machine a report may take: other tests run beside this one, and hosts differ.
const slow = 3

func reportYear(t *testing.T, u *ledger.Usage, now time.Time) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kathmandu"} {
		for _, tt := range []struct {
			step  string
			from  time.Time
			limit time.Duration
		}{
			{"1m", now.Add(-time.Hour), time.Second},
			{"30m", now.Add(-24 * time.Hour), time.Second},
			{"2h", now.AddDate(0, 0, -7), time.Second},
			{"1d", now.AddDate(0, 0, -30), time.Second},
			{"7d", now.AddDate(-1, 0, 0), time.Second},
			{"1d", now.AddDate(-1, 0, 0), 5 * time.Second}, // where every day has to be divided
		} {
			for _, group := range []string{"model", "key"} {
				ask := ledger.UsageRequest{
					From: tt.from.Format(time.RFC3339), Step: tt.step, TimeZone: zone, GroupBy: group, Previous: "true",
				}
				took, size := answered(t, u, ask)
				t.Logf("%-20s by %-5s %4d days by %-3s: %4d ms, %d KB", zone, group, int(now.Sub(tt.from).Hours()/24), tt.step,
					took.Milliseconds(), size/1000)
				if took > slow*tt.limit {
					t.Errorf("took %s: %+v", took, ask)
				}
			}
		}
	}
}

// answered is the shortest time of three to answer, and the size of the answer. Other
// tests may run at the same time.
func answered(t *testing.T, u *ledger.Usage, ask ledger.UsageRequest) (took time.Duration, size int) {
	t.Helper()
	took = time.Hour
	for range 3 {
		began := time.Now()
		report, err := u.All(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(report.Show(), api.Lenient)
		if err != nil {
			t.Fatal(err)
		}
		took, size = min(took, time.Since(began)), len(text)
	}
	return took, size
}

func usageSize(t *testing.T, db *sql.DB) string {
	t.Helper()
	var rows, totals, details int64
	if err := db.QueryRowContext(t.Context(), "SELECT count(*), sum(length(totals)), sum(length(details)) FROM ledger_sums").
		Scan(&rows, &totals, &details); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d rows, totals %d KB, details %d KB", rows, totals/1000, details/1000)
}
