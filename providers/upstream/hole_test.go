package upstream

import (
	"context"
	"encoding/binary"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// holding answers, but for a stream that does not end.
func holding(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "data: a\n\n")
	_ = http.NewResponseController(w).Flush()
	if r.URL.Path == "/stream" {
		<-r.Context().Done()
	}
}

// hole passes bytes between its clients and a server until it is told to
// freeze: from then on the connections there are pass nothing more, in neither
// direction, and stay open. New ones pass.
type hole struct {
	address netip.AddrPort

	mu     sync.Mutex
	frozen chan struct{} // closed for the connections of before
	opened int
}

func newHole(t *testing.T, address, target string) *hole {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{address: netip.MustParseAddrPort(listener.Addr().String()), frozen: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			h.mu.Lock()
			frozen := h.frozen
			h.opened++
			h.mu.Unlock()
			context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
			running.Go(func() { pass(server, client, frozen) })
			running.Go(func() { pass(client, server, frozen) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		running.Wait()
	})
	return h
}

// pass copies until it is frozen, or an end of the connection is closed.
func pass(to, from net.Conn, frozen <-chan struct{}) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		select {
		case <-frozen:
			return // and closes nothing
		default:
		}
		if _, writeErr := to.Write(b[:n]); err != nil || writeErr != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

func (h *hole) ip() netip.Addr { return h.address.Addr() }

func (h *hole) port() string { return strconv.Itoa(int(h.address.Port())) }

func (h *hole) freeze() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.frozen)
	h.frozen = make(chan struct{})
}

func (h *hole) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opened
}

// upstreamOverHTTP2 is a TLS upstream that speaks HTTP/2, as all three providers
// do, under a name of its own.
func upstreamOverHTTP2(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.ProtoMajor != 2 {
			t.Errorf("the upstream is spoken to in %s", r.Proto)
		}
		handler(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	// The roots of the system are read once: all these servers have the same
	// certificate.
	roots := filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(roots, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", roots)
	return server
}

// byName is a client of the server at port of the address that the name of
// the upstream leads to at the moment.
func byName(t *testing.T, port string, timeout time.Duration, address func() netip.Addr) *Client {
	t.Helper()
	c := testClient("https://example.com:"+port, timeout)
	c.connections.dial.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answerNames(theirs, address)
		return ours, nil
	}}
	t.Cleanup(func() { c.connections.current.Load().closeIdle() })
	return c
}

// answerNames answers a DNS question over TCP: every name has this address.
func answerNames(c net.Conn, address func() netip.Addr) {
	defer func() { _ = c.Close() }()
	size := make([]byte, 2)
	if _, err := io.ReadFull(c, size); err != nil {
		return
	}
	text := make([]byte, binary.BigEndian.Uint16(size))
	if _, err := io.ReadFull(c, text); err != nil {
		return
	}
	var asked dnsmessage.Message
	if asked.Unpack(text) != nil || len(asked.Questions) == 0 {
		return
	}
	asked.Response, asked.Additionals = true, nil
	if q := asked.Questions[0]; q.Type == dnsmessage.TypeA {
		asked.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: address().As4()},
		}}
	}
	if text, err := asked.Pack(); err == nil {
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...))
	}
}

// moving is an upstream at two addresses, the name of which leads to the first
// until it is moved. All it serves is one and the same.
func moving(t *testing.T, timeout time.Duration) (c *Client, first, second *hole, move func()) {
	t.Helper()
	target := upstreamOverHTTP2(t, holding).Listener.Addr().String()
	first = newHole(t, "127.0.0.1:0", target)
	second = newHole(t, "127.0.0.2:"+first.port(), target)
	var now atomic.Pointer[hole]
	now.Store(first)
	c = byName(t, first.port(), timeout, func() netip.Addr { return now.Load().ip() })
	return c, first, second, func() { now.Store(second) }
}

// age makes the connections as old as they would be.
func (c *connections) age(by time.Duration) {
	old := c.current.Load()
	c.current.Store(&generation{lanes: old.lanes, made: time.Now().Add(-by)})
}
