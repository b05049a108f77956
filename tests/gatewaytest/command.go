package gatewaytest

import (
	"strings"
	"testing"

	"modelgateway/app/cli"
)

// Command runs a command line with settings, and returns what it prints to standard
// output, without the last end of line. A failure fails the test.
func Command(t testing.TB, settings []string, args ...string) string {
	t.Helper()
	code, out, faults := TryCommand(t, settings, "", args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d\n%s%s", args, code, out, faults)
	}
	return strings.TrimSuffix(out, "\n")
}

// TryCommand runs a command line with settings and a standard input, and returns its
// exit code and output.
func TryCommand(t testing.TB, settings []string, in string, args ...string) (code int, out, faults string) {
	t.Helper()
	var stdout, stderr strings.Builder
	p := cli.Program{
		Args: args, Environ: append([]string{"MODEL_DISCOVERY=false"}, settings...), In: strings.NewReader(in), Out: &stdout, Err: &stderr,
	}
	code = p.Run(t.Context())
	return code, stdout.String(), stderr.String()
}
