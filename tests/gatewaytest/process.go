package gatewaytest

import (
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/servertest"
)

// Process is the gateway in a process of its own, started by cli.Main.
type Process struct {
	*Program
	Cmd    *exec.Cmd
	Stderr *LogBuffer // standard error
	ended  chan error
}

// FreePort is a port for a server that starts a moment later.
func FreePort(t *testing.T) string {
	t.Helper()
	port, err := servertest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

// Launch starts a process on a free port and waits until it serves. Standard
// output goes where prepare puts it, else into the program's log.
func Launch(t *testing.T, prepare func(cmd *exec.Cmd), settings ...string) *Process {
	t.Helper()
	if !mainCalled {
		t.Fatal("TestMain of this package does not call gatewaytest.Main")
	}
	port := FreePort(t)
	p := &Process{
		Program: &Program{URL: "http://127.0.0.1:" + port, Client: ValidatingClient(t), Log: NewLogBuffer()},
		Cmd:     exec.Command(os.Args[0]),
		Stderr:  NewLogBuffer(), ended: make(chan error, 1),
	}
	p.Cmd.Dir, p.Cmd.Stdout, p.Cmd.Stderr = t.TempDir(), p.Log, p.Stderr
	p.Cmd.Env = append([]string{
		processVariable + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "HOST=127.0.0.1", "PORT=" + port,
		"LOG_FORMAT=json", "LOG_LEVEL=debug", "MODEL_DISCOVERY=false",
		"GORACE=" + os.Getenv("GORACE"), // how long the race detector sleeps at its end
		"SHUTDOWN_GRACE_SECONDS=5", "DATABASE_URL=sqlite:" + p.Cmd.Dir + "/gateway.db", "RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0",
	}, settings...)
	if prepare != nil {
		prepare(p.Cmd)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.Cmd.Wait() }() // ends with the process, killed below at the latest
	t.Cleanup(func() { _ = p.Cmd.Process.Kill() })
	p.AwaitServing(t, "at first")
	return p
}

// AwaitServing waits until the gateway answers, and fails if the process has ended.
func (p *Process) AwaitServing(t *testing.T, when string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(p.URL + "/livez")
		if err == nil {
			_ = resp.Body.Close()
			return
		}
		select {
		case err := <-p.ended:
			t.Fatalf("%s: it has ended: %v\n%s", when, err, p.Stderr)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: it does not answer: %v\n%s", when, err, p.Stderr)
		}
	}
}

// Wait waits for the end of the process and returns its exit code.
func (p *Process) Wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(Patience):
		t.Fatal("it does not end")
		return 0
	}
}

// Signal sends a signal to the process.
func (p *Process) Signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
