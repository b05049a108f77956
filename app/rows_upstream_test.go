package app

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/providers/providertest"
)

// fewFailures is how many calls may fail before the provider is given a rest.
const fewFailures = 8

// alone is a gateway with one provider, which asks its upstream once for each
// call: what is tried again is another matter.
func (f family) alone(t testing.TB, upstream string, settings ...string) *program {
	t.Helper()
	return start(t, append([]string{f.key + "_API_KEY=sk-canary-" + f.name, f.key + "_BASE_URL=" + upstream, "MAX_RETRIES=0", "LOG_LEVEL=info"}, settings...)...)
}

// refused checks the error of a call that never became an answer.
func (f family) refused(t testing.TB, what string, a answer, status int) {
	t.Helper()
	if e := a.fault(t); a.status != status || e.Type != "api_error" || e.Code != "provider_error" || e.Provider != f.name || a.header.Get("X-Should-Retry") == "" {
		t.Errorf("%s: %d %.500s", what, a.status, a.body)
	}
	tellsNothing(t, what, a)
}

// brokeOff checks a stream that ended too early, after some of it had come.
func brokeOff(t testing.TB, what string, s answer) {
	t.Helper()
	if s.status != 200 || s.err == nil || strings.Contains(s.body, "[DONE]") || strings.Contains(s.body, `"finish_reason":"`) || !strings.Contains(s.body, `data: {"error":{"type":"api_error"`) {
		t.Errorf("%s: %d, %v, %.500s", what, s.status, s.err, s.body)
	}
	tellsNothing(t, what, s)
}

// tellsNothing checks that an error names neither key nor place.
func tellsNothing(t testing.TB, what string, a answer) {
	t.Helper()
	for _, secret := range []string{"canary", "127.0.0.1", "169.254", "dial", "goroutine"} {
		if strings.Contains(a.body, secret) {
			t.Errorf("%s: the error tells %q: %.500s", what, secret, a.body)
		}
	}
}

// stage is an upstream that changes what it does.
type stage struct {
	url string
	now atomic.Pointer[http.HandlerFunc]
}

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{}
	s.url = serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		(*s.now.Load())(w, r)
	}))
	return s
}

func (s *stage) play(h http.HandlerFunc) { s.now.Store(&h) }

// wire is an upstream that speaks HTTP by hand, and changes what it says. What
// says nothing waits for over, the test's end.
type wire struct {
	url  string
	over chan struct{}
	now  atomic.Pointer[func(c *net.TCPConn)]
}

func newWire(t testing.TB) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{url: "http://" + listener.Addr().String(), over: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return // closed below
			}
			all.Go(func() {
				(*w.now.Load())(c.(*net.TCPConn))
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		close(w.over)
		all.Wait()
	})
	return w
}

func (w *wire) play(say func(c *net.TCPConn)) { w.now.Store(&say) }

// hear reads a request to its end.
func hear(c net.Conn) {
	if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// flood writes start and then block again and again, 10 GB of it, and counts
// the bytes that it got rid of.
func flood(written *atomic.Int64, w io.Writer, start, block string) {
	_, err := io.WriteString(w, start)
	for err == nil && written.Load() < 10<<30 {
		var n int
		n, err = io.WriteString(w, block)
		written.Add(int64(n))
	}
}

// allocated is how many bytes were allocated while f ran, by everybody.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func TestU1ABodyWithoutEndIsCutAtItsBound(t *testing.T) {
	const (
		mostTaken     = 64 << 20  // bytes: the bound, and what was on its way
		mostAllocated = 320 << 20 // bytes, to grow to the bound step by step
	)
	block := strings.Repeat("x", 1<<20)
	length := http.Header{"Content-Length": {strconv.Itoa(10 << 30)}}
	stream := http.Header{"Content-Type": {"text/event-stream"}}
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := newStage(t)
			p := f.alone(t, u.url)
			for _, tt := range []struct {
				name, members string
				status        int
				header        http.Header
				start, block  string
				want          int
			}{
				{"a string", "", 200, nil, `{"x":"`, block, 502},
				{"a string whose length is announced", "", 200, length, `{"x":"`, block, 502},
				{"a string for a stream", streaming, 200, nil, `{"x":"`, block, 502},
				{"a line", streaming, 200, stream, "data: ", block, 502},
				{"an event", streaming, 200, stream, "", "data: " + block + "\n", 502},
				{"an error", "", 500, nil, `{"error":{"message":"`, block, 502},
				{"a refusal", streaming, 400, length, `<html>`, block, 400},
			} {
				var written atomic.Int64
				u.play(func(w http.ResponseWriter, _ *http.Request) {
					for name, values := range tt.header {
						w.Header()[name] = values
					}
					w.WriteHeader(tt.status)
					flood(&written, w, tt.start, tt.block)
				})
				var a answer
				took := allocated(func() { a = p.chat(t, f.request(tt.members)) })
				f.refused(t, tt.name, a, tt.want)
				if n := written.Load(); n > mostTaken || took > mostAllocated {
					t.Errorf("%s: %d MiB were taken, %d MiB allocated", tt.name, n>>20, took>>20)
				}
			}
		})
	}
}

