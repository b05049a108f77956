package budget

import (
	"slices"
	"time"

	"modelgateway/models"
)

// purse is what this replica holds of one budget in one window. Service.mu
// guards all of it. What is reserved, or spent and not yet in the ledger, is
// granted - moved - free.
type purse struct {
	hold    models.HoldKey
	granted int64 // in all; see models.Hold
	moved   int64
	free    int64 // below 0 when calls cost more than was reserved for them
	entered int64 // what the database has as granted, if known
	unsure  bool  // it is not known
	row     bool  // the database has a row
	limit   int64 // under which it was last granted
	left    int64 // to all, when it was last asked for
	owed    int64 // of what comes back, what is not to be spent again: too much is out
	live    int   // reservations
	low     int64 // the least that was free since it was last looked at
	used    bool  // since then
	busy    bool  // the database is asked or told about it
	calls   []*request
}

// has says whether an amount can be reserved without asking. What was granted
// under a higher limit than this one may be too much.
func (p *purse) has(amount, limit int64, stands bool) bool {
	return amount == 0 || stands && amount <= p.free && p.limit <= limit
}

func (p *purse) take(amount int64) {
	p.free -= amount
	p.low = min(p.low, p.free)
	p.live++
	p.used = true
}

// settle ends a reservation. The cost stays in the hold.
func (p *purse) settle(amount, cost int64) {
	p.free += amount - cost
	p.low = min(p.low, p.free)
	p.live--
	p.used = true
	if amount > cost {
		p.repay(amount - cost)
	}
}

// repay gives back what is owed, up to most.
func (p *purse) repay(most int64) {
	paid := max(min(most, p.free, p.owed), 0)
	p.owed -= paid
	p.giveBack(paid)
}

func (p *purse) giveBack(amount int64) {
	p.free -= amount
	p.low = min(p.low, p.free)
	p.granted -= amount
}

// admit enters as granted what was spent without being.
func (p *purse) admit() {
	if p.free < 0 {
		p.granted -= p.free
		p.free = 0
	}
}

// surplus is what nobody has needed since it was last looked at, but for a
// share that keeps a busy budget from being asked for all the time.
func (p *purse) surplus() int64 {
	if !p.used {
		return max(p.free, 0)
	}
	return max(p.low-p.share(), 0)
}

// share is about what the database would grant beyond the need.
func (p *purse) share() int64 { return max(p.left, 0) / models.SlackDivisor }

// changed says that the database has another idea of what is held.
func (p *purse) changed() bool { return p.unsure || p.entered != p.granted }

// look gives back what is not needed, and says whether the purse is not needed
// any more itself.
func (p *purse) look() (idle bool) {
	p.giveBack(p.surplus())
	p.admit()
	p.low = p.free
	quiet := !p.used && p.live == 0 && p.granted == p.moved
	p.unsure = p.unsure || quiet && p.row // it is to be removed
	p.used = false
	return quiet && !p.changed()
}

// told notes that the database has a hold as it was once counted.
func (p *purse) told(granted int64, row bool) {
	p.entered, p.unsure, p.row = granted, false, row
}

// batch is the calls, the first come first, that can be asked for at once.
func (p *purse) batch() []*request {
	n := slices.IndexFunc(p.calls, func(c *request) bool { return c.budget.Limit != p.calls[0].budget.Limit })
	if n < 0 {
		n = len(p.calls)
	}
	return slices.Clone(p.calls[:n])
}

// leave takes a call out of those that wait, if it still does.
func (p *purse) leave(c *request) bool {
	i := slices.Index(p.calls, c)
	if i >= 0 {
		p.calls = slices.Delete(p.calls, i, i+1)
	}
	return i >= 0
}

func (p *purse) holding() models.Hold {
	return models.Hold{HoldKey: p.hold, Granted: p.granted, Moved: p.moved}
}

// days remembers which windows a day lies in: to write a date takes
// longer than all the rest of a reservation.
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
