// Package longtest separates the tests of every run from those that take long:
// make test-long sets LONG=1 and runs both.
package longtest

import (
	"os"
	"testing"
)

// On reports whether the long tests run.
func On() bool { return os.Getenv("LONG") == "1" }

// Skip skips a test that takes too long for every run.
func Skip(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("takes long: make test-long runs it")
	}
}

// Size returns how many times a test repeats something: few times, or full times
// where the long tests run.
func Size(few, full int) int {
	if On() {
		return full
	}
	return few
}
