package longtest

import (
	"sync"
	"testing"
	"time"
)

// Lateness measures, until the test ends, for how long this machine kept waiting what
// was due: because of other processes, or a limit of its processor time. The returned function
// tells the sum so far. A test adds it to the time in which something must happen,
// which is then as strict on a slow machine as on an idle one.
func Lateness(t testing.TB) (sum func() time.Duration) {
	const tick, ofTimers = 10 * time.Millisecond, time.Millisecond
	var mu sync.Mutex
	var late time.Duration
	began := time.Now()
	soFar := func() time.Duration { return late + max(0, time.Since(began)-tick-ofTimers) }
	go func() {
		for t.Context().Err() == nil {
			time.Sleep(tick)
			mu.Lock()
			late, began = soFar(), time.Now()
			mu.Unlock()
		}
	}()
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return soFar()
	}
}
