package child

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Process is a child that was started here, and only such are ended here.
type Process struct {
	PID  int
	Cmd  *exec.Cmd
	Dead chan struct{} // closed when it has ended
}

// Start starts a command that ends with this process at the latest. Its errors are shown with
// those of this process unless they go elsewhere.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = DieWithParent()
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &Process{PID: cmd.Process.Pid, Cmd: cmd, Dead: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is ended by a signal: its status says nothing
		close(p.Dead)
	}()
	return p, nil
}

// Kill kills the process and waits for its end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // an error says that it has ended already
	<-p.Dead
}

// Run runs a program until it has ended or the terminal or the system interrupts it, which ends
// its context, and exits with 1 after an error.
func Run(program func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := program(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// FreePort is a port of the loopback that nothing listens on now.
func FreePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
