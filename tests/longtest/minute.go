package longtest

import (
	"testing"
	"time"
)

// AwaitMinute waits for the next minute of the clock if this one ends sooner than least: limits
// on the tokens of a minute start anew with it.
func AwaitMinute(t testing.TB, least time.Duration) {
	t.Helper()
	now := time.Now()
	if left := now.Truncate(time.Minute).Add(time.Minute).Sub(now); left < least {
		t.Logf("waits for the next minute, %s", left)
		time.Sleep(left + 100*time.Millisecond)
	}
}
