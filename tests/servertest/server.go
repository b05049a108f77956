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

// startTimeout is how long a server may take to start on a busy machine.
const startTimeout = time.Minute

// Server is a running server and the faults that a test can inject. A method that
// fails ends the test: call it from the test's own goroutine.
type Server struct {
	// URL does not change during the life of the server. It contains a password.
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

// Freeze suspends the server: the kernel still accepts connections, and the server
// does not answer.
func (s *Server) Freeze() {
	s.t.Helper()
	s.must(s.run.signal(syscall.SIGSTOP))
}

// Thaw resumes a frozen server.
func (s *Server) Thaw() {
	s.t.Helper()
	s.must(s.run.signal(syscall.SIGCONT))
}

// Restart stops the server if it runs, and starts it on the same port with the same
// data. It returns when the server answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.must(s.run.stop())
	// The shared memory of a killed server may not be free at once.
	err := s.up()
	for end := time.Now().Add(startTimeout / 2); err != nil && time.Now().Before(end); err = s.up() {
		time.Sleep(50 * time.Millisecond)
	}
	s.must(err)
}

// refused waits until the port refuses connections: a child that ends after the
// server may still listen on it, and so may Docker.
func (s *Server) refused() error {
	u, err := url.Parse(s.URL)
	if err != nil {
		return err
	}
	for end := time.Now().Add(startTimeout / 2); time.Now().Before(end); time.Sleep(time.Millisecond) {
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

func (s *Server) removeAfter(t testing.TB) {
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
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout/4)
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

// launch starts the server that build returns for a port. It tries up to three
// ports: another process may take a port between the check and the start.
func (s *Server) launch(build func(port int) (*process, string, error)) error {
	var failures error
	for range 3 {
		port, err := FreePort()
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

// FreePort returns a port for a server that starts a moment later. It is below those that
// the system chooses: no server of another test and no outgoing connection takes it
// meanwhile, and a client that dials a stopped server is not connected to itself.
func FreePort() (int, error) {
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
