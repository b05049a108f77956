package pool

import (
	"sync"
	"time"
)

const buckets = 12

// The retry budget is a tenth of the calls without retries, and at least
// fewRetries: enough for passing failures, too few to overload a provider that is
// down.
const (
	retryShare = 10 // one retry per this many calls
	fewRetries = 10 // per window
)

// window counts the calls, failures and retries of a sliding window, and the calls of the
// last hour.
type window struct {
	mu     sync.Mutex
	now    func() time.Time
	width  time.Duration // of a bucket
	counts [buckets]count
	failed time.Time // the last failure
	worked time.Time // the last answer
	hour   hour      // longer than the window
}

type count struct {
	slot                     int64 // number of the interval, since 1970
	calls, failures, retries int
}

func newWindow(span time.Duration, now func() time.Time) *window {
	return &window{now: now, width: span / buckets}
}

func (w *window) add(e ended) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	c := w.at(now)
	c.calls++
	switch {
	case e.failed:
		c.failures++
		w.failed = now
	case !e.refused:
		w.worked = now
	}
	w.hour.add(e, now)
}

// fail turns a call that was added as a success into a failure.
func (w *window) fail() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	c := w.at(now)
	if c.calls == c.failures { // the call was added to an earlier bucket
		c.calls++
	}
	c.failures++
	w.failed = now
	w.hour.fail(now)
}

func (w *window) lastFailure() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// works says whether the last answer came after the last failure.
func (w *window) works() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.worked.After(w.failed)
}

func (w *window) sum() (calls, failures int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all()
	return all.calls, all.failures
}

// retry records a retry, unless the budget is spent.
func (w *window) retry() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all()
	if all.retries >= max(fewRetries, (all.calls-all.retries)/retryShare) {
		return false
	}
	w.at(w.now()).retries++
	return true
}

// all is the sum of the buckets within the window; the caller holds mu.
func (w *window) all() (all count) {
	slot := w.slot(w.now())
	for _, c := range w.counts {
		if slot-c.slot < buckets {
			all.calls += c.calls
			all.failures += c.failures
			all.retries += c.retries
		}
	}
	return all
}

// at is the bucket of a time.
func (w *window) at(now time.Time) *count {
	slot := w.slot(now)
	c := &w.counts[slot%buckets]
	if c.slot != slot {
		*c = count{slot: slot}
	}
	return c
}

func (w *window) slot(at time.Time) int64 { return at.UnixNano() / int64(w.width) }
