package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"modelgateway/tests/longtest"
)

// TestMain lets more tests run in parallel than there are processors, since
// they mostly wait.
func TestMain(m *testing.M) {
	longtest.Parallel(8)
	os.Exit(m.Run())
}

// full says whether the tests run at the size that the promises name.
func full() bool { return os.Getenv("FAULTS") == "full" }

// skipUnlessLong skips a test of many seconds unless the long tests run or all
// of them run in full.
func skipUnlessLong(t testing.TB) {
	t.Helper()
	if !full() {
		longtest.Skip(t)
	}
}

// size is the size of a test: small by default, whole with FAULTS=full.
func size(small, whole int) int {
	if full() {
		return whole
	}
	return small
}

// figure reports the measurement of a promise: in the test's log, and as a line
// of the file that FAULTS_REPORT names.
func figure(t testing.TB, promise, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Logf("%s: %s", promise, text)
	path := os.Getenv("FAULTS_REPORT")
	if path == "" {
		return
	}
	line, err := json.Marshal(struct {
		Promise string `json:"promise"`
		Figure  string `json:"figure"`
		Test    string `json:"test"`
	}{promise, text, t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatalf("FAULTS_REPORT: %v", err)
	}
	_, err = file.Write(append(line, '\n')) // one write: tests of other processes append too
	if err != nil {
		t.Fatalf("FAULTS_REPORT: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatalf("FAULTS_REPORT: %v", err)
	}
}
