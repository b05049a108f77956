package app

import (
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestU4AnUpstreamThatSaysNothingIsATimeOut has every way of holding a caller
// without an answer. The prompt of 8 MiB is more than the sockets take by
// themselves.
func TestU4AnUpstreamThatSaysNothingIsATimeOut(t *testing.T) {
	large := strings.Repeat("a long prompt ", 8<<20/len("a long prompt "))
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			u := newWire(t)
			settings := []string{"UPSTREAM_TIMEOUT_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=1"}
			plain := f.alone(t, u.url, settings...)
			secure := f.alone(t, strings.Replace(u.url, "http:", "https:", 1), settings...)
			for _, tt := range []struct {
				name, body string
				p          *program
				say        func(c *net.TCPConn)
			}{
				{"it does not read", f.request(""), plain, func(*net.TCPConn) {}},
				{"it does not read a large prompt", strings.Replace(f.request(streaming), `"hi"`, quote(large), 1), plain, func(*net.TCPConn) {}},
				{"it reads", f.request(streaming), plain, func(c *net.TCPConn) { hear(c) }},
				{"it begins a header", f.request(""), plain, func(c *net.TCPConn) {
					hear(c)
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Ty")
				}},
				{"it hints at an answer", f.request(streaming), plain, func(c *net.TCPConn) {
					hear(c)
					_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n")
				}},
				{"it shakes no hands", f.request(""), secure, func(*net.TCPConn) {}},
			} {
				u.play(func(c *net.TCPConn) {
					tt.say(c)
					<-u.over
				})
				began := time.Now()
				f.refused(t, tt.name, tt.p.chat(t, tt.body), 504)
				if took := time.Since(began); took > 8*time.Second {
					t.Errorf("%s: %s", tt.name, took)
				}
			}
		})
	}
}

// TestU5AConnectionThatBreaksIsAnErrorAtEveryPhase breaks it with a reset and
// with a proper end of the connection, which is none of the answer.
func TestU5AConnectionThatBreaksIsAnErrorAtEveryPhase(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := newWire(t)
			for cases := range slices.Chunk(f.phases(), fewFailures) {
				p := f.alone(t, u.url)
				for _, tt := range cases {
					u.play(tt.breakOff)
					a := p.chat(t, f.request(tt.members))
					if !tt.begun {
						f.refused(t, tt.name, a, 502)
						continue
					}
					brokeOff(t, tt.name, a)
					if !strings.Contains(a.body, `"content":"par"`) {
						t.Errorf("%s: what had come was lost: %s", tt.name, a.body)
					}
				}
			}
		})
	}
}

// phase is a moment at which a connection breaks.
type phase struct {
	name, members string
	begun         bool // the client has seen a part of the answer
	breakOff      func(c *net.TCPConn)
}

func (f family) phases() []phase {
	const head, chunked = "HTTP/1.1 200 OK\r\nContent-Type: ", "\r\nTransfer-Encoding: chunked\r\n\r\n"
	const whole = head + "application/json\r\nContent-Length: 100000\r\n\r\n"
	const stream = head + "text/event-stream" + chunked
	const both, answers, streams = "both", "", streaming
	answer := f.answer("par")
	var all []phase
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
		{"behind an answer without its end", head + "application/json" + chunked + chunk(answer), answers, false},
		{"behind the header of a stream", stream, streams, false},
		{"in the first event", stream + chunk(f.start[:len(f.start)/2]), streams, false},
		{"in the size of a chunk", stream + chunk(f.start+f.text("par")) + "1", streams, true},
		{"in an event", stream + chunk(f.start+f.text("par")+f.text("no")[:20]), streams, true},
		{"between events", stream + chunk(f.start) + chunk(f.text("par")), streams, true},
	} {
		for _, members := range []string{answers, streams} {
			if p.of != both && p.of != members {
				continue
			}
			all = append(all, phase{"closed " + p.name + members, members, p.begun, func(c *net.TCPConn) {
				hear(c)
				_, _ = io.WriteString(c, p.said)
			}}, phase{"reset " + p.name + members, members, p.begun, func(c *net.TCPConn) {
				hear(c)
				_, _ = io.WriteString(c, p.said)
				_ = c.SetLinger(0)
			}})
		}
	}
	return append(all, phase{"reset before the request is read", answers, false, func(c *net.TCPConn) { _ = c.SetLinger(0) }},
		phase{"closed before the request is read", streams, false, func(*net.TCPConn) {}})
}

// chunk is one of HTTP's chunked coding.
func chunk(s string) string { return strconv.FormatInt(int64(len(s)), 16) + "\r\n" + s + "\r\n" }
