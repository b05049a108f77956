package faults

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// echo is a server that returns what it receives.
func echo(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func proxyTo(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func say(t testing.TB, conn net.Conn, words string) {
	t.Helper()
	if _, err := io.WriteString(conn, words); err != nil {
		t.Fatal(err)
	}
}

// hear reads n bytes, or what comes before the end or the deadline.
func hear(t testing.TB, conn net.Conn, n int, within time.Duration) (string, error) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n)
	n, err := io.ReadFull(conn, b)
	return string(b[:n]), err
}

func mustReceive(t testing.TB, conn net.Conn, want string) {
	t.Helper()
	got, err := hear(t, conn, len(want), 10*time.Second)
	if got != want {
		t.Fatalf("heard %q and %v, want %q", got, err, want)
	}
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func TestProxyForwardsBothDirectionsAndTheEnd(t *testing.T) {
	conn := dial(t, proxyTo(t, echo(t)).Addr())
	words := string(bytes.Repeat([]byte("to and fro "), 20_000))
	go func() { _, _ = io.WriteString(conn, words) }()
	mustReceive(t, conn, words)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := hear(t, conn, 1, 10*time.Second); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, want EOF", err)
	}
}

func TestRefusedConnectionsAreClosedAndNewOnesRefused(t *testing.T) {
	p := proxyTo(t, echo(t))
	conn := dial(t, p.Addr())
	say(t, conn, "a")
	mustReceive(t, conn, "a")
	p.Set(Refuse)
	if _, err := hear(t, conn, 1, 10*time.Second); err == nil || timedOut(err) {
		t.Errorf("an open connection: %v, want its end", err)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection: %v, want ECONNREFUSED", err)
	}
	p.Set(Pass)
	conn = dial(t, p.Addr())
	say(t, conn, "b")
	mustReceive(t, conn, "b")
}

func TestFrozenConnectionsPassNothingUntilTheyResume(t *testing.T) {
	p := proxyTo(t, echo(t))
	old := dial(t, p.Addr())
	say(t, old, "a")
	mustReceive(t, old, "a")
	p.Set(Freeze)
	fresh := dial(t, p.Addr())
	for _, conn := range []net.Conn{old, fresh} {
		say(t, conn, "b")
		if got, err := hear(t, conn, 1, 100*time.Millisecond); !timedOut(err) {
			t.Errorf("received %q and %v while frozen", got, err)
		}
	}
	p.Set(Pass)
	mustReceive(t, old, "b")
	mustReceive(t, fresh, "b")
}

func TestSlowAnswersComeInSlices(t *testing.T) {
	p := proxyTo(t, echo(t))
	p.Delay, p.Slice = 50*time.Millisecond, 2
	p.Set(Slow)
	conn := dial(t, p.Addr())
	begun := time.Now()
	say(t, conn, "abcdefgh")
	mustReceive(t, conn, "abcdefgh")
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("four slices took %v, want four delays", took)
	}
}

func TestResetConnectionsEndInResets(t *testing.T) {
	p := proxyTo(t, echo(t))
	old := dial(t, p.Addr())
	say(t, old, "a")
	mustReceive(t, old, "a")
	p.Set(Reset)
	if _, err := hear(t, old, 1, 10*time.Second); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an open connection: %v, want ECONNRESET", err)
	}
	fresh := dial(t, p.Addr())
	if got, err := hear(t, fresh, 1, 100*time.Millisecond); !timedOut(err) {
		t.Errorf("a new connection that said nothing: %q and %v, want silence", got, err)
	}
	say(t, fresh, "b")
	if got, err := hear(t, fresh, 1, 10*time.Second); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a new connection: %q and %v, want ECONNRESET", got, err)
	}
}

func TestTruncatedAnswersEndWithAFIN(t *testing.T) {
	p := proxyTo(t, echo(t))
	old := dial(t, p.Addr())
	say(t, old, "before")
	mustReceive(t, old, "before")
	p.Cut = 3
	p.Set(Truncate)
	for _, conn := range []net.Conn{old, dial(t, p.Addr())} {
		say(t, conn, "abcdef")
		if got, err := hear(t, conn, 6, 10*time.Second); got != "abc" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("heard %q and %v, want abc and then the end", got, err)
		}
	}
}

// TestChanceIsSeeded: the same connections of another proxy with the same seed
// are cut and garbled alike, those with another seed are not.
func TestChanceIsSeeded(t *testing.T) {
	words := string(bytes.Repeat([]byte("x"), 2048))
	through := func(f Fault, seed uint64) (all string) {
		p := proxyTo(t, echo(t))
		p.Seed = seed
		p.Set(f)
		for range 3 {
			conn := dial(t, p.Addr())
			say(t, conn, words)
			got, err := hear(t, conn, len(words), 10*time.Second)
			if timedOut(err) {
				t.Fatalf("%v: %v", f, err)
			}
			all += got + "|"
		}
		return all
	}
	cut := through(Truncate, 1)
	if repeated, other := through(Truncate, 1), through(Truncate, 2); cut != repeated || cut == other {
		t.Errorf("cuts: %d bytes, with the same seed %d, with another %d", len(cut), len(repeated), len(other))
	}
	if garbled := through(Garble, 1); garbled == words+"|"+words+"|"+words+"|" || len(garbled) != 3*len(words)+3 {
		t.Errorf("garbled: %q, want as many bytes, not all the same", garbled)
	}
}

func TestClosingTheProxyEndsItsConnections(t *testing.T) {
	for _, f := range []Fault{Pass, Freeze, Slow} {
		t.Run(f.String(), func(t *testing.T) {
			p := proxyTo(t, echo(t))
			p.Delay = time.Hour
			p.Set(f)
			conn := dial(t, p.Addr())
			say(t, conn, "a")
			closed := make(chan struct{})
			go func() {
				p.Close()
				close(closed)
			}()
			select {
			case <-closed:
			case <-time.After(30 * time.Second):
				t.Fatal("Close does not return")
			}
			if _, err := hear(t, conn, 2, 10*time.Second); err == nil || timedOut(err) {
				t.Errorf("the client: %v, want its end", err)
			}
		})
	}
}
