package auth

import (
	"os"
	"testing"

	"modelgateway/tests/longtest"
)

// TestMain lets many tests run at once: they wait for lives of a second.
func TestMain(m *testing.M) {
	longtest.Parallel(6)
	os.Exit(m.Run())
}
