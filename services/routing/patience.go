package routing

import (
	"sync"
	"time"
)

// Patience bounds how long an upstream that has accepted a stream may take to begin its
// answer while another candidate could still answer. It is for dialects whose stream begins
// with events that tell nothing of the answer: a client that sees them does not time out.
// Where an upstream speaks the dialect, these events are its own.
type Patience struct {
	After time.Duration
	// Final is called once, on a goroutine of its own, when After has passed: the candidate
	// of the route answers, or the call fails.
	Final func(Route)

	mu    sync.Mutex
	final bool
}

// over says whether Final has been called.
func (p *Patience) over() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.final
}

// wait is the time in which the upstream of one attempt begins its answer.
type wait struct {
	of    *Patience
	route Route
	timer *time.Timer // nil until the upstream has accepted
	ended bool
}

func (p *Patience) with(route Route) *wait { return &wait{of: p, route: route} }

// start sets the timer, when the upstream has accepted the request.
func (w *wait) start() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.of.After, w.expire)
	}
}

func (w *wait) expire() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.ended || w.of.final {
		return
	}
	w.of.final = true
	w.of.Final(w.route)
}

// end is called when the attempt has returned. When end returns, Final is not running.
func (w *wait) end() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
