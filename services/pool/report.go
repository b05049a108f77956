package pool

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"
)

// The states of a circuit and of a key in a Report.
const (
	Closed   = "closed"
	Open     = "open"
	HalfOpen = "half_open"

	InUse       = "in_use"
	CoolingDown = "cooling_down"
	Refused     = "refused"
)

// Report is the present state of an upstream, for people.
type Report struct {
	Status       string
	Circuit      string    // open where the circuits of all keys are, half_open where none is closed
	CircuitUntil time.Time // the next circuit is tried; zero unless all are open
	Keys         []KeyReport
	Hour         Hour
	Recent       []Event // the latest first
}

// KeyReport is the present state of a key.
type KeyReport struct {
	Key       string // its Ending
	State     string
	Reason    string    // of a cooldown
	Until     time.Time // the cooldown ends; zero without one
	Models    []string  // that the cooldown is for; nil: all
	InFlight  int64
	Calls     int64 // of the last hour
	Circuit   string
	OneCaller bool // the open circuit refuses one caller alone, whose calls failed most
}

// Report is the present state.
func (u *Upstream) Report() Report {
	r := Report{Status: u.Status(), Circuit: Closed, Recent: u.recent.list()}
	open, closed := 0, 0
	for _, k := range u.keys {
		key := k.report()
		switch {
		case key.Circuit == Open && !key.OneCaller:
			open++
			if until := u.now().Add(k.opensFor()); open == 1 || until.Before(r.CircuitUntil) {
				r.CircuitUntil = until
			}
		case key.Circuit != HalfOpen:
			closed++
		}
		r.Keys = append(r.Keys, key)
	}
	switch {
	case open == len(u.keys):
		r.Circuit = Open
	case closed == 0:
		r.Circuit = HalfOpen
	}
	if r.Circuit != Open {
		r.CircuitUntil = time.Time{}
	}
	r.Hour = u.traffic.lastHour(r.Keys, u.keys)
	return r
}

// lastHour is the traffic of the last hour. It fills the calls of the keys in.
func (w *window) lastHour(reports []KeyReport, keys []*Key) Hour {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for i, k := range keys {
		reports[i].Calls = k.hour.calls(now)
	}
	return w.hour.report(now)
}

func (k *Key) report() KeyReport {
	r := KeyReport{Key: k.Ending(), State: InUse, InFlight: k.live.Load(), Circuit: Closed}
	switch k.circuit.State() {
	case gobreaker.StateOpen:
		r.Circuit, r.OneCaller = Open, k.culprit.refused.Load() != nil
	case gobreaker.StateHalfOpen:
		r.Circuit = HalfOpen
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, model := range slices.Sorted(maps.Keys(k.cooldowns)) { // that of all models is the first
		c := k.cooldowns[model]
		switch {
		case !now.Before(c.until):
		case model == "":
			r.State, r.Reason, r.Until = c.state(), c.reason, c.until
			return r
		default:
			r.Models = append(r.Models, model)
			if c.until.After(r.Until) {
				r.State, r.Reason, r.Until = c.state(), c.reason, c.until
			}
		}
	}
	return r
}

func (c *cooldown) state() string {
	if c.refused {
		return Refused
	}
	return CoolingDown
}

// Ending is the last characters of the key, with which people tell keys apart: four, or a
// quarter of a short one.
func (k *Key) Ending() string {
	const most, share = 4, 4
	text := k.secret.Reveal()
	return strings.ToValidUTF8(text[len(text)-min(most, len(text)/share):], "?")
}
