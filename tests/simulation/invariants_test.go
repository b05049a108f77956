package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/budget"
)

// obligation is what a call costs its budgets now: what is reserved for it, or its
// cost.
func (c *call) obligation() int64 {
	switch {
	case c.rows > 0:
		return c.booked
	case c.ended:
		return c.cost
	default:
		return c.amount
	}
}

// paidFrom says whether a call counts in an account's window.
func (c *call) paidFrom(a *account, since, until string) bool {
	day := models.DayOf(c.began)
	mine := a.name == models.GatewayAccount || slices.Contains(c.caller.levels(), a)
	return c.admitted && mine && day >= since && (until == "" || day < until)
}

// checkRow checks a row of the ledger: a call has one, with what it cost. A call whose
// process was killed, or lost its lease, has an estimate of at most the upper bound of its
// cost, or what it cost where it had ended: that may be more, up to twice, where its provider
// reported more usage than the call can have (seed 6458).
func (r *run) checkRow(id, outcome string, cost int64) {
	i := slices.IndexFunc(r.calls, func(c *call) bool { return c.id == id })
	if i < 0 {
		r.failNow("the ledger has a row of %s, which there was not", id)
		return
	}
	c, lost := r.calls[i], outcome == models.OutcomeLost
	most := c.most
	if c.ended {
		most = max(most, c.cost)
	}
	c.rows++
	c.booked += cost
	if lost {
		r.counts.lost++
		r.logNow("%s of %s is booked as lost: %s of %s", id, c.of.name, usd(cost), usd(c.amount))
	}
	switch {
	case c.rows > 1:
		r.failNow("%s is in the ledger twice", id)
	case lost && r.isLive(c.of.name):
		r.failNow("%s is booked as lost, and %s has its lease", id, c.of.name)
	case lost && (len(c.views) == 0 || cost > most):
		r.failNow("%s is booked as lost with %s of %s, paid from %v", id, usd(cost), usd(most), c.views)
	case !lost && !c.ended:
		r.failNow("%s is in the ledger and has not ended", id)
	case !lost && c.cost != cost:
		r.failNow("%s is in the ledger with %s and has cost %s", id, usd(cost), usd(c.cost))
	}
}

// checkNoted checks that a renewal has noted all calls that were admitted before it and
// are paid from a budget.
func (r *run) checkNoted(t *transaction) {
	for _, c := range r.calls {
		c.noted = c.noted || r.books.noted[c.id]
		if t.name == "renew" && c.of == t.conn.of && c.admitted && c.at.Before(t.sent) && len(c.views) > 0 && c.rows == 0 && !c.noted {
			r.failNow("%s runs on %s since %v, and is not noted", c.id, c.of.name, c.at.Sub(r.first))
		}
	}
}

// checkRefused checks a 402: what a call reserves is more than a budget has left when
// nothing is held but what calls have cost that have ended.
func (r *run) checkRefused(c *call) {
	for i, v := range c.views {
		since, until := v.since(c.began), v.until(c.began)
		left := v.limit - r.books.spent(c.paying[i].name, since, until)
		for _, x := range r.calls {
			if x.ended && x.rows == 0 && x.of == c.of && x.paidFrom(c.paying[i], since, until) {
				left -= x.cost
			}
		}
		if c.amount > left {
			return
		}
	}
	r.failNow("%s on %s is refused with 402, and %v would cover it if nothing were held", c.id, c.of.name, c.views)
}

// spent is what the database has as spent of a window.
func (b *books) spent(account, since, until string) (sum int64) {
	for of, cost := range b.spend {
		if of.account == account && of.day >= since && (until == "" || of.day < until) {
			sum += cost
		}
	}
	return sum
}

// excused is how much of a call's obligation may exceed a budget: what it costs beyond what
// it reserved when it was admitted, which is at most what is missing to its upper bound, or to
// twice that where its provider reports too much usage; and all of a call that was not noted
// yet when the lease of its replica ended.
func (c *call) excused() int64 {
	if c.orphan {
		return c.obligation()
	}
	return max(c.obligation()-c.amount, 0)
}

// growth is how much more than a call reserved when it was admitted its process may hold for it in a window:
// until it has saved that hold after it learned that the ledger has the call.
func (r *run) growth(c *call, account, since string) int64 {
	saved := r.books.saved[holdKey{account, since, c.of.name}]
	if !c.told.IsZero() && saved.After(c.told) || c.rows > 0 && c.of.dead {
		return 0
	}
	return c.most - c.amount
}

// checkAdmitted checks, for each budget that pays for a call, that all calls of its
// window together do not exceed it.
func (r *run) checkAdmitted(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logNow("%s is admitted on %s with %s of %v", c.id, c.of.name, usd(c.amount), c.views)
	if len(c.views) > 0 && !c.of.expiredAt.IsZero() && c.arrived.After(c.of.expiredAt) {
		r.failNow("%s is admitted on %s, whose lease has expired", c.id, c.of.name)
	}
	if c.orphan {
		return
	}
	for i, v := range c.views {
		a := c.paying[i]
		since, until := v.since(c.began), v.until(c.began)
		sum := r.books.spent(a.name, since, until)
		excused := int64(0)
		for _, x := range r.calls {
			if !x.paidFrom(a, since, until) || x.rows == 0 && x.of.dead {
				continue
			}
			if x.rows == 0 {
				sum += x.obligation()
			}
			excused += x.excusedFor(a, v)
		}
		if sum-excused > v.limit {
			r.failNow("%s is admitted on %s: %s of %s is spent or reserved by calls then, of which %s is excused, with %v from %q",
				c.id, c.of.name, usd(sum), a.name, usd(excused), v, since)
		}
	}
}