// TestU1ACompressedBodyIsNotInflated sends 200 MiB in 200 KiB, which nobody
// asked for.
func TestU1ACompressedBodyIsNotInflated(t *testing.T) {
	var member bytes.Buffer
	w := gzip.NewWriter(&member)
	_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
	_ = w.Close()
	bomb := bytes.Repeat(member.Bytes(), 200)
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		for kind, members := range map[string]string{"application/json": "", "text/event-stream": streaming} {
			u.Play(providertest.Script{Header: http.Header{"Content-Type": {kind}, "Content-Encoding": {"gzip"}}, Pieces: [][]byte{bomb}})
			var a answer
			if took := allocated(func() { a = p.chat(t, f.request(members)) }); took > 16<<20 {
				t.Errorf("%s: %d MiB for %d KiB", kind, took>>20, len(bomb)>>10)
			}
			f.refused(t, kind, a, 502)
			for _, r := range u.Requests() {
				if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
					t.Error("the gateway asks for gzip")
				}
			}
		}
	}, "MAX_RETRIES=0")
}

func TestU1AHeaderWithoutEndIsCutAtItsBound(t *testing.T) {
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	long := strings.Repeat("a", 64<<10)
	lines := strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 64)
	for i, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := newWire(t)
			p := f.alone(t, u.url)
			for j, tt := range []struct{ name, start, block string }{
				{"lines", "HTTP/1.1 200 OK\r\n", lines},
				{"one line", "HTTP/1.1 200 OK\r\nX-A: ", long},
				{"a status line", "HTTP/1.1 200 ", long},
				{"early hints", "", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 64)},
				{"the size of a chunk", chunked, strings.Repeat("0", 64<<10)},
				{"the extension of a chunk", chunked, "1;" + long},
				{"trailers", chunked + "0\r\n", lines},
			} {
				var written atomic.Int64
				u.play(func(c *net.TCPConn) {
					hear(c)
					flood(&written, c, tt.start, tt.block)
				})
				f.refused(t, tt.name, p.chat(t, f.request([]string{"", streaming}[(i+j)%2])), 502)
				if n := written.Load(); n > 16<<20 {
					t.Errorf("%s: %d MiB were taken", tt.name, n>>20)
				}
			}
		})
	}
}

// drip writes pieces with a wait before each.
func drip(kind string, wait time.Duration, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		_ = http.NewResponseController(w).Flush()
		for _, piece := range pieces {
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// TestU3ASlowDripIsCutByTheIdleTimeOut holds that what is bounded is a silence,
// and not the whole: what drips for longer than either time-out comes whole.
func TestU3ASlowDripIsCutByTheIdleTimeOut(t *testing.T) {
	const gap, idle, pieces, never = 250 * time.Millisecond, 2 * time.Second, 11, time.Hour
	const answers, streams = "application/json", "text/event-stream"
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat("a", pieces)
			var answer []string
			for part := range slices.Chunk([]byte(f.answer(text)), len(f.answer(text))/pieces) {
				answer = append(answer, string(part))
			}
			stream := slices.Concat([]string{f.start}, slices.Repeat([]string{f.text("a")}, pieces), []string{f.end})
			u := newStage(t)
			p := f.alone(t, u.url, "UPSTREAM_TIMEOUT_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=2")
			u.play(drip(answers, gap, answer...))
			began := time.Now()
			if a := p.chat(t, f.request("")); a.status != 200 || !strings.Contains(a.body, text) {
				t.Errorf("a slow answer: %d %s", a.status, a.body)
			}
			if time.Since(began) < idle {
				t.Errorf("after %s it proves nothing", time.Since(began))
			}
			u.play(drip(streams, gap, stream...))
			if s := p.chat(t, f.request(streaming)); s.err != nil || strings.Count(s.body, `"content":"a"`) != pieces || !strings.HasSuffix(s.body, "[DONE]\n\n") {
				t.Errorf("a slow stream: %v %s", s.err, s.body)
			}
			u.play(drip(answers, never, "x"))
			f.refused(t, "no first byte", p.chat(t, f.request("")), 504)
			u.play(drip(streams, never, "x"))
			f.refused(t, "no first event", p.chat(t, f.request(streaming)), 504)
			left := make(chan struct{})
			u.play(func(w http.ResponseWriter, r *http.Request) {
				drip(streams, 0, f.start, f.text("a"))(w, r)
				<-r.Context().Done()
				close(left)
			})
			s := p.chat(t, f.request(streaming))
			brokeOff(t, "silence", s)
			if !strings.Contains(s.body, `"content":"a"`) || !strings.Contains(s.body, "did not answer in time") {
				t.Errorf("silence: %s", s.body)
			}
			<-left
		})
	}
}
