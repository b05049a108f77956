package upstreams

import (
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// TestSilentUpstreamIsATimeout has upstreams that stop at each step of a call. The
// prompt of 8 MiB is larger than the buffers of the sockets.
func TestSilentUpstreamIsATimeout(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("a long prompt ", 8<<20/len("a long prompt "))
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := newRawUpstream(t)
			settings := []string{"UPSTREAM_TIMEOUT_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=1"}
			plain := startWith(t, f, u.url, settings...)
			secure := startWith(t, f, strings.Replace(u.url, "http:", "https:", 1), settings...)
			for _, tt := range []struct {
				name, body string
				p          *gatewaytest.Program
				say        func(c *net.TCPConn)
			}{
				{"it does not read", f.Request(""), plain, func(*net.TCPConn) {}},
				{"it does not read a large prompt", strings.Replace(f.Request(gatewaytest.Streaming), `"hi"`, gatewaytest.Quote(large), 1), plain, func(*net.TCPConn) {}},
				{"it reads", f.Request(gatewaytest.Streaming), plain, func(c *net.TCPConn) { readRequest(c) }},
				{"it begins a header", f.Request(""), plain, func(c *net.TCPConn) {
					readRequest(c)
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Ty")
				}},
				{"it hints at an answer", f.Request(gatewaytest.Streaming), plain, func(c *net.TCPConn) {
					readRequest(c)
					_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n")
				}},
				{"it shakes no hands", f.Request(""), secure, func(*net.TCPConn) {}},
			} {
				u.serve(func(c *net.TCPConn) {
					tt.say(c)
					<-u.over
				})
				began, late := time.Now(), longtest.Lateness(t)
				checkProviderError(t, f, tt.name, tt.p.Chat(t, tt.body), 504)
				if took := time.Since(began); took > 8*time.Second+late() {
					t.Errorf("%s: %s", tt.name, took)
				}
			}
		})
	}
}

// TestBrokenConnectionIsAnErrorAtEveryPhase closes the connection, or resets it,
// before the end of the answer.
func TestBrokenConnectionIsAnErrorAtEveryPhase(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := newRawUpstream(t)
			for cases := range slices.Chunk(failurePoints(f), maxFailures) {
				p := startWith(t, f, u.url)
				for _, tt := range cases {
					u.serve(tt.breakOff)
					a := p.Chat(t, f.Request(tt.members))
					if !tt.begun {
						checkProviderError(t, f, tt.name, a, 502)
						continue
					}
					checkInterrupted(t, tt.name, a)
					if !strings.Contains(a.Body, `"content":"par"`) {
						t.Errorf("%s: what had come was lost: %s", tt.name, a.Body)
					}
				}
			}
		})
	}
}

// failurePoint is a moment at which a connection breaks.
type failurePoint struct {
	name, members string
	begun         bool // the client has seen a part of the answer
	breakOff      func(c *net.TCPConn)
}

func failurePoints(f gatewaytest.Provider) []failurePoint {
	const head, chunked = "HTTP/1.1 200 OK\r\nContent-Type: ", "\r\nTransfer-Encoding: chunked\r\n\r\n"
	const whole = head + "application/json\r\nContent-Length: 100000\r\n\r\n"
	const stream = head + "text/event-stream" + chunked
	const both, answers, streams = "both", "", gatewaytest.Streaming
	answer := f.Answer("par")
	var all []failurePoint
	for _, p := range []struct {
		name, said, of string
		begun          bool
	}{
		{"before the header", "", both, false},
		{"in the status", "HTTP/1.", both, false},
		{"in the header", head, both, false},
		{"behind the header", whole, both, false},
		{"in the body", whole + answer[:len(answer)/2], both, false},
		{"behind an answer that should be longer", whole + answer, answers, false},
		{"behind an answer without its end", head + "application/json" + chunked + httpChunk(answer), answers, false},
		{"behind the header of a stream", stream, streams, false},
		{"in the first event", stream + httpChunk(f.Start[:len(f.Start)/2]), streams, false},
		{"in the size of a chunk", stream + httpChunk(f.Start+f.Text("par")) + "1", streams, true},
		{"in an event", stream + httpChunk(f.Start+f.Text("par")+f.Text("no")[:20]), streams, true},
		{"between events", stream + httpChunk(f.Start) + httpChunk(f.Text("par")), streams, true},
	} {
		for _, members := range []string{answers, streams} {
			if p.of != both && p.of != members {
				continue
			}
			all = append(all, failurePoint{"closed " + p.name + members, members, p.begun, func(c *net.TCPConn) {
				readRequest(c)
				_, _ = io.WriteString(c, p.said)
			}}, failurePoint{"reset " + p.name + members, members, p.begun, func(c *net.TCPConn) {
				readRequest(c)
				_, _ = io.WriteString(c, p.said)
				_ = c.SetLinger(0)
			}})
		}
	}
	return append(all, failurePoint{"reset before the request is read", answers, false, func(c *net.TCPConn) { _ = c.SetLinger(0) }},
		failurePoint{"closed before the request is read", streams, false, func(*net.TCPConn) {}})
}

// httpChunk is one chunk of HTTP's chunked coding.
func httpChunk(s string) string { return strconv.FormatInt(int64(len(s)), 16) + "\r\n" + s + "\r\n" }
