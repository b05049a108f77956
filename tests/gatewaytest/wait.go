package gatewaytest

import (
	"testing"
	"time"
)

// Eventually waits longer than until, for what other processes do.
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

// Until waits for a condition.
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
