// Package simulation plays the life of several replicas on one database, with the
// faults of machines, networks and providers, and checks the money after each step.
// The budgets, the ledger and the calls are the product's own. The clock is not: a
// run of minutes takes milliseconds. A run is drawn from its seed alone, and the
// same seed makes the same run.
package simulation

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/models"
)

// run is one run of the simulation.
type run struct {
	seed  uint64
	lab   *lab
	first time.Time // on the clock of the test
	began time.Time // on the simulated clock
	rng   *rand.Rand
	db    *database

	calling    sync.WaitGroup // calls
	background sync.WaitGroup // processes that stop and start

	mu         sync.Mutex // guards all that follows; is never held while time passes
	trace      []string
	failed     bool
	slowUntil  time.Time
	flakyUntil time.Time
	accounts   []*account // the last is the gateway's
	replicas   []*replica
	processes  []*process // all there have been
	calls      []*call
	walkers    map[string]*walker // by goroutine
	books      books
	counts     counts
}

// counts say what has been in a run, for the log of the test.
type counts struct {
	steps, calls, admitted, refused, held, unavailable int
	commits, kills, lost, orphans                      int
}

func (c *counts) add(o counts) {
	c.steps += o.steps
	c.calls += o.calls
	c.admitted += o.admitted
	c.refused += o.refused
	c.held += o.held
	c.unavailable += o.unavailable
	c.lost += o.lost
	c.commits += o.commits
	c.kills += o.kills
	c.orphans += o.orphans
}

// result is what is left of a run.
type result struct {
	trace  []string
	failed bool
	counts counts
}

// play makes the run of a seed.
func (l *lab) play(t *testing.T, seed uint64) (res result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &run{seed: seed, lab: l, first: time.Now(), walkers: map[string]*walker{}, books: newBooks()}
		r.rng = r.draw("events")
		defer r.enter(&walker{name: "test"})()
		r.began = r.firstMoment()
		r.db = newDatabase(t, r, l.schema)
		r.accounts = r.newAccounts()
		r.start()
		r.events()
		r.heal()
		r.settle()
		r.stop()
		if err := r.db.close(); err != nil {
			t.Error(err)
		}
		slices.Sort(r.trace) // by time; lines of one instant come in any order
		res = result{r.trace, r.failed, r.counts}
	})
	return res
}

// draw is a source of random numbers for one purpose. What it draws does not depend
// on what is drawn for others, and so not on the order of goroutines.
func (r *run) draw(purpose ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, purpose...)
	return rand.New(rand.NewPCG(r.seed, h.Sum64()))
}

// firstMoment is mostly shortly before the end of a day, a week, a month or a year.
func (r *run) firstMoment() time.Time {
	d := r.draw("moment")
	end := [...]time.Time{
		time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC), // of a Tuesday
		time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), // of a week
		time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),  // of a month, on a Monday
		time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),   // of a year
		time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC),   // of a month and a week
		time.Date(2027, 6, 9, 12, 0, 0, 0, time.UTC),
	}[d.IntN(6)]
	return end.Add(-time.Duration(d.Int64N(int64(90 * time.Second))))
}

// elapsed is the time since the run began.
func (r *run) elapsed() time.Duration { return time.Since(r.first) }

// now is the right time.
func (r *run) now() time.Time { return time.Now().Add(r.began.Sub(r.first)) }

// isOn says whether a fault is on; r.mu is held.
func (r *run) isOn(until *time.Time) bool { return time.Now().Before(*until) }

// log adds a line to the trace.
func (r *run) log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logNow(format, args...)
}

// logNow is log while r.mu is held.
func (r *run) logNow(format string, args ...any) {
	r.trace = append(r.trace, fmt.Sprintf("%13.6f  ", r.elapsed().Seconds())+fmt.Sprintf(format, args...))
}

// fail adds the breach of an invariant to the trace.
func (r *run) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failNow(format, args...)
}

func (r *run) failNow(format string, args ...any) {
	r.failed = true
	r.logNow("BROKEN: "+format, args...)
}

// usd writes micro-dollars.
func usd(micro int64) string { return fmt.Sprintf("$%.6f", float64(micro)/1e6) }

// account is a key, or the gateway, and the budgets that it has had.
type account struct {
	name  string // models.KeyAccount or models.GatewayAccount
	key   string // the id of the key; empty for the gateway
	views []*view
}

// view is a budget from the moment at which an administrator sets it.
type view struct {
	n      int
	at     time.Time
	limit  int64
	window models.Window // empty: no budget
}

func (v *view) String() string {
	if v.window == "" {
		return "no budget"
	}
	return usd(v.limit) + " a " + string(v.window)
}

func (v *view) since(at time.Time) string { return v.window.FirstDay(at) }

// until is the first day after the window; empty where there is none.
func (v *view) until(at time.Time) string {
	if end := v.window.End(at); !end.IsZero() {
		return end.Format(time.DateOnly)
	}
	return ""
}

func (a *account) current() *view { return a.views[len(a.views)-1] }

// seen is the view of a replica that learns of changes after a delay.
func (a *account) seen(delay time.Duration) *view {
	for i := len(a.views) - 1; i > 0; i-- {
		if time.Since(a.views[i].at) >= delay {
			return a.views[i]
		}
	}
	return a.views[0]
}

func (a *account) set(limit int64, window models.Window) *view {
	v := &view{n: len(a.views), at: time.Now(), limit: limit, window: window}
	a.views = append(a.views, v)
	return v
}

// newAccounts are one to three keys and the gateway.
func (r *run) newAccounts() []*account {
	d := r.draw("accounts")
	var all []*account
	for i := range 1 + d.IntN(3) {
		id := fmt.Sprint("k", i+1)
		a := &account{name: models.KeyAccount(id), key: id}
		a.set(drawBudget(d, 0.9))
		all = append(all, a)
	}
	gateway := &account{name: models.GatewayAccount}
	gateway.set(drawBudget(d, 0.7))
	return append(all, gateway)
}

func drawBudget(d *rand.Rand, share float64) (int64, models.Window) {
	if d.Float64() > share {
		return 0, ""
	}
	return 20_000 + d.Int64N([...]int64{200_000, 1_000_000, 5_000_000}[d.IntN(3)]), models.Windows()[d.IntN(4)]
}
