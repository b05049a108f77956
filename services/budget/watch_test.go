package budget

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// watched is a database with a Watch. Its day is a Saturday.
type watched struct {
	*Watch
	db     *sql.DB
	now    atomic.Pointer[time.Time]
	booked atomic.Int64
}

func newWatched(t *testing.T, d *storetest.Database, every time.Duration, defaults models.Limits) *watched {
	t.Helper()
	db, err := sql.Open(d.Driver, d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &watched{db: db}
	w.now.Store(&november)
	w.Watch = NewWatch(WatchOptions{
		Store: d.Store, UserDefaults: defaults, Booked: w.booked.Load, Every: every, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return *w.now.Load() },
	})
	return w
}

func (w *watched) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := w.db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func (w *watched) key(t *testing.T, id, window string, budget int64, more string) {
	t.Helper()
	w.exec(t, fmt.Sprintf("INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at, budget, budget_window) "+
		"VALUES ('%s', '', 'k', 'hash-%s', 'p', 1, %d, '%s')", id, id, budget, window))
	if more != "" {
		w.exec(t, "UPDATE api_keys SET "+more+" WHERE id = '"+id+"'")
	}
}

func (w *watched) spend(t *testing.T, account, day string, cost int64) {
	t.Helper()
	w.exec(t, fmt.Sprintf("INSERT INTO spend (account, day, cost) VALUES ('%s', '%s', %d)", account, day, cost))
}

func (w *watched) check(t *testing.T, nearly, spent map[string]float64) {
	t.Helper()
	if err := w.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(w.NearlySpent(), nearly) || !maps.Equal(w.Spent(), spent) {
		t.Errorf("nearly spent: %v, want %v; spent: %v, want %v", w.NearlySpent(), nearly, w.Spent(), spent)
	}
}

func TestBudgetsAreCountedFrom80And100PercentOfTheirWindow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		w := newWatched(t, d, 0, models.Limits{Budget: 1000, BudgetWindow: models.Month})
		raised := fmt.Sprintf("budget_extra = 50, budget_extra_until = %d", november.Add(12*time.Hour).UnixMicro())
		for _, k := range []struct {
			id, window   string
			budget       int64
			day          string
			spent        int64
			more, whatIs string
		}{
			{id: "a", window: "day", budget: 100, day: "2026-11-21", spent: 79, whatIs: "neither"},
			{id: "b", window: "day", budget: 100, day: "2026-11-21", spent: 80, whatIs: "nearly"},
			{id: "c", window: "day", budget: 100, day: "2026-11-20", spent: 100, whatIs: "neither: yesterday"},
			{id: "d", window: "week", budget: 100, day: "2026-11-16", spent: 100, whatIs: "spent"},
			{id: "e", window: "week", budget: 100, day: "2026-11-15", spent: 100, whatIs: "neither: last week"},
			{id: "f", window: "month", budget: 100, day: "2026-11-01", spent: 120, whatIs: "spent: more than all"},
			{id: "g", window: "month", budget: 100, day: "2026-10-31", spent: 100, whatIs: "neither: last month"},
			{id: "h", window: "total", budget: 100, day: "2020-01-01", spent: 99, whatIs: "nearly"},
			{id: "i", window: "", budget: 0, day: "2026-11-21", spent: 100, whatIs: "neither: no budget"},
			{id: "j", window: "day", budget: 0, day: "2026-11-21", spent: 100, whatIs: "neither: a budget of nothing"},
			{id: "k", window: "day", budget: 100, day: "2026-11-21", spent: 100, more: "revoked_at = 5", whatIs: "neither: revoked"},
			{id: "l", window: "total", budget: 100, day: "2026-11-21", spent: 119, more: raised, whatIs: "neither: raised until noon"},
			{id: "m", window: "total", budget: 0, day: "2026-11-21", spent: 40, more: raised, whatIs: "nearly: of what it is raised by"},
		} {
			w.key(t, k.id, k.window, k.budget, k.more)
			w.spend(t, "key:"+k.id, k.day, k.spent)
		}
		w.exec(t, "INSERT INTO teams (id, name, created_at, budget, budget_window) VALUES ('t', 't', 1, 50, 'month')")
		w.spend(t, "team:t", "2026-11-02", 20)
		w.spend(t, "team:t", "2026-11-03", 20)
		w.exec(t, "UPDATE users SET budget = 10, budget_window = 'day' WHERE email LIKE 'ada%'")
		var ada, bob string
		for id, like := range map[*string]string{&ada: "ada%", &bob: "bob%"} {
			if err := w.db.QueryRow("SELECT id FROM users WHERE email LIKE '" + like + "'").Scan(id); err != nil {
				t.Fatal(err)
			}
		}
		w.spend(t, "user:"+ada, "2026-11-21", 10)
		w.spend(t, "user:"+bob, "2026-11-21", 800) // of the default budget
		w.check(t, map[string]float64{"key": 5, "team": 1, "user": 2}, map[string]float64{"key": 2, "team": 0, "user": 1})
		var greatest []string
		for _, r := range w.Greatest() {
			greatest = append(greatest, r.Name+":"+string(r.Kind))
		}
		if got, want := strings.Join(greatest, " "), "k:key k:key "; !strings.HasPrefix(got, want) ||
			len(greatest) != 8 || w.Greatest()[0].ID != "f" {
			t.Errorf("the greatest shares first: %s", got)
		}

		w.exec(t, "UPDATE users SET disabled_at = 5 WHERE email LIKE 'ada%'", "UPDATE teams SET budget = 40",
			"UPDATE api_keys SET budget = 10000 WHERE id = 'f'")
		w.check(t, map[string]float64{"key": 4, "team": 1, "user": 1}, map[string]float64{"key": 1, "team": 1, "user": 0})
		sunday := november.AddDate(0, 0, 1)
		w.now.Store(&sunday)
		w.check(t, map[string]float64{"key": 3, "team": 1, "user": 1}, map[string]float64{"key": 2, "team": 1, "user": 0})
	})
}

