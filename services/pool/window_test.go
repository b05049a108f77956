package pool

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// spend uses up the retry budget; each retry is a failed call as well.
func spend(w *window) (retries int) {
	for w.retry() {
		w.add(ended{failed: true})
		retries++
	}
	return retries
}

func TestRetriesAreATenthOfTheCallsOrTenAMinute(t *testing.T) {
	for calls, want := range map[int]int{0: 10, 1: 10, 99: 10, 109: 10, 110: 11, 1000: 100, 10_000: 1000} {
		c := &clock{november}
		w := newWindow(time.Minute, c.now)
		for range calls {
			w.add(ended{failed: true})
		}
		if n := spend(w); n != want {
			t.Errorf("%d retries of %d calls, not %d", n, calls, want)
		}
		c.at = c.at.Add(50 * time.Second)
		if n := spend(w); n != 0 {
			t.Errorf("%d more retries of %d calls in the same minute", n, calls)
		}
		c.at = c.at.Add(10 * time.Second)
		if n := spend(w); n != 10 {
			t.Errorf("%d retries in the minute after one of %d calls", n, calls)
		}
	}
}

func TestRetryBudgetHoldsForConcurrentCalls(t *testing.T) {
	const workers, calls = 200, 1000
	w := newWindow(time.Minute, (&clock{november}).now)
	for range calls {
		w.add(ended{failed: true})
	}
	var all sync.WaitGroup
	var retries atomic.Int64
	for range workers {
		all.Go(func() {
			for range 10 {
				if w.retry() {
					retries.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := retries.Load(); n != calls/(retryShare+1)+1 { // they are counted as calls that have not ended
		t.Errorf("%d retries of %d calls", n, calls)
	}
}
