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
	"time"

	"modelgateway/bench/child"
)

// Roles in which this program starts itself as a child.
const (
	roleUpstream = "bench-upstream"
	roleFloor    = "bench-floor"
	roleTuned    = "bench-tuned"
)

// process is a child and where it listens.
type process struct {
	*child.Process
	addr string // host and port
}

// launch starts a command as a child.
func launch(cmd *exec.Cmd) (*process, error) {
	p, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &process{Process: p}, nil
}

// stop kills the process and waits for its end.
func (p *process) stop() {
	if p != nil {
		p.Kill()
	}
}

// startRole starts this program in another role, and reads its address from the
// first line that it writes.
func startRole(args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	cmd := exec.Command(self, args...)
	cmd.Stdout = write
	p, err := launch(cmd)
	_ = write.Close() // the child holds its own
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s did not start: %w", args[0], err)
	}
	p.addr = strings.TrimSpace(line)
	return p, nil
}

// play runs a child process: it serves until it is killed.
func play(args []string) error {
	handler, addr := http.Handler(nil), "127.0.0.1:0"
	switch {
	case args[0] == roleUpstream && len(args) == 2:
		handler, addr = newUpstream().handler(), args[1]
	case args[0] == roleFloor && len(args) == 2:
		handler = floor(args[1])
	case args[0] == roleTuned && len(args) == 2:
		handler = tuned(args[1])
	default:
		return errors.New("unknown role")
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

// awaitReady polls until the answer is 200, and returns how long after start
// that was.
func (p *process) awaitReady(ctx context.Context, path string, start time.Time) (time.Duration, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Timeout: time.Second, Transport: transport}
	const longest = 20 * time.Second
	for time.Since(start) < longest && ctx.Err() == nil {
		select {
		case <-p.Dead:
			return 0, errors.New("it ended before it was ready")
		default:
		}
		resp, err := client.Get("http://" + p.addr + path)
		if err == nil {
			_ = resp.Body.Close() // only the status counts
			if resp.StatusCode == http.StatusOK {
				return time.Since(start), nil
			}
		}
		time.Sleep(time.Millisecond)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("not ready within %s", longest)
}
