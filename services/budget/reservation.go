package budget

import (
	"time"

	"modelgateway/models"
)

// Need is what a call reserves, in micro-dollars.
type Need struct {
	Amount int64
	Most   int64 // that the call can cost, where Amount is what it is expected to cost; else 0
}

// Reservation is what is reserved for one call. Settle must end it.
type Reservation struct {
	budgets    *Service
	amount     int64
	most       int64  // that the call can cost
	call       string // the id, of a call that may be noted in the database
	cost       int64  // that it was settled with, or that was booked
	extra      int64  // that is held beside the cost of a call that has ended
	allowances [len(models.Holds{})]*allowance
	settled    bool
	booked     bool // by another replica, before it was settled
}

// Amount is what is reserved, in micro-dollars.
func (r *Reservation) Amount() int64 {
	if r == nil {
		return 0
	}
	return r.amount
}

// Holds are the keys of the allowances that pay for the call, for its row in the
// ledger.
func (r *Reservation) Holds() models.Holds {
	var holds models.Holds
	if r == nil {
		return holds
	}
	for i, p := range r.allowances {
		if p != nil {
			holds[i] = p.key
		}
	}
	return holds
}

// Grow reserves more for a call that costs more than was expected. It never waits and never
// fails: what is not left of a budget is overdrawn.
func (r *Reservation) Grow(amount int64) {
	if r == nil || amount <= 0 {
		return
	}
	b := r.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.settled || r.booked {
		return
	}
	r.amount += amount
	for _, p := range r.allowances {
		if p != nil {
			p.grow(amount)
			b.saveOverdraft(p)
		}
	}
}

// saveOverdraft has an overdraft saved at once, so that other replicas know of it; b.mu is held.
func (b *Service) saveOverdraft(p *allowance) {
	if p.free < 0 {
		b.wakeUp()
	}
}

// Settle spends the cost of the call and returns the rest. The cost, which may be
// more than was reserved, stays held until the ledger has moved it. Only the first
// Settle has an effect. It reports whether to warn of a cost above what the call can cost,
// which it does once a minute.
func (r *Reservation) Settle(cost int64) (warn bool) {
	if r == nil {
		return false
	}
	cost = max(cost, 0)
	b := r.budgets
	now := b.now()
	b.mu.Lock()
	over := !r.settled && !r.booked && cost > max(r.amount, r.most)
	if !r.settled {
		r.settled = true
		if !r.booked {
			r.cost = b.running.settled(r.call, r.amount, cost)
			r.extra = r.cost - cost
		}
		for _, p := range r.allowances {
			if p != nil {
				p.settle(r.amount, r.cost, r.cost-r.extra)
				b.saveOverdraft(p)
				b.serve(p, now)
			}
		}
	}
	if over {
		b.stats.Overdrawn++
		over = b.shouldWarn(now)
	}
	b.mu.Unlock()
	return over
}

// bookedBefore counts what another replica has booked for the call when the lease had
// expired: the database has moved that much from the holds to what is spent, and will
// not move what the call really costs. Service.mu is held.
func (r *Reservation) bookedBefore(cost int64, now time.Time) {
	for _, p := range r.allowances {
		if p != nil {
			p.moved += cost
		}
	}
	if r.settled {
		r.correct(cost, now)
	}
	r.booked, r.cost = true, cost
}

// correct changes the cost that a reservation was settled with to that in the ledger.
// Service.mu is held.
func (r *Reservation) correct(cost int64, now time.Time) {
	if !r.settled || cost == r.cost {
		return
	}
	for _, p := range r.allowances {
		if p != nil {
			p.reserved -= r.extra
			p.release(r.cost - cost)
			r.budgets.saveOverdraft(p)
			r.budgets.serve(p, now)
		}
	}
	r.cost, r.extra = cost, 0
}
