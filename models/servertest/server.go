//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to come up on a busy machine.
const patience = time.Minute

// Server is a running server and what can befall it. A method that fails ends
// the test, so they are for the test's own goroutine.
type Server struct {
	// URL stays the same for the life of the server. It holds a password.
	URL string

	t    testing.TB
	run  *process
	ping func(ctx context.Context, address string) error
}

// Stop shuts the server down in an orderly way, without waiting for its clients.
func (s *Server) Stop() {
	s.t.Helper()
	s.must(s.run.stop())
	s.must(s.refused())
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() {
	s.t.Helper()
	s.must(s.run.end(syscall.SIGKILL))
	s.must(s.refused())
}

// Freeze halts the server where it stands: the kernel still accepts connections,
// and nothing is ever answered.
func (s *Server) Freeze() {
	s.t.Helper()
	s.must(s.run.signal(syscall.SIGSTOP))
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() {
	s.t.Helper()
	s.must(s.run.signal(syscall.SIGCONT))
}

// Restart brings the server up on the same port with the same data, and stops it
// first if it runs. It returns when the server answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.must(s.run.stop())
	// The memory that a killed server held may take a moment to be free.
	err := s.up()
	for end := time.Now().Add(patience / 2); err != nil && time.Now().Before(end); err = s.up() {
		time.Sleep(50 * time.Millisecond)
	}
	s.must(err)
}

// refused waits until the port answers no more: a child that dies a moment after
// the server may still hold it, and so may Docker.
func (s *Server) refused() error {
	u, err := url.Parse(s.URL)
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience / 2); time.Now().Before(end); time.Sleep(time.Millisecond) {
		conn, err := net.DialTimeout("tcp", u.Host, time.Second)
		if err != nil {
			return nil
		}
		_ = conn.Close()
	}
	return fmt.Errorf("%s still answers", u.Host)
}

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) belongTo(t testing.TB) {
	s.t = t
	t.Cleanup(func() {
		if err := s.run.remove(); err != nil {
			t.Error(err)
		}
	})
}

// up starts the server and returns when it answers.
func (s *Server) up() error {
	if err := s.run.start(); err != nil {
		return err
	}
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err = s.ping(ctx, s.URL)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-s.run.done:
			return fmt.Errorf("the server ended at once:\n%s", s.run.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server does not answer: %w\n%s", err, s.run.log())
}

// launch brings up what build makes for a port. Another process may take a port
// between the look and the start, so it tries a few.
func (s *Server) launch(build func(port int) (*process, string, error)) error {
	var failures error
	for range 3 {
		port, err := freePort()
		if err != nil {
			return err
		}
		if s.run, s.URL, err = build(port); err != nil {
			return err
		}
		if err = s.up(); err == nil {
			return nil
		}
		failures = errors.Join(failures, err, s.run.remove())
	}
	return failures
}

// freePort stays below the ports that outgoing connections are given: a client
// that dials a stopped server over and over could otherwise be connected to itself.
func freePort() (int, error) {
	for range 1000 {
		port := 10_000 + rand.IntN(20_000)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("no free port between 10000 and 30000 on 127.0.0.1")
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
