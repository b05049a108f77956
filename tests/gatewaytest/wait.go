package gatewaytest

import (
	"testing"
	"time"
)

// Eventually waits for a condition, for as long as within, and returns how long it
// took.
func Eventually(t testing.TB, within time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > within {
			t.Fatalf("waited %s in vain: %s", within, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// Until waits for a condition, for five seconds or longer on a busy machine.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited in vain: %s", what)
}
