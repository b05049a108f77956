package budget

import (
	"time"

	"modelgateway/models"
)

// running are the calls of this replica that the ledger does not have yet. Those that
// the last renewals of the lease have noted in the database are booked by others if
// this replica dies. Service.mu guards it.
type running struct {
	fresh    map[string]models.RunningCall // not noted yet, by id
	noted    map[string]models.RunningCall // in the database, or in a renewal under way
	recorded []string                      // ids of noted calls that are in the ledger now
}

// maxFresh bounds the calls that wait to be noted while the database is unavailable.
const maxFresh = 50_000

// Running adds the call of a reservation to those that the next renewal of the lease
// notes. Written removes it.
func (r *Reservation) Running(call models.RunningCall) {
	if r == nil {
		return
	}
	b := r.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.running.fresh) < maxFresh {
		b.running.fresh[call.ID] = call
	}
}

// none reports whether the database needs no note.
func (r *running) none() bool { return len(r.fresh)+len(r.noted)+len(r.recorded) == 0 }

// note moves the calls that a renewal carries to those that are noted.
func (r *running) note(into *models.Renewal, now time.Time) {
	into.Recorded, r.recorded = r.recorded, nil
	for id, call := range r.fresh {
		call.Age = now.Sub(time.UnixMicro(call.BeganAt))
		into.Running = append(into.Running, call)
		r.noted[id] = call
	}
	clear(r.fresh)
}

// notNoted takes back what a renewal carried that failed, or whose result is unknown.
func (r *running) notNoted(lost models.Renewal) {
	r.recorded = append(r.recorded, lost.Recorded...)
	for _, call := range lost.Running {
		if _, still := r.noted[call.ID]; still {
			delete(r.noted, call.ID)
			r.fresh[call.ID] = call
		}
	}
}

// written removes a call that is in the ledger.
func (r *running) written(id string) {
	if _, ok := r.noted[id]; ok {
		delete(r.noted, id)
		r.recorded = append(r.recorded, id)
	}
	delete(r.fresh, id)
}
