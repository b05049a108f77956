package simulation

import (
	"slices"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// books are what the database has, as of the last commit.
type books struct {
	spend  map[dayOf]int64
	ledger map[dayOf]int64 // the sums of the ledger's rows
	holds  []hold
	leases map[string]int64      // Unix microseconds
	noted  map[string]bool       // requests that are noted as running
	saved  map[holdKey]time.Time // when the process sent what it holds, as the books have it
}

type dayOf struct{ account, day string }

type holdKey struct{ account, since, replica string }

type hold struct {
	holdKey
	amount int64
}

func newBooks() books {
	return books{ledger: map[dayOf]int64{}, saved: map[holdKey]time.Time{}}
}

// The times of a lease. They are the product's, which does not export them.
const (
	leaseTime  = 20 * time.Second
	maxSilence = 10 * time.Second
)

// committed reads what a transaction has changed, and checks it. The transaction
// still has the database for itself.
func (r *run) committed(t *transaction) {
	spend, leases := map[dayOf]int64{}, map[string]int64{}
	var holds []hold
	r.db.query("SELECT account, day, cost FROM spend", func(s []string, n []int64) { spend[dayOf{s[0], s[1]}] = n[0] })
	r.db.query("SELECT account, since, replica, amount FROM budget_holds", func(s []string, n []int64) {
		holds = append(holds, hold{holdKey{s[0], s[1], s[2]}, n[0]})
	})
	r.db.query("SELECT id, alive_until FROM replicas", func(s []string, n []int64) { leases[s[0]] = n[0] })
	noted := map[string]bool{}
	r.db.query("SELECT request_id FROM running_calls", func(s []string, _ []int64) { noted[s[0]] = true })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.commits++
	before := r.books.holds
	r.books.spend, r.books.holds, r.books.leases = spend, holds, leases
	r.books.noted = noted
	for _, h := range t.saves {
		r.books.saved[h] = t.sent
	}
	r.readLedger()
	for of, cost := range r.books.ledger {
		if spend[of] != cost {
			r.failNow("%s has spent %s on %s, and the ledger's rows are %s", of.account, usd(spend[of]), of.day, usd(cost))
		}
	}
	for of, cost := range spend {
		if r.books.ledger[of] != cost {
			r.failNow("%s has spent %s on %s, and the ledger's rows are %s", of.account, usd(cost), of.day, usd(r.books.ledger[of]))
		}
	}
	r.watchLeasesNow()
	if account, ok := strings.CutPrefix(t.name, "grant "); ok {
		r.checkGrant(t.conn.of, account, before)
	}
	r.checkNoted(t)
}

// readLedger reads the rows that are new in the ledger.
func (r *run) readLedger() {
	type row struct {
		id, outcome, key, user, team string
		cost, began                  int64
	}
	var rows []row
	r.db.query("SELECT id, request_id, outcome, key_id, user_id, team_id, cost, began_at FROM ledger_calls", func(s []string, n []int64) {
		if r.db.seen[n[0]] {
			return
		}
		r.db.seen[n[0]] = true
		rows = append(rows, row{s[0], s[1], s[2], s[3], s[4], n[1], n[2]})
	})
	for _, row := range rows {
		day := models.DayOf(time.UnixMicro(row.began))
		r.books.ledger[dayOf{models.GatewayAccount, day}] += row.cost
		for account, id := range map[string]string{
			models.KeyAccount(row.key): row.key, models.UserAccount(row.user): row.user, models.TeamAccount(row.team): row.team,
		} {
			if id != "" {
				r.books.ledger[dayOf{account, day}] += row.cost
			}
		}
		r.checkRow(row.id, row.outcome, row.cost)
	}
}

// watchLeases notes whose lease has expired, and which calls this concerns: what
// they have reserved may be granted to others now.
func (r *run) watchLeases() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchLeasesNow()
}

func (r *run) watchLeasesNow() {
	for _, p := range r.processes {
		if p.dead {
			continue
		}
		_, known := r.books.leases[p.name]
		p.leased = p.leased || known
		if !p.leased || r.isLive(p.name) {
			p.expiredAt = time.Time{}
			continue
		}
		if p.expiredAt.IsZero() {
			p.expiredAt = time.Now()
			r.logNow("the lease of %s has expired", p.name)
		}
		for _, c := range r.calls {
			if c.of == p && !c.noted && !c.orphan && !c.arrived.IsZero() && c.rows == 0 && (!c.left || c.ended) {
				c.orphan = true
				r.counts.orphans++
			}
		}
	}
}

// isLive says whether the lease of a process counts: as models/replica.go does.
func (r *run) isLive(name string) bool {
	var last int64
	for _, until := range r.books.leases {
		last = max(last, until)
	}
	at := time.Now().UnixMicro()
	ended := at
	if last -= leaseTime.Microseconds(); last < at-maxSilence.Microseconds() {
		ended = last
	}
	until, known := r.books.leases[name]
	return known && until > ended
}

// reserve notes what a call reserves, which is what it can cost at most where calls reserve that.
func (r *run) reserve(c *call, amount int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.amount = amount
	if len(c.views) > 0 && (amount > c.most || r.worst && amount != c.most) {
		r.failNow("%s reserves %s, and costs %s at most", c.id, usd(amount), usd(c.most))
	}
}

// admit notes that a call has its reservation.
func (r *run) admit(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.admitted, c.at = true, time.Now()
	r.counts.admitted++
}

// refuse notes that a call was not admitted.
func (r *run) refuse(c *call, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := api.AsError(err); {
	case e.Status == 402:
		r.counts.refused++
		r.checkRefused(c)
	case e.Code == api.CodeBudgetHeld:
		r.counts.held++
	case e.Status == 503:
		r.counts.unavailable++
	case c.kind != clientLeaves:
		r.failNow("%s: %v", c.id, err)
	}
	r.logNow("%s on %s is refused %s: %v", c.id, c.of.name, usd(c.amount), err)
}

// end notes that a call has ended.
func (r *run) end(c *call, cost int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.ended, c.endedAt, c.cost = true, time.Now(), cost
	if len(c.views) > 0 && cost > 2*c.most {
		r.failNow("%s has cost %s, and can cost %s at most", c.id, usd(cost), usd(c.most))
	}
	if len(c.views) > 0 && cost > c.amount {
		r.counts.grown++
	}
}

// tell notes that the budgets of a process know that the ledger has these calls.
func (r *run) tell(calls []models.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range calls {
		if i := slices.IndexFunc(r.calls, func(c *call) bool { return c.id == in.ID }); i >= 0 {
			r.calls[i].told = time.Now()
		}
	}
}

// leave notes that the goroutine of a call is done.
func (r *run) leave(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.left = true
}
