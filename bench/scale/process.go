//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"modelgateway/bench/child"
)

// process is a child that was started here.
type process struct {
	pid  int
	addr string // host and port
	cmd  *exec.Cmd
	dead chan struct{} // closed when it has ended
}

// startRole starts this program in another role. The process ends with this one at the
// latest.
func startRole(role string, environ []string, stdout *os.File) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, role)
	cmd.Env, cmd.Stdout, cmd.Stderr = environ, stdout, os.Stderr
	cmd.SysProcAttr = child.DieWithParent()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	p := &process{pid: cmd.Process.Pid, cmd: cmd, dead: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is ended by a signal: its status says nothing
		close(p.dead)
	}()
	return p, nil
}

// startUpstream starts the scripted provider, and returns the address of its HTTPS as well.
func startUpstream(certificate string) (p *process, secure string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = read.Close() }()
	p, err = startRole(roleUpstream, []string{certificateVariable + "=" + certificate}, write)
	_ = write.Close() // the child holds its own
	if err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, "", fmt.Errorf("the upstream did not start: %w", err)
	}
	p.addr, secure, _ = strings.Cut(strings.TrimSpace(line), " ")
	return p, secure, nil
}

// stop ends the process as an operator does, and kills it when it takes too long.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended already
	select {
	case <-p.dead:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.dead
	}
}

// awaitReady waits until the gateway wants traffic.
func (p *process) awaitReady(ctx context.Context) error {
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.dead:
			return errors.New("it ended before it was ready")
		default:
		}
		resp, err := client.Get("http://" + p.addr + "/readyz")
		if err != nil {
			continue
		}
		_ = resp.Body.Close() // only the status counts
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.Join(ctx.Err(), errors.New("it was not ready in time"))
}

// freeAddress is one of the loopback that nothing listens on now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
