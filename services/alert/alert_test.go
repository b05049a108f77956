package alert

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/services/budget"
	"modelgateway/tests/storetest"
)

var november = time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)

const key = "0123456789abcdef0123456789abcdef"

// receiver is a webhook that checks each signature as the document of Standard Webhooks
// says, and keeps what it accepted.
type receiver struct {
	*httptest.Server
	t      *testing.T
	answer func(nth int64, w http.ResponseWriter, r *http.Request) // nil: accept
	posts  atomic.Int64
	mu     sync.Mutex
	got    []string // kind, name and threshold
	bodies []string
}

func newReceiver(t *testing.T, answer func(int64, http.ResponseWriter, *http.Request)) *receiver {
	t.Helper()
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); req.Header.Get("webhook-signature") != want {
		r.t.Errorf("signature %q, want %q", req.Header.Get("webhook-signature"), want)
	}
	nth := r.posts.Add(1)
	if r.answer != nil {
		status := &recorded{ResponseWriter: w, status: http.StatusOK}
		if r.answer(nth, status, req); status.status != http.StatusOK {
			return
		}
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		r.t.Error(err)
	}
	var of budgetData
	if err := json.Unmarshal(m.Data, &of); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got = append(r.got, fmt.Sprintf("%s %s %d", of.Kind, of.Name, of.Threshold)); m.Type != BudgetReached {
		r.got[len(r.got)-1] = m.Type
	}
	r.bodies = append(r.bodies, string(body))
}

type recorded struct {
	http.ResponseWriter
	status int
}

func (r *recorded) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *receiver) accepted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.got))
}

// replica is a Watch with Alerts on a store of its own.
type replica struct {
	*Alerts
	watch *budget.Watch
	now   atomic.Pointer[time.Time]
}

func newReplica(t *testing.T, d *storetest.Database, url string, o Options) *replica {
	t.Helper()
	r := &replica{}
	r.now.Store(&november)
	o.Store, o.URL, o.Key = d.Open(t), url, []byte(key)
	if o.Now == nil {
		o.Now = func() time.Time { return *r.now.Load() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r.Alerts = New(o)
	r.watch = budget.NewWatch(budget.WatchOptions{
		Store: o.Store, Booked: func() int64 { return 0 }, Log: o.Log, Reached: r.Reached, Now: func() time.Time { return *r.now.Load() },
	})
	return r
}

// round counts the budgets and sends what is due.
func (r *replica) round(t *testing.T) {
	t.Helper()
	if err := r.watch.Count(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.Send(t.Context()); err != nil {
		t.Error(err)
	}
}

func (r *replica) at(t time.Time) { r.now.Store(&t) }

func exec(t *testing.T, d *storetest.Database, statements ...string) {
	t.Helper()
	db, err := sql.Open(d.Driver, d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// accounts are a key at 80 %, a team past 100 % and a user at 79 %.
func accounts(t *testing.T, d *storetest.Database) {
	t.Helper()
	exec(t, d, "INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at, budget, budget_window) "+
		"VALUES ('k', '', 'robot', 'secret-hash', 'secret-prefix', 1, 100000000, 'month')",
		"INSERT INTO teams (id, name, created_at, budget, budget_window) VALUES ('t', 'red', 1, 50, 'total')",
		"UPDATE users SET budget = 100, budget_window = 'day' WHERE id = 'ada'",
		"INSERT INTO spend (account, day, cost) VALUES ('key:k', '2026-11-02', 80000000), ('team:t', '2020-01-01', 60), "+
			"('user:ada', '2026-11-30', 79)")
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("delivered %q, want %q", got, want)
	}
}

func TestEachThresholdIsDeliveredOnceByManyReplicas(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		accounts(t, d)
		to := newReceiver(t, nil)
		for range 3 { // rounds of three replicas that start again
			var all sync.WaitGroup
			for range 3 {
				r := newReplica(t, d, to.URL, Options{})
				all.Go(func() { r.round(t) })
			}
			all.Wait()
		}
		r := newReplica(t, d, to.URL, Options{})
		r.round(t)
		equal(t, to.accepted(), "key robot 80", "team red 100", "team red 80")
		if n := to.posts.Load(); n != 3 {
			t.Errorf("%d posts, want 3", n)
		}
		exec(t, d, "UPDATE spend SET cost = 80 WHERE account = 'user:ada'")
		r.round(t)
		r.round(t)
		equal(t, to.accepted(), "key robot 80", "team red 100", "team red 80", "user ada@example.com 80")
	})
}

func TestANewWindowOrANewBudgetAlertsAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		accounts(t, d)
		exec(t, d, "DELETE FROM teams")
		to := newReceiver(t, nil)
		r := newReplica(t, d, to.URL, Options{})
		r.round(t)
		r.at(november.Add(time.Minute)) // December
		r.round(t)
		equal(t, to.accepted(), "key robot 80")
		exec(t, d, "INSERT INTO spend (account, day, cost) VALUES ('key:k', '2026-12-01', 90000000)")
		r.round(t)
		equal(t, to.accepted(), "key robot 80", "key robot 80")
		exec(t, d, "UPDATE api_keys SET budget = 110000000")
		r.round(t)
		equal(t, to.accepted(), "key robot 80", "key robot 80", "key robot 80")
		exec(t, d, "UPDATE api_keys SET budget = 200000000")
		r.round(t)
		equal(t, to.accepted(), "key robot 80", "key robot 80", "key robot 80")
	})
}