func TestBudgetsOfMoreAccountsThanAPageAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		w := newWatched(t, d, 0, models.Limits{})
		var keys, spent []string
		const many = 2345
		for i := range many {
			keys = append(keys, fmt.Sprintf("('k%d', '', 'k', 'h%d', 'p', 1, 100, 'day')", i, i))
			spent = append(spent, fmt.Sprintf("('key:k%d', '2026-11-21', 80)", i))
		}
		w.exec(t, "INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at, budget, budget_window) VALUES "+strings.Join(keys, ","),
			"INSERT INTO spend (account, day, cost) VALUES "+strings.Join(spent, ","))
		w.check(t, map[string]float64{"key": many, "team": 0, "user": 0}, map[string]float64{"key": 0, "team": 0, "user": 0})
		if n := len(w.Greatest()); n != 20 {
			t.Errorf("%d accounts are kept", n)
		}
	})
}

// An idle gateway asks nothing of its database, until a call is booked.
func TestAnIdleWatchDoesNotAskTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWatched(t, storetest.SQLite(t), time.Millisecond, models.Limits{})
	var counts atomic.Int64
	w.opts.Now = func() time.Time { counts.Add(1); return november }
	var rounds atomic.Int64
	w.opts.Booked = func() int64 { rounds.Add(1); return w.booked.Load() }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	storetest.Until(t, "it counts at the start", func() bool { return counts.Load() == 1 })
	seen := rounds.Load()
	storetest.Until(t, "rounds go by", func() bool { return rounds.Load() > seen+5 })
	if n := counts.Load(); n != 1 { // the clock is read once a count
		t.Errorf("it has asked %d times", n)
	}
	w.key(t, "a", "day", 100, "")
	w.spend(t, "key:a", "2026-11-21", 90)
	w.booked.Add(1)
	storetest.Until(t, "what was booked is counted", func() bool { return w.NearlySpent()["key"] == 1 })
	w.exec(t, "UPDATE api_keys SET budget = 1000") // nothing is booked, but a budget was nearly spent
	storetest.Until(t, "the higher budget is seen", func() bool { return w.NearlySpent()["key"] == 0 })
}
