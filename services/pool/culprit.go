package pool

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"modelgateway/providers"
)

// culprit finds the caller that most of the recent failures of a key came from:
// prompts can make a provider answer 500, and one caller must not open the circuit
// for all. Callers are compared by a text that identifies them; an empty one is not
// compared.
type culprit struct {
	now func() time.Time

	mu     sync.Mutex
	recent [circuitCalls]failedCall
	next   int

	refused atomic.Pointer[string] // the caller that the circuit is open for; nil = all
}

type failedCall struct {
	caller string
	at     time.Time
}

// provoker is the caller whose request may have caused a failure. A provider that
// cannot be reached, or that does not answer, fails for all callers.
func provoker(err error, caller string) string {
	if r, ok := errors.AsType[*providers.Refusal](err); ok && r.Status == 0 {
		return ""
	}
	return caller
}

// failed adds a failure.
func (c *culprit) failed(caller string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent[c.next] = failedCall{caller, c.now()}
	c.next = (c.next + 1) % circuitCalls
}

// opened says that the circuit has opened: for one caller alone if more than half
// of the recent failures are of that caller.
func (c *culprit) opened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts, total := map[string]int{}, 0
	for _, f := range c.recent {
		if !f.at.IsZero() && c.now().Sub(f.at) < circuitWindow {
			counts[f.caller]++
			total++
		}
	}
	for caller, n := range counts {
		if caller != "" && n*2 > total {
			c.refused.Store(&caller)
			return
		}
	}
	c.refused.Store(nil)
}

// spares says whether a caller is called although the circuit is open.
func (c *culprit) spares(caller string) bool {
	refused := c.refused.Load()
	return refused != nil && caller != "" && *refused != caller
}

// confirmed says that a call of another caller has failed as well: the circuit is
// open for all.
func (c *culprit) confirmed() { c.refused.Store(nil) }
