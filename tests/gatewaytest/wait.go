package gatewaytest

import (
	"testing"
	"time"
)

// Patience is how long tests wait for what must come, on a machine however slow.
const Patience = time.Minute

// Until waits for a condition. It waits for as long as a slow machine could need: only a
// condition that never comes true takes all of it.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Eventually(t, Patience, what, holds)
}

// Eventually is Until with a bound of its own: longer, or part of what is tested.
func Eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain: %s", within, what)
		}
	}
}
