package budget

import "modelgateway/models"

// Reservation is the upper bound of what one call may cost. Settle must end it.
type Reservation struct {
	budgets    *Service
	amount     int64
	allowances [2]*allowance
	settled    bool
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
func (r *Reservation) Holds() [2]models.HoldKey {
	var holds [2]models.HoldKey
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

// Settle spends the cost of the call and returns the rest. The cost, which may be
// more than was reserved, stays held until the ledger has moved it. Only the first
// Settle has an effect.
func (r *Reservation) Settle(cost int64) {
	if r == nil {
		return
	}
	cost = max(cost, 0)
	b := r.budgets
	now := b.now()
	b.mu.Lock()
	over := !r.settled && cost > r.amount
	if !r.settled {
		r.settled = true
		for _, p := range r.allowances {
			if p != nil {
				p.settle(r.amount, cost)
				b.serve(p, now)
			}
		}
	}
	if over {
		b.stats.Overdrawn++
		over = b.shouldWarn(now)
	}
	b.mu.Unlock()
	if over {
		b.log.Warn("a call cost more than was reserved for it: the upper bound of its cost was too low", "reserved", r.amount, "cost", cost)
	}
}