// excusedFor is what a call may exceed a budget by, besides: all if this account had
// no budget for it, or another one and the call was admitted after one of the two was
// set, while replicas learned of it.
func (c *call) excusedFor(a *account, v *view) int64 {
	own := c.viewOf(a)
	if own == nil || own != v && !c.at.Before(later(own.at, v.at)) {
		return c.obligation()
	}
	return c.excused()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// viewOf is the budget of an account that paid for a call; nil if none did.
func (c *call) viewOf(a *account) *view {
	if i := slices.Index(c.paying, a); i >= 0 {
		return c.views[i]
	}
	return nil
}

// checkGrant checks that a grant leaves what is spent and held within the limit,
// where the limit has always been the same.
func (r *run) checkGrant(p *process, name string, before []hold) {
	i := slices.IndexFunc(r.accounts, func(a *account) bool { return a.name == name })
	if i < 0 || len(r.accounts[i].views) > 1 {
		return
	}
	a := r.accounts[i]
	v := a.current()
	for _, h := range r.books.holds {
		if h.account != name || h.replica != p.name || h.amount <= amountOf(before, h) {
			continue
		}
		at, _ := time.Parse(time.DateOnly, h.since)
		until := v.until(at)
		sum, excused := r.books.spent(name, h.since, until), int64(0)
		for _, o := range r.books.holds {
			if o.account == name && o.since >= h.since && (until == "" || o.since < until) && r.isLive(o.replica) {
				sum += max(o.amount, 0)
			}
		}
		for _, c := range r.calls {
			if c.paidFrom(a, h.since, until) {
				excused += max(c.excused(), r.growth(c, name, h.since))
			}
		}
		if sum-excused > v.limit {
			r.failNow("%s holds %s of %s after a grant: %s is spent or held then, of which %s is excused, with %v from %q",
				p.name, usd(h.amount), name, usd(sum), usd(excused), v, h.since)
		}
	}
}

func amountOf(holds []hold, of hold) int64 {
	for _, h := range holds {
		if h.account == of.account && h.since == of.since && h.replica == of.replica {
			return h.amount
		}
	}
	return 0
}

// settle checks what must be true when all is quiet: every call is in the ledger,
// nothing is held, and of each budget exactly the rest can be reserved.
func (r *run) settle() {
	r.renewAll()
	r.mu.Lock()
	for _, c := range r.calls {
		if c.ended && c.rows != 1 && !c.of.dead {
			r.failNow("%s has ended on %s at %v and has %d rows in the ledger", c.id, c.of.name, c.endedAt.Sub(r.first), c.rows)
		}
		if c.noted && c.rows != 1 {
			r.failNow("%s was noted as running on %s and has %d rows in the ledger", c.id, c.of.name, c.rows)
		}
	}
	for id := range r.books.noted {
		r.failNow("%s is noted as running", id)
	}
	for _, h := range r.books.holds {
		if r.isLive(h.replica) {
			r.failNow("%s holds %s of %s from %q", h.replica, usd(h.amount), h.account, h.since)
		}
	}
	r.mu.Unlock()
	for _, at := range r.replicas {
		p := at.now
		if stats := p.budgets.Stats(); stats.Held != 0 || p.ledger.Stats().Queued != 0 {
			r.fail("%s: %+v, %+v", p.name, stats, p.ledger.Stats())
		}
		for i, a := range r.accounts {
			v := a.current()
			if i == len(r.accounts)-1 {
				v = p.gateway
			}
			if v.window != "" {
				r.checkRest(p, a, v)
			}
		}
		time.Sleep(15 * time.Second) // until slack is given back
	}
}

// renewAll makes every process renew its lease, and waits. When no process has
// renewed its lease for long, those of killed processes count until some time after
// the first renewal: the database may have been unreachable.
func (r *run) renewAll() {
	for _, at := range r.replicas {
		one, err := at.now.budgets.Reserve(context.Background(), at.now.clock(), budget.Need{Amount: 1},
			budget.Budget{Account: at.now.name, Window: models.Total, Limit: 1})
		if err != nil {
			r.fail("%s: %v", at.now.name, err)
		}
		one.Settle(0)
	}
	time.Sleep(leaseTime)
}

// checkRest reserves exactly what is left of a budget, and one micro-dollar more.
func (r *run) checkRest(p *process, a *account, v *view) {
	at := p.clock()
	of := budget.Budget{Account: a.name, Window: v.window, Limit: v.limit, Name: "it"}
	r.mu.Lock()
	left := v.limit - r.books.spent(a.name, v.since(at), v.until(at))
	r.mu.Unlock()
	if left > 0 {
		all, err := p.budgets.Reserve(context.Background(), at, budget.Need{Amount: left}, of)
		if err != nil {
			r.fail("%s: %s of %s is left and cannot be reserved: %v", p.name, usd(left), a.name, err)
		}
		all.Settle(0)
	}
	more, err := p.budgets.Reserve(context.Background(), at, budget.Need{Amount: max(left, 0) + 1}, of)
	if err == nil || api.AsError(err).Status != 402 {
		r.fail("%s: %s of %s is left, and more than that can be reserved: %v", p.name, usd(left), a.name, err)
	}
	more.Settle(0)
}

// checkStopped checks that processes that have stopped leave nothing behind.
func (r *run) checkStopped() {
	for _, at := range r.replicas {
		for _, h := range r.books.holds {
			if h.replica == fmt.Sprint(at.name, at.n) {
				r.fail("%s has stopped and holds %s of %s", h.replica, usd(h.amount), h.account)
			}
		}
	}
}
