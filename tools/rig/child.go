package rig

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Process is a child that was started here, and only such are ended here.
type Process struct {
	PID  int
	Addr string        // host and port at which it listens
	Dead chan struct{} // closed when it has ended
	cmd  *exec.Cmd
}

// DieWithParent ends a child together with the program that starts it, however that ends,
// and has the terminal's Ctrl-C reach that program only, which ends its children in order.
// The signal is tied to the thread that starts the child: see Main.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// Start starts a command that ends with this process at the latest. Its errors are shown
// with those of this process.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr, cmd.Stderr = DieWithParent(), os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &Process{PID: cmd.Process.Pid, cmd: cmd, Dead: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is ended by a signal: its status says nothing
		close(p.Dead)
	}()
	return p, nil
}

// Kill kills the process and waits for its end; p may be nil.
func (p *Process) Kill() {
	if p != nil {
		_ = p.cmd.Process.Kill() // an error says that it has ended already
		<-p.Dead
	}
}

// Stop ends the process as an operator does, and kills it when it takes too long; p may be nil.
func (p *Process) Stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended already
	select {
	case <-p.Dead:
	case <-time.After(30 * time.Second):
		p.Kill()
	}
}

// Roles are what a program serves when it starts itself as a child: handlers by name, of
// the argument that StartRole was given.
type Roles map[string]func(argument string) http.Handler

// Main runs a program until it has ended, or the terminal or the system interrupts it, which
// ends its context. The program exits with 1 after an error. Where its first argument names
// a role, it serves that instead.
func Main(roles Roles, program func(ctx context.Context) error) {
	runtime.LockOSThread() // children end with the thread that started them
	roles[upstreamRole] = func(string) http.Handler { return newUpstream().handler() }
	if len(os.Args) > 3 && roles[os.Args[1]] != nil {
		exit(serve(os.Args[2], roles[os.Args[1]](os.Args[3])))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := program(ctx)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve serves until the process is killed. The first line that it writes is its address.
func serve(address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

const (
	upstreamRole = "upstream"
	anyPort      = "127.0.0.1:0"
)

// StartUpstream starts the scripted upstream at an address; empty: at a free port.
func StartUpstream(address string) (*Process, error) {
	if address == "" {
		address = anyPort
	}
	return startRole(upstreamRole, address, "")
}

// StartRole starts this program in a role that Main was given, at a free port.
func StartRole(role, argument string) (*Process, error) { return startRole(role, anyPort, argument) }

func startRole(role, address, argument string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	cmd := exec.Command(self, role, address, argument)
	cmd.Stdout = write
	p, err := Start(cmd)
	_ = write.Close() // the child holds its own
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("%s did not start: %w", role, err)
	}
	p.Addr = strings.TrimSpace(line)
	return p, nil
}

// Sleep waits for a time, or until the context ends, whose error it returns then.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