func TestTheMessageSaysWhichBudgetAndNoSecret(t *testing.T) {
	t.Parallel()
	d := storetest.SQLite(t)
	accounts(t, d)
	exec(t, d, "DELETE FROM teams")
	to := newReceiver(t, nil)
	newReplica(t, d, to.URL, Options{}).round(t)
	const want = `{"type":"budget.threshold_reached","timestamp":"2026-11-30T23:59:00Z","data":{"kind":"key","id":"k","name":"robot",` +
		`"threshold":80,"limit_usd":100,"spent_usd":80,"window":"month","period_start":"2026-11-01T00:00:00Z",` +
		`"period_end":"2026-12-01T00:00:00Z"}}`
	equal(t, to.bodies, want)
}

func TestAFailedPostIsRepeatedAfterGrowingWaits(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		accounts(t, d)
		exec(t, d, "DELETE FROM teams")
		to := newReceiver(t, func(nth int64, w http.ResponseWriter, _ *http.Request) {
			if nth <= 2 {
				w.Header().Set("Location", "/elsewhere") // is not followed
				w.WriteHeader(http.StatusFound)
			}
		})
		r := newReplica(t, d, to.URL, Options{})
		for _, step := range []struct {
			after time.Duration
			posts int64
		}{{0, 1}, {9 * time.Second, 1}, {10 * time.Second, 2}, {39 * time.Second, 2}, {40 * time.Second, 3}, {time.Hour, 3}} {
			r.at(november.Add(-time.Hour).Add(step.after))
			r.round(t)
			if n := to.posts.Load(); n != step.posts {
				t.Errorf("after %s: %d posts, want %d", step.after, n, step.posts)
			}
		}
		equal(t, to.accepted(), "key robot 80")
	})
}

func TestAnAlertThatIsNeverAcceptedIsGivenUpWithALogLine(t *testing.T) {
	t.Parallel()
	d := storetest.SQLite(t)
	accounts(t, d)
	exec(t, d, "DELETE FROM teams")
	to := newReceiver(t, func(_ int64, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	var log strings.Builder
	r := newReplica(t, d, to.URL+"/token", Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Waits: []time.Duration{0, 0}})
	r.round(t)
	if n := to.posts.Load(); n != 3 || r.Abandoned() != 1 || r.Failed() != 3 || r.Delivered() != 0 {
		t.Errorf("%d posts, %v failed, %v given up", n, r.Failed(), r.Abandoned())
	}
	if !strings.Contains(log.String(), "could not be delivered and is dropped") || strings.Contains(log.String(), "/token") {
		t.Error(log.String())
	}
}

func TestTheClaimOfAKilledReplicaIsTakenOver(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		accounts(t, d)
		exec(t, d, "DELETE FROM teams")
		to := newReceiver(t, nil)
		killed, other := newReplica(t, d, to.URL, Options{}), newReplica(t, d, to.URL, Options{})
		if err := killed.watch.Count(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := november.UnixMicro()
		claimed, err := killed.opts.Store.ClaimAlert(t.Context(), now, november.Add(time.Minute).UnixMicro())
		if err != nil {
			t.Fatal(err)
		}
		other.at(november.Add(59 * time.Second))
		other.round(t)
		equal(t, to.accepted())
		other.at(november.Add(time.Minute))
		if _, err := other.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, to.accepted(), "key robot 80")
		// The first one was only slow: what it says does not make the alert due again.
		if err := killed.opts.Store.PutOffAlert(t.Context(), claimed, now, "late"); err != nil {
			t.Fatal(err)
		}
		if next, err := other.opts.Store.NextAlert(t.Context()); err != nil || next != 0 {
			t.Errorf("due %d, %v", next, err)
		}
	})
}

func TestAReceiverThatHangsIsLeftAndAStopFreesTheClaim(t *testing.T) {
	t.Parallel()
	d := storetest.SQLite(t)
	accounts(t, d)
	exec(t, d, "DELETE FROM teams")
	to := newReceiver(t, func(nth int64, w http.ResponseWriter, r *http.Request) {
		if nth <= 2 {
			<-r.Context().Done()
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	r := newReplica(t, d, to.URL, Options{Limit: 50 * time.Millisecond, Waits: []time.Duration{time.Second}})
	r.round(t)
	if r.Failed() != 1 {
		t.Errorf("%v failed, want 1", r.Failed())
	}
	r = newReplica(t, d, to.URL, Options{})
	r.at(november.Add(time.Second))
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { r.Run(ctx) })
	storetest.Until(t, "it is posted again", func() bool { return to.posts.Load() == 2 })
	stop()
	done.Wait()
	r = newReplica(t, d, to.URL, Options{})
	r.at(november.Add(time.Second))
	r.round(t)
	equal(t, to.accepted(), "key robot 80")
}
