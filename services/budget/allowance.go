package budget

import (
	"slices"
	"time"

	"modelgateway/models"
)

// allowance is the part of one budget in one window that the database has granted
// to this replica. Service.mu guards it. What is reserved, or spent and not yet
// moved by the ledger, is granted - moved - free.
type allowance struct {
	key             models.HoldKey
	granted         int64 // in all; see models.Hold
	moved           int64
	free            int64 // negative when calls cost more than was reserved for them
	recordedGranted int64 // what the database has as granted, if that is known
	uncertain       bool  // it is not known
	hasRow          bool  // the database has a row of this allowance
	limit           int64 // of the budget when it was last granted
	left            int64 // of the budget for all replicas, by the last grant
	debt            int64 // to be returned from what comes back: the replicas hold more than the limit
	live            int   // reservations
	reserved        int64 // by calls that run, and what calls that have ended give back when the ledger has them
	minFree         int64 // the least that was free since the last reconcile
	active          bool  // a call has used it since then
	busy            bool  // a request or a save for it is under way
	calls           []*waiter
}

// covers reports whether an amount can be reserved without requests. What was granted
// under a higher limit than this one may be too much.
func (p *allowance) covers(amount, limit int64, leaseValid bool) bool {
	return amount == 0 || leaseValid && amount <= p.free && p.limit <= limit
}

func (p *allowance) take(amount int64) {
	p.live++
	p.grow(amount)
}

// grow reserves more for a call that runs, also what is not free.
func (p *allowance) grow(amount int64) {
	p.free -= amount
	p.reserved += amount
	p.minFree = min(p.minFree, p.free)
	p.active = true
}

// spent is what calls have cost, since ever.
func (p *allowance) spent() int64 { return p.granted - p.free - p.reserved }

// settle ends a reservation. What is held of it, its cost or more, stays granted until the
// ledger moves the cost.
func (p *allowance) settle(amount, held, cost int64) {
	p.live--
	p.active = true
	p.reserved += held - cost - amount
	p.release(amount - held)
}

// release returns an amount, which is negative when a call cost more than was reserved.
func (p *allowance) release(amount int64) {
	p.free += amount
	p.minFree = min(p.minFree, p.free)
	if amount > 0 {
		p.payDebt(amount)
	}
}

// payDebt returns what is free, up to the debt and up to most.
func (p *allowance) payDebt(most int64) {
	paid := max(min(most, p.free, p.debt), 0)
	p.debt -= paid
	p.giveBack(paid)
}

func (p *allowance) giveBack(amount int64) {
	p.free -= amount
	p.minFree = min(p.minFree, p.free)
	p.granted -= amount
}

// grantOverdraft counts as granted what calls have taken or spent without a grant. It may be more
// than the budget has: what calls give back is returned before it is used again.
func (p *allowance) grantOverdraft() {
	if p.free < 0 {
		p.granted -= p.free
		p.debt -= p.free
		p.free = 0
	}
}

// surplus is what no call has needed since the last reconcile. An active allowance
// keeps some slack, so that it does not request a grant for every call.
func (p *allowance) surplus() int64 {
	if !p.active {
		return max(p.free, 0)
	}
	return max(p.minFree-p.slack(), 0)
}

// slack is about what the database would grant beyond the need.
func (p *allowance) slack() int64 { return max(p.left, 0) / models.SlackDivisor }

// changed reports whether the database may have another value.
func (p *allowance) changed() bool { return p.uncertain || p.recordedGranted != p.granted }

// reconcile returns what is not needed, and reports whether the allowance itself
// can be dropped.
func (p *allowance) reconcile() (idle bool) {
	p.giveBack(p.surplus())
	p.grantOverdraft()
	p.minFree = p.free
	quiet := !p.active && p.live == 0 && p.granted == p.moved
	p.uncertain = p.uncertain || quiet && p.hasRow // so that the row is removed
	p.active = false
	return quiet && !p.changed()
}

// recorded notes what the database has stored.
func (p *allowance) recorded(granted int64, row bool) {
	p.recordedGranted, p.uncertain, p.hasRow = granted, false, row
}

// batch returns the calls, in their order, that one request can serve: those with
// the same limit.
func (p *allowance) batch() []*waiter {
	n := slices.IndexFunc(p.calls, func(c *waiter) bool { return c.budget.Limit != p.calls[0].budget.Limit })
	if n < 0 {
		n = len(p.calls)
	}
	return slices.Clone(p.calls[:n])
}

// leave removes a call that waits, and reports whether it still did.
func (p *allowance) leave(c *waiter) bool {
	i := slices.Index(p.calls, c)
	if i >= 0 {
		p.calls = slices.Delete(p.calls, i, i+1)
	}
	return i >= 0
}

func (p *allowance) asHold() models.Hold {
	return models.Hold{HoldKey: p.key, Granted: p.granted, Moved: p.moved}
}

// days caches the first days of the windows of one day: to format a date takes
// longer than the rest of a reservation.
type days struct {
	day    int64 // since 1970
	window [4]models.Window
	first  [4]string
}

func (d *days) since(w models.Window, at time.Time) string {
	const seconds = 24 * 60 * 60
	day := at.Unix() / seconds
	if day != d.day || d.window[0] == "" {
		d.day = day
		for i, w := range models.Windows() {
			d.window[i], d.first[i] = w, w.FirstDay(at)
		}
	}
	for i := range d.window {
		if d.window[i] == w {
			return d.first[i]
		}
	}
	return w.FirstDay(at)
}
