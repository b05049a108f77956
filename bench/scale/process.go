//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"modelgateway/bench/child"
)

// process is a child and where it listens.
type process struct {
	*child.Process
	addr string // host and port
}

// startRole starts this program in another role. The process ends with this one at the
// latest.
func startRole(role string, environ []string, stdout *os.File) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, role)
	cmd.Env, cmd.Stdout = environ, stdout
	p, err := child.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	return &process{Process: p}, nil
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
	_ = p.Cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended already
	select {
	case <-p.Dead:
	case <-time.After(30 * time.Second):
		p.Kill()
	}
}

// awaitReady waits until the gateway wants traffic.
func (p *process) awaitReady(ctx context.Context) error {
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.Dead:
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
