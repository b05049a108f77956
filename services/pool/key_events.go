package pool

import (
	"fmt"
	"net/http"
	"time"

	"github.com/sony/gobreaker/v2"

	"modelgateway/providers"
)

// happened adds an event of the key.
func (k *Key) happened(e Event) {
	e.At, e.Key = k.now(), k.Ending()
	k.recent.add(e)
}

// circuitChanged adds the event of a change of the circuit.
func (k *Key) circuitChanged(from, to gobreaker.State) {
	switch {
	case to == gobreaker.StateClosed:
		k.happened(Event{Kind: CircuitClosed, Detail: "the trial call succeeded"})
	case to == gobreaker.StateOpen && from == gobreaker.StateHalfOpen:
		k.happened(Event{Kind: CircuitOpened, Detail: "the trial call failed as well; the next one is in " + circuitPause.String()})
	case to == gobreaker.StateOpen:
		detail := fmt.Sprintf("at least %.0f%% of the calls of the last minute failed; a trial call is in %s", circuitShare*100, circuitPause)
		if k.culprit.refused.Load() != nil {
			detail += "; most were of one caller, and the calls of others go on"
		}
		k.happened(Event{Kind: CircuitOpened, Detail: detail})
	}
}

// cooled adds the event of a cooldown that begins.
func (k *Key) cooled(model string, c *cooldown) {
	kind := KeyCoolingDown
	if c.refused {
		kind = KeyRefused
	}
	pause := max(c.until.Sub(k.now()).Round(time.Second), time.Second)
	k.happened(Event{Kind: kind, Model: model, Detail: fmt.Sprintf("%s; not used for %s", c.reason, pause)})
}

// reasonOf says why a key cools down. Nothing in it is the upstream's text.
func reasonOf(r *providers.Refusal) string {
	switch {
	case r.Status == http.StatusTooManyRequests && r.Spent:
		return "its limit on spending is reached (429)"
	case r.Status == http.StatusTooManyRequests:
		return "rate limit (429)"
	case r.Status == http.StatusUnauthorized:
		return "the key is not accepted (401)"
	case r.Status == http.StatusPaymentRequired:
		return "the account has no credit (402)"
	case r.Status == http.StatusForbidden:
		return "the key has no permission (403)"
	case r.Status == 0:
		return "the account is refused"
	}
	return fmt.Sprintf("the account is refused (%d)", r.Status)
}
