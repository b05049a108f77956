package providertest

import (
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/providers"
)

// End is how a scripted answer ends.
type End int

// The ways an answer can end.
const (
	Proper End = iota // as HTTP has it: the client sees the end of the body
	Reset             // the connection is reset
	Hold              // nothing more comes until the client leaves; without pieces, not even a header
)

// Script is one answer of a scripted upstream.
type Script struct {
	Status int // 0 = 200
	Header http.Header
	Pieces [][]byte // each is written and flushed by itself
	End    End

	// apart makes the client's first read of the body end where the first
	// piece does, with any timing.
	apart bool
}

// Cut is the script with only the first n bytes of its body.
func (s Script) Cut(n int, end End) Script {
	var kept [][]byte
	for _, piece := range s.Pieces {
		if n <= 0 {
			break
		}
		piece = piece[:min(n, len(piece))]
		kept = append(kept, piece)
		n -= len(piece)
	}
	s.Pieces, s.End = kept, end
	return s
}

// Split is the script with its body in other pieces, each as long as sizes
// says and the last one with the rest.
func (s Script) Split(sizes ...int) Script {
	body := bytes.Join(s.Pieces, nil)
	s.Pieces = nil
	for _, size := range sizes {
		size = min(size, len(body))
		s.Pieces = append(s.Pieces, body[:size])
		body = body[size:]
	}
	s.Pieces = append(s.Pieces, body)
	return s
}

// Bytewise is the script with every byte written by itself.
func (s Script) Bytewise() Script {
	body := bytes.Join(s.Pieces, nil)
	s.Pieces = make([][]byte, len(body))
	for i := range body {
		s.Pieces[i] = body[i : i+1]
	}
	return s
}

// Request is what a scripted upstream was sent.
type Request struct {
	Method string
	Path   string // with the query, as it was written
	Header http.Header
	Body   []byte
}

// Upstream is a scripted upstream on the loopback interface. It answers every path
// as its script says.
type Upstream struct {
	URL string // without a trailing slash

	server *httptest.Server

	mu       sync.Mutex
	scripts  []Script
	requests []Request
	gone     chan time.Time
}

// Serve starts an upstream that lives as long as the test. The first call gets
// the first script and so on; the last script answers all further calls.
func Serve(t testing.TB, scripts ...Script) *Upstream {
	u := &Upstream{}
	u.Play(scripts...)
	u.server = httptest.NewServer(http.HandlerFunc(u.serve))
	u.URL = u.server.URL
	t.Cleanup(func() {
		u.Disconnect() // Close waits for the calls that a failed test left behind
		u.server.Close()
	})
	return u
}

// Play replaces the scripts and forgets the calls so far.
func (u *Upstream) Play(scripts ...Script) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.scripts, u.requests = scripts, nil
	u.gone = make(chan time.Time, 64)
}

// Disconnect closes all connections at once.
func (u *Upstream) Disconnect() { u.server.CloseClientConnections() }

// Requests are the calls since the last Play, in the order they came.
func (u *Upstream) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Request(nil), u.requests...)
}

// Gone waits for a call that is on Hold to see its client leave, and returns
// the moment it did; it is false when none does in time.
func (u *Upstream) Gone(within time.Duration) (time.Time, bool) {
	u.mu.Lock()
	gone := u.gone
	u.mu.Unlock()
	select {
	case at := <-gone:
		return at, true
	case <-time.After(within):
		return time.Time{}, false
	}
}

// take records a call and says how to answer it.
func (u *Upstream) take(r *http.Request) (Script, chan<- time.Time) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		body = nil // the client left while it was speaking; there is still a call
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests = append(u.requests, Request{
		Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body,
	})
	if len(u.scripts) == 0 {
		return Script{Status: http.StatusNotImplemented}, u.gone
	}
	return u.scripts[min(len(u.requests), len(u.scripts))-1], u.gone
}

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	s, gone := u.take(r)
	if s.End != Hold || len(s.Pieces) > 0 {
		s.write(w)
	}
	switch s.End {
	case Reset:
		reset(w)
	case Hold:
		<-r.Context().Done()
		select {
		case gone <- time.Now():
		default: // the channel is full: no test reads so many
		}
	}
}

func (s Script) write(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	maps.Copy(w.Header(), s.Header)
	if s.apart && len(s.Pieces) > 1 {
		align(w.Header(), len(s.Pieces[0]))
	}
	if s.Status != 0 {
		w.WriteHeader(s.Status)
	}
	for _, piece := range s.Pieces {
		if _, err := w.Write(piece); err != nil {
			return // the client has gone
		}
		if err := control.Flush(); err != nil {
			return
		}
	}
}

// reset closes the connection so that the client sees a reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // cuts the connection as well, if more gently
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the cut is only a little gentler
	}
	_ = conn.Close()
}

// readBuffer is the size of the buffer behind which net/http's client reads.
const readBuffer = 4 << 10

// align pads the header so that its bytes and the first chunk's together fill
// the client's read buffer to the brim: a read of the body ends there, because
// net/http does not wait for the next chunk's size once it has something.
// Flushing alone does not part two writes: both have usually arrived before
// the client has read the header.
func align(h http.Header, first int) {
	const status, framing = "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	h.Set("Date", time.Unix(0, 0).UTC().Format(http.TimeFormat))
	h.Set("X-Padding", "")
	var head bytes.Buffer
	_ = h.Write(&head) // to memory
	size := len(status) + head.Len() + len(framing)
	chunk := chunkHead(first) + first
	h.Set("X-Padding", strings.Repeat("x", (readBuffer-(size+chunk)%readBuffer)%readBuffer))
}

// chunkHead is the length of the line before a chunk of n bytes.
func chunkHead(n int) int {
	digits := 1
	for n >>= 4; n > 0; n >>= 4 {
		digits++
	}
	return digits + len("\r\n")
}

// Sent is the one request of a call, and the fields that are ignored of it. The upstream gives the
// same JSON to each request.
func Sent(t testing.TB, make func(baseURL string) providers.Provider, key, answer string, call providers.Call) (Request, []string) {
	t.Helper()
	up := Serve(t, Script{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(answer)}})
	x, err := make(up.URL).Prepare(call)
	if err != nil {
		t.Fatal(err)
	}
	if stream, err := x.Open(t.Context(), key); err == nil {
		for range stream {
		}
	}
	if len(up.Requests()) != 1 {
		t.Fatalf("%d requests", len(up.Requests()))
	}
	return up.Requests()[0], x.Properties().Ignored
}
