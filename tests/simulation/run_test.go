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
	"modelgateway/services/auth"
)

// run is one run of the simulation.
type run struct {
	seed  uint64
	lab   *lab
	first time.Time // on the clock of the test
	began time.Time // on the simulated clock
	rng   *rand.Rand
	db    *database
	worst bool // calls reserve the most that they can cost, else what they are expected to cost

	calling    sync.WaitGroup // calls
	background sync.WaitGroup // processes that stop and start

	mu         sync.Mutex // guards all that follows; is never held while time passes
	trace      []string
	failed     bool
	slowUntil  time.Time
	flakyUntil time.Time
	accounts   []*account // the last is the gateway's
	callers    []caller
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
	commits, kills, lost, orphans, grown               int
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
	c.grown += o.grown
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
		r.worst = r.draw("reserve").IntN(2) == 0
		defer r.enter(&walker{name: "test"})()
		r.began = r.firstMoment()
		r.db = newDatabase(t, r, l.schema)
		r.newAccounts()
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

// account is a key, a user, a team or the gateway, and the budgets that it has had.
type account struct {
	name  string // models.KeyAccount, UserAccount, TeamAccount or GatewayAccount
	id    string // of the key, the user or the team; empty for the gateway
	views []*view
}

// caller is who makes calls: with a key, as a user without one, or as neither. Those that
// there are not are nil.
type caller struct{ key, user, team *account }

// levels are the accounts that pay, in this order, but for the gateway.
func (c caller) levels() []*account {
	return slices.DeleteFunc([]*account{c.key, c.user, c.team}, func(a *account) bool { return a == nil })
}

// as is the caller as the product knows it, without limits.
func (c caller) as() auth.Caller {
	var as auth.Caller
	for to, a := range map[*string]*account{&as.KeyID: c.key, &as.UserID: c.user, &as.TeamID: c.team} {
		if a != nil {
			*to = a.id
		}
	}
	return as
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

// newAccounts draws one to three keys, up to two users and two teams that they belong to,
// who calls, and the gateway. A key has a user, a team or both.
func (r *run) newAccounts() {
	d := r.draw("accounts")
	add := func(name func(string) string, prefix string, n int, share float64) (all []*account) {
		for i := range n {
			id := fmt.Sprint(prefix, i+1)
			a := &account{name: name(id), id: id}
			a.set(drawBudget(d, share))
			all = append(all, a)
		}
		r.accounts = append(r.accounts, all...)
		return all
	}
	keys := add(models.KeyAccount, "k", 1+d.IntN(3), 0.8)
	users := add(models.UserAccount, "u", 1+d.IntN(2), 0.6)
	teams := add(models.TeamAccount, "t", d.IntN(3), 0.6)
	for _, key := range keys {
		c := caller{key: key, user: users[d.IntN(len(users))]}
		if i := d.IntN(3); i < len(teams) {
			c.team = teams[i]
			if d.IntN(3) == 0 {
				c.user = nil
			}
		}
		r.callers = append(r.callers, c)
	}
	for _, user := range users {
		r.callers = append(r.callers, caller{user: user})
	}
	r.callers = append(r.callers, caller{})
	gateway := &account{name: models.GatewayAccount}
	gateway.set(drawBudget(d, 0.7))
	r.accounts = append(r.accounts, gateway)
}

func drawBudget(d *rand.Rand, share float64) (int64, models.Window) {
	if d.Float64() > share {
		return 0, ""
	}
	return 20_000 + d.Int64N([...]int64{200_000, 1_000_000, 5_000_000}[d.IntN(3)]), models.Windows()[d.IntN(4)]
}
