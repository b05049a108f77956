package app

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/longtest"
)

// serving answers every request on a listener that wrap makes; its limits are
// those of the gateway, a hundred times as fast.
func serving(t *testing.T, wrap func(net.Listener) net.Listener) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		ReadHeaderTimeout: 100 * time.Millisecond, IdleTimeout: 5 * time.Second,
	}
	go func() { _ = server.Serve(wrap(listener)) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

func patient(l net.Listener) net.Listener {
	return patientListener{Listener: l, idle: 5 * time.Second, header: 100 * time.Millisecond}
}

func opened(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// status requests something and returns the status of the answer.
func status(conn net.Conn) (int, error) {
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func TestConnectionOpenedAheadOfUseIsServed(t *testing.T) {
	t.Parallel()
	plain := opened(t, serving(t, func(l net.Listener) net.Listener { return l }))
	ahead := opened(t, serving(t, patient))
	time.Sleep(400 * time.Millisecond) // four times the limit of a header
	if _, err := status(plain); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) &&
		!errors.Is(err, syscall.EPIPE) {
		t.Errorf("net/http by itself answers with %v: the listener is not needed any more", err)
	}
	for range 2 { // the second request is that of a used connection
		if got, err := status(ahead); got != http.StatusNoContent {
			t.Errorf("status %d, %v", got, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func TestSlowHeaderEndsItsConnection(t *testing.T) {
	t.Parallel()
	conn := opened(t, serving(t, patient))
	time.Sleep(150 * time.Millisecond) // in which a plain server would have closed it
	began, late := time.Now(), longtest.Lateness(t)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	_, err := io.ReadAll(conn)
	if took := time.Since(began); errors.Is(err, os.ErrDeadlineExceeded) || took < 50*time.Millisecond || took > 3*time.Second+late() {
		t.Errorf("closed after %s: %v", took, err)
	}
}
