package budget

import (
	"time"

	"modelgateway/models"
)

// running are the calls of this replica that the ledger does not have yet. Those that
// the last renewals of the lease have noted in the database are booked by others if
// this replica dies. Service.mu guards it.
type running struct {
	fresh    map[string]openCall // to be noted, by id
	noted    map[string]openCall // in the database, or in a renewal under way or of which no answer came
	recorded []string            // ids of noted calls that are in the ledger now
	lost     map[string]bool     // ids of calls that others have booked, and that Written has not had yet
}

type openCall struct {
	*models.RunningCall
	reservation *Reservation
}

func newRunning() running {
	return running{fresh: map[string]openCall{}, noted: map[string]openCall{}, lost: map[string]bool{}}
}

// maxFresh bounds the calls that wait to be noted while the database is unavailable.
const maxFresh = 50_000

// Running adds the call of a reservation, which it keeps, to those that the next renewal
// of the lease notes. Written removes it.
func (r *Reservation) Running(call *models.RunningCall) {
	if r == nil {
		return
	}
	b := r.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	r.call = call.ID
	if len(b.running.fresh) < maxFresh {
		b.running.fresh[call.ID] = openCall{call, r}
	}
}

// none reports whether the database needs no note.
func (r *running) none() bool { return len(r.fresh)+len(r.noted)+len(r.recorded) == 0 }

// note moves the calls that a renewal carries to those that are noted.
func (r *running) note(into *models.Renewal, now time.Time) {
	into.Recorded, r.recorded = r.recorded, nil
	for id, call := range r.fresh {
		call.Age = now.Sub(time.UnixMicro(call.BeganAt))
		call.Clean()
		into.Running = append(into.Running, *call.RunningCall)
		r.noted[id] = call
	}
	clear(r.fresh)
}

// notNoted takes back what a renewal carried that failed, or whose result is unknown.
func (r *running) notNoted(lost models.Renewal) {
	r.recorded = append(r.recorded, lost.Recorded...)
	for _, call := range lost.Running {
		if noted, still := r.noted[call.ID]; still {
			r.fresh[call.ID] = noted // and it stays in noted: the answer alone may be lost
		}
	}
}

// settled is what remains held of a call that has ended. If the database has noted it,
// that is all that was reserved: others would book as much if this replica died before
// the ledger has the call. A note that is still to come has the cost.
func (r *running) settled(id string, amount, cost int64) int64 {
	if _, ok := r.noted[id]; ok {
		return max(amount, cost)
	}
	if call, ok := r.fresh[id]; ok {
		call.Cost, call.MaxOutput, call.MaxOutputCost = cost, 0, 0
	}
	return cost
}

// written removes a call that is in the ledger, and reports whether its cost has to be
// counted: that of a call that others have booked has been.
func (r *running) written(call *models.Call, now time.Time) (counts bool) {
	if r.lost[call.ID] {
		delete(r.lost, call.ID)
		return false
	}
	of, noted := r.noted[call.ID]
	if noted {
		delete(r.noted, call.ID)
		r.recorded = append(r.recorded, call.ID)
	} else {
		of = r.fresh[call.ID]
	}
	delete(r.fresh, call.ID)
	if of.reservation != nil {
		of.reservation.correct(call.Cost, now)
	}
	return true
}

// booked counts a call that another replica has booked.
func (r *running) booked(id string, cost int64, now time.Time) {
	call, ok := r.noted[id]
	if !ok {
		return
	}
	delete(r.noted, id)
	delete(r.fresh, id)
	r.recorded = append(r.recorded, id) // the renewal may have noted it again
	r.lost[id] = true
	call.reservation.bookedBefore(cost, now)
}
