package pool

import (
	"sync"
	"time"
)

const buckets = 12

// Retries are a tenth of the calls that clients made, and a few where there are
// not many: enough for what passes, too few to double an outage.
const (
	retryShare = 10 // one of so many
	fewRetries = 10 // in the window
)

// window counts calls, failures and retries of the last while.
type window struct {
	mu     sync.Mutex
	now    func() time.Time
	width  time.Duration // of a bucket
	counts [buckets]count
}

type count struct {
	slot                     int64 // which stretch of time it holds
	calls, failures, retries int
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
	all := w.all()
	return all.calls, all.failures
}

func (w *window) retried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all().retries
}

// retry counts one retry in, unless there have been enough.
func (w *window) retry() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all()
	if all.retries >= max(fewRetries, (all.calls-all.retries)/retryShare) {
		return false
	}
	w.current().retries++
	return true
}

// all is the sum of what is not over; the caller holds mu.
func (w *window) all() (all count) {
	slot := w.slot()
	for _, c := range w.counts {
		if slot-c.slot < buckets {
			all.calls += c.calls
			all.failures += c.failures
			all.retries += c.retries
		}
	}
	return all
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
