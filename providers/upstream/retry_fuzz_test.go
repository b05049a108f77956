package upstream

import (
	"math/big"
	"net/http"
	"regexp"
	"testing"
	"time"

	"modelgateway/providers"
)

// whole is a wait in digits.
var whole = regexp.MustCompile(`^[0-9]{1,400}$`)

// FuzzRetryAfter holds the reading of a wait to what any reading must give: it
// lies between nothing and a day, and is what the digits or the date say.
func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{
		"", "0", "-0", "7", "0.5", "-5", "1e3", "1e300", "NaN", "-Inf", "+Inf", "0x1p-2", "1_000", " 7", "7 ", "7s", "soon", "86400", "86401",
		"9223372036854775808",
		"Sun, 29 Mar 2026 01:30:00 GMT", "Sunday, 29-Mar-26 01:30:00 GMT", "Sun Mar 29 01:30:00 2026", "Thu, 01 Jan 1970 00:00:00 GMT",
		"Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		f.Add(text, "")
		f.Add("", text)
	}
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, seconds, milliseconds string) {
		h := http.Header{}
		h.Set("Retry-After", seconds)
		h.Set("Retry-After-Ms", milliseconds)
		got := retryAfter(h, now)
		if got < 0 || got > day {
			t.Fatalf("%q and %q became %s", seconds, milliseconds, got)
		}
		want, known := exactly(seconds, milliseconds, now)
		// Beyond 2^53 a float is not exact, but by then the bound is reached.
		if known && got != min(want, day) {
			t.Fatalf("%q and %q became %s, not %s", seconds, milliseconds, got, want)
		}
		refusal := &providers.Refusal{Status: http.StatusTooManyRequests, RetryAfter: got}
		if s := refusal.ClientError().RetryAfterSeconds(); s < 0 || s > int64(day/time.Second) || got > 0 && s == 0 {
			t.Fatalf("%s is told as %d s", got, s)
		}
	})
}

// exactly is the wait of plain digits, or of a date.
func exactly(seconds, milliseconds string, now time.Time) (time.Duration, bool) {
	if milliseconds != "" {
		return digits(milliseconds, time.Millisecond)
	}
	if whole.MatchString(seconds) {
		return digits(seconds, time.Second)
	}
	at, err := time.Parse(http.TimeFormat, seconds)
	return max(at.Sub(now), 0), err == nil
}

func digits(text string, unit time.Duration) (time.Duration, bool) {
	if !whole.MatchString(text) {
		return 0, false
	}
	n, _ := new(big.Int).SetString(text, 10)
	n.Mul(n, big.NewInt(int64(unit)))
	if !n.IsInt64() {
		return 1<<63 - 1, true
	}
	return time.Duration(n.Int64()), n.Sign() > 0 // where it is nothing, the other header is asked
}
