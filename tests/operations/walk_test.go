package operations

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// walk runs deploy/walk.sh with this binary as the gateway, and returns what it prints.
func walk(t *testing.T, settings ...string) (string, error) {
	t.Helper()
	binary, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	script := exec.Command("../../deploy/walk.sh")
	script.Env = append([]string{"PATH=" + os.Getenv("PATH"), "BINARY=" + binary, "PORT=" + gatewaytest.FreePort(t)}, gatewaytest.AsProgram()...)
	script.Env = append(script.Env, settings...)
	out, err := script.CombinedOutput()
	return string(out), err
}

func TestWalkThroughAccounts(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		out, err := walk(t, settings...)
		if err != nil || !strings.HasSuffix(out, "every answer was as expected\n") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestWalkEndsAtTheFirstAnswerThatIsNotAsExpected(t *testing.T) {
	t.Parallel()
	out, err := walk(t, "MODEL=no-such-model")
	if err == nil || !strings.Contains(out, "NOT AS EXPECTED: a call answers 404 instead of 200") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The gateway of a container is walked through in this way.
func TestWalkOnAGatewayThatRunsAlready(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	settings := []string{
		"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t), "SIMULATOR=true", "REQUIRE_AUTH=true",
		"REGISTRATION=invite", gatewaytest.JWTSecret,
	}
	p := gatewaytest.Launch(t, func(cmd *exec.Cmd) { cmd.Stdout = file }, settings...)
	command, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	port := p.URL[strings.LastIndex(p.URL, ":")+1:]
	out, err := walk(t, append(settings, "BASE="+p.URL, "PORT="+port, "COMMAND="+command, "LOG=cat "+file.Name())...)
	if err != nil || !strings.HasSuffix(out, "every answer was as expected\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
