package operations

import (
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// line returns the first line of the log with this message, which may come once the program listens.
func line(t *testing.T, p *gatewaytest.Program, message string) (fields map[string]string) {
	t.Helper()
	gatewaytest.Until(t, "the log says "+message, func() bool {
		for text := range strings.Lines(p.Log.String()) {
			fields = map[string]string{}
			if strings.Contains(text, `"msg":"`+message+`"`) && json.Unmarshal([]byte(text), &fields) == nil {
				return true
			}
		}
		return false
	})
	return fields
}

func TestRefusedLoginToPostgresSaysWhatToDo(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(servertest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("stranger", "wrong")
	p := gatewaytest.Start(t, "DATABASE_URL="+address.String())
	l := line(t, p, "the database is not ready")
	if !strings.Contains(l["advice"], "POSTGRES_PASSWORD") || !strings.Contains(l["advice"], "ALTER USER") {
		t.Errorf("%v", l)
	}
	if strings.ContainsAny(l["error"], "\n\t") {
		t.Errorf("%q", l["error"])
	}
}

func TestUnreachableDatabaseIsNamedOnceInALine(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "DATABASE_URL=postgres://u:p@127.0.0.1:1/none")
	l := line(t, p, "the database is not ready")
	if strings.Count(l["error"], "connection refused") != 1 || strings.ContainsAny(l["error"], "\n\t") || l["advice"] != "" {
		t.Errorf("%v", l)
	}
	if strings.Contains(p.Log.String(), "migrated yet") {
		t.Errorf("the same fault is logged in other words:\n%s", p.Log)
	}
}

// TestContainerChecksAskForLifeAndReadiness asks a gateway without its database.
func TestContainerChecksAskForLifeAndReadiness(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Launch(t, nil, "DATABASE_URL=postgres://u:p@127.0.0.1:1/none")
	for flag, want := range map[string]int{"-healthcheck": 0, "-readycheck": 1} {
		check := exec.Command(p.Cmd.Path, flag)
		check.Env, check.Dir = append(p.Cmd.Env, gatewaytest.KeepArguments), p.Cmd.Dir
		out, _ := check.CombinedOutput() //nolint:errcheck // the exit code is compared
		if got := check.ProcessState.ExitCode(); got != want {
			t.Errorf("%s exits with %d: %s", flag, got, out)
		}
	}
}
