package gatewaytest

import (
	"os"
	"slices"
	"testing"

	"modelgateway/app/cli"
	"modelgateway/tests/longtest"
)

// processVariable tells a test binary to be the gateway.
const processVariable = "MODELGATEWAY_TEST_IS_THE_PROGRAM"

// KeepArguments is a variable with which a process of Launch keeps its command
// line, which is not the test's.
const KeepArguments = "MODELGATEWAY_TEST_KEEPS_ARGUMENTS=1"

// Waiting is the number of tests that run at once in a package whose tests wait
// most of the time: more than there are processors.
const Waiting = 8

// AsProgram are the variables with which the test binary is the gateway, with its
// command line.
func AsProgram() []string { return []string{processVariable + "=1", KeepArguments} }

// mainCalled is set by Main: only then can Launch start the test binary.
var mainCalled bool

// Main runs the tests of a package, parallel of them at once unless -parallel
// says otherwise, or as many as there are processors where parallel is 0. In a
// process that Launch has started it runs the gateway instead.
func Main(m *testing.M, parallel int) {
	if os.Getenv(processVariable) != "" {
		if !slices.Contains(os.Environ(), KeepArguments) {
			os.Args = os.Args[:1]
		}
		cli.Main()
	}
	mainCalled = true
	if parallel > 0 {
		longtest.Parallel(parallel)
	}
	os.Exit(m.Run())
}
