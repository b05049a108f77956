package services

import (
	"sync"
	"time"
)

const buckets = 12

// window counts calls and failures of the last while.
type window struct {
	mu     sync.Mutex
	now    func() time.Time
	width  time.Duration // of a bucket
	counts [buckets]count
}

type count struct {
	slot            int64 // which stretch of time it holds
	calls, failures int
}

func newWindow(span time.Duration, now func() time.Time) *window {
	return &window{now: now, width: span / buckets}
}

func (w *window) add(failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.current()
	c.calls++
	if failed {
		c.failures++
	}
}

// fail turns a call that was added as good into a failure.
func (w *window) fail() {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.current()
	if c.calls == c.failures { // it was added to a bucket before
		c.calls++
	}
	c.failures++
}

func (w *window) sum() (calls, failures int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slot := w.slot()
	for _, c := range w.counts {
		if slot-c.slot < buckets {
			calls += c.calls
			failures += c.failures
		}
	}
	return calls, failures
}

func (w *window) current() *count {
	slot := w.slot()
	c := &w.counts[slot%buckets]
	if c.slot != slot {
		*c = count{slot: slot}
	}
	return c
}

func (w *window) slot() int64 { return w.now().UnixNano() / int64(w.width) }
