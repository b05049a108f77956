// Package longtest is about the time that tests take. It separates those of
// every run from those that take long: make test-long sets LONG=1 and runs both.
package longtest

import (
	"flag"
	"os"
	"strconv"
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

// Parallel is called by TestMain. It lets n tests run at once unless -parallel
// says otherwise: tests that mostly wait may be more than there are processors.
func Parallel(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil { // before the flags are parsed
		panic(err)
	}
}
