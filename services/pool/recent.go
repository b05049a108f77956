package pool

import (
	"slices"
	"sync"
	"time"
)

// The kinds of events.
const (
	CircuitOpened  = "circuit_opened"
	CircuitClosed  = "circuit_closed"
	KeyCoolingDown = "key_cooling_down"
	KeyRefused     = "key_refused"
	KeyRestored    = "key_restored" // after either of the two
)

// Event is a change of a circuit or of a key.
type Event struct {
	At     time.Time
	Since  time.Time // the first of Times
	Times  int       // how often it happened without a pause of eventPause
	Kind   string
	Key    string // Ending of the key
	Model  string // the cooldown is for this model alone; empty: for all
	Detail string // for people
}

const (
	mostEvents = 50
	eventPause = 5 * time.Minute
)

// recent is the latest events of a provider. It is used where calls fail, and at the first
// success after that.
type recent struct {
	mu   sync.Mutex
	kept []Event // the latest last
}

// add adds an event, or counts it with an equal one that was not long ago: a provider that
// is down for hours does not replace all other events.
func (r *recent) add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Since, e.Times = e.At, 1
	same := slices.IndexFunc(r.kept, func(old Event) bool {
		return old.Kind == e.Kind && old.Key == e.Key && old.Model == e.Model && e.At.Sub(old.At) < eventPause
	})
	switch {
	case same >= 0:
		e.Since, e.Times = r.kept[same].Since, r.kept[same].Times+1
		r.kept = slices.Delete(r.kept, same, same+1)
	case len(r.kept) == mostEvents:
		r.kept = slices.Delete(r.kept, 0, 1)
	}
	r.kept = append(r.kept, e)
}

// list is the events, the latest first.
func (r *recent) list() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.kept)
	slices.Reverse(list)
	return list
}
