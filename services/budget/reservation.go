package budget

import "modelgateway/models"

// Reservation is what one call may cost. It is ended with Settle, whatever
// happens.
type Reservation struct {
	budgets *Service
	amount  int64
	purses  [2]*purse
	settled bool
}

// Holds are the budgets that the call is paid from, for its row in the ledger.
func (r *Reservation) Holds() [2]models.HoldKey {
	var holds [2]models.HoldKey
	if r == nil {
		return holds
	}
	for i, p := range r.purses {
		if p != nil {
			holds[i] = p.hold
		}
	}
	return holds
}

// Settle says what the call has cost and gives the rest back. The cost itself
// stays held until the ledger has it: it may be more than was reserved. Only
// the first one counts.
func (r *Reservation) Settle(cost int64) {
	if r == nil {
		return
	}
	cost = max(cost, 0)
	b := r.budgets
	b.mu.Lock()
	over := !r.settled && cost > r.amount
	if !r.settled {
		r.settled = true
		for _, p := range r.purses {
			if p != nil {
				p.settle(r.amount, cost)
				b.serve(p)
			}
		}
	}
	if over {
		b.stats.Overdrawn++
		over = b.warns()
	}
	b.mu.Unlock()
	if over {
		b.log.Warn("a call cost more than was reserved for it: its bound was wrong", "reserved", r.amount, "cost", cost)
	}
}
