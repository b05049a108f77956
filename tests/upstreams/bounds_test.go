package upstreams

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
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// maxFailures is how many calls may fail before the circuit opens.
const maxFailures = 8

// startWith starts a gateway with one provider and without retries.
func startWith(t testing.TB, f gatewaytest.Provider, upstream string, settings ...string) *gatewaytest.Program {
	t.Helper()
	return gatewaytest.Start(
		t,
		append(
			[]string{
				f.EnvPrefix + "_API_KEY=sk-canary-" + f.Name,
				f.EnvPrefix + "_BASE_URL=" + upstream,
				"MAX_RETRIES=0",
				"LOG_LEVEL=info",
			},
			settings...)...)
}

// checkProviderError checks the error of a call that failed before its answer
// began.
func checkProviderError(t testing.TB, f gatewaytest.Provider, what string, a gatewaytest.Answer, status int) {
	t.Helper()
	if e := a.APIError(t); a.Status != status || e.Type != "api_error" || e.Code != "provider_error" || e.Provider != f.Name ||
		a.Header.Get("X-Should-Retry") == "" {
		t.Errorf("%s: %d %.500s", what, a.Status, a.Body)
	}
	checkHidesInternals(t, what, a)
}

// checkInterrupted checks a stream that broke off after its first events.
func checkInterrupted(t testing.TB, what string, s gatewaytest.Answer) {
	t.Helper()
	if s.Status != 200 || s.Err == nil || strings.Contains(s.Body, "[DONE]") || strings.Contains(s.Body, `"finish_reason":"`) ||
		!strings.Contains(s.Body, `data: {"error":{"type":"api_error"`) {
		t.Errorf("%s: %d, %v, %.500s", what, s.Status, s.Err, s.Body)
	}
	checkHidesInternals(t, what, s)
}

// checkHidesInternals checks that an error names neither a key nor an address.
func checkHidesInternals(t testing.TB, what string, a gatewaytest.Answer) {
	t.Helper()
	for _, secret := range []string{"canary", "127.0.0.1", "169.254", "dial", "goroutine"} {
		if strings.Contains(a.Body, secret) {
			t.Errorf("%s: the error tells %q: %.500s", what, secret, a.Body)
		}
	}
}

// rawUpstream is an upstream that writes HTTP by hand. What it does can be
// replaced; over is closed when the test ends.
type rawUpstream struct {
	url  string
	over chan struct{}
	now  atomic.Pointer[func(c *net.TCPConn)]
}

func newRawUpstream(t testing.TB) *rawUpstream {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &rawUpstream{url: "http://" + listener.Addr().String(), over: make(chan struct{})}
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

func (w *rawUpstream) serve(say func(c *net.TCPConn)) { w.now.Store(&say) }

// readRequest reads a request to its end.
func readRequest(c net.Conn) {
	if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// writeEndlessly writes start and then block again and again, up to 10 GB, and
// counts the bytes that were taken.
func writeEndlessly(written *atomic.Int64, w io.Writer, start, block string) {
	_, err := io.WriteString(w, start)
	for err == nil && written.Load() < 10<<30 {
		var n int
		n, err = io.WriteString(w, block)
		written.Add(int64(n))
	}
}

// allocated returns how many bytes the process allocated while f ran.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func TestEndlessUpstreamBodyIsCutAtItsBound(t *testing.T) {
	const (
		mostTaken     = 64 << 20  // bytes: the bound and the buffers
		mostAllocated = 320 << 20 // bytes, to grow to the bound step by step
	)
	block := strings.Repeat("x", 1<<20)
	length := http.Header{"Content-Length": {strconv.Itoa(10 << 30)}}
	stream := http.Header{"Content-Type": {"text/event-stream"}}
	for i, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			u := gatewaytest.NewFuncUpstream(t)
			p := startWith(t, f, u.URL)
			for j, tt := range []struct {
				name, members string
				status        int
				header        http.Header
				start, block  string
				want          int
			}{
				{"a string", "", 200, nil, `{"x":"`, block, 502},
				{"a string whose length is announced", "", 200, length, `{"x":"`, block, 502},
				{"a string for a stream", gatewaytest.Streaming, 200, nil, `{"x":"`, block, 502},
				{"a line", gatewaytest.Streaming, 200, stream, "data: ", block, 502},
				{"an event", gatewaytest.Streaming, 200, stream, "", "data: " + block + "\n", 502},
				{"an error", "", 500, nil, `{"error":{"message":"`, block, 502},
				{"a refusal", gatewaytest.Streaming, 400, length, `<html>`, block, 400},
			} {
				if !longtest.On() && (i+j)%3 != 0 {
					continue // a third of the cases for each provider
				}
				var written atomic.Int64
				u.Handle(func(w http.ResponseWriter, _ *http.Request) {
					for name, values := range tt.header {
						w.Header()[name] = values
					}
					w.WriteHeader(tt.status)
					writeEndlessly(&written, w, tt.start, tt.block)
				})
				var a gatewaytest.Answer
				took := allocated(func() { a = p.Chat(t, f.Request(tt.members)) })
				checkProviderError(t, f, tt.name, a, tt.want)
				if n := written.Load(); n > mostTaken || took > mostAllocated {
					t.Errorf("%s: %d MiB were taken, %d MiB allocated", tt.name, n>>20, took>>20)
				}
			}
		})
	}
}

// TestUnrequestedCompressionIsNotInflated sends 200 MiB compressed to 200 KiB,
// though the gateway asked for no compression.
func TestUnrequestedCompressionIsNotInflated(t *testing.T) {
	var member bytes.Buffer
	w := gzip.NewWriter(&member)
	_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
	_ = w.Close()
	bomb := bytes.Repeat(member.Bytes(), 200)
	for _, f := range gatewaytest.Providers() { // not in parallel: what others allocate would count
		t.Run(f.Name, func(t *testing.T) {
			u := providertest.Serve(t)
			p := startWith(t, f, u.URL)
			for kind, members := range map[string]string{"application/json": "", "text/event-stream": gatewaytest.Streaming} {
				u.Play(
					providertest.Script{Header: http.Header{"Content-Type": {kind}, "Content-Encoding": {"gzip"}}, Pieces: [][]byte{bomb}},
				)
				var a gatewaytest.Answer
				if took := allocated(func() { a = p.Chat(t, f.Request(members)) }); took > 16<<20 {
					t.Errorf("%s: %d MiB for %d KiB", kind, took>>20, len(bomb)>>10)
				}
				checkProviderError(t, f, kind, a, 502)
				for _, r := range u.Requests() {
					if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
						t.Error("the gateway asks for gzip")
					}
				}
			}
		})
	}
}

func TestEndlessUpstreamHeaderIsCutAtItsBound(t *testing.T) {
	t.Parallel()
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	long := strings.Repeat("a", 64<<10)
	lines := strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 64)
	for i, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := newRawUpstream(t)
			p := startWith(t, f, u.url)
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
				u.serve(func(c *net.TCPConn) {
					readRequest(c)
					writeEndlessly(&written, c, tt.start, tt.block)
				})
				checkProviderError(t, f, tt.name, p.Chat(t, f.Request([]string{"", gatewaytest.Streaming}[(i+j)%2])), 502)
				if n := written.Load(); n > 16<<20 {
					t.Errorf("%s: %d MiB were taken", tt.name, n>>20)
				}
			}
		})
	}
}

// TestIdleTimeoutBoundsSilenceNotTheWholeAnswer sends answers in small pieces for
// longer than either timeout: they arrive whole, since no pause is too long.
func TestIdleTimeoutBoundsSilenceNotTheWholeAnswer(t *testing.T) {
	t.Parallel()
	const gap, idle, pieces, never = 250 * time.Millisecond, 2 * time.Second, 11, time.Hour
	const answers, streams = "application/json", "text/event-stream"
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat("a", pieces)
			var answer []string
			for part := range slices.Chunk([]byte(f.Answer(text)), len(f.Answer(text))/pieces) {
				answer = append(answer, string(part))
			}
			stream := slices.Concat([]string{f.Start}, slices.Repeat([]string{f.Text("a")}, pieces), []string{f.End})
			u := gatewaytest.NewFuncUpstream(t)
			p := startWith(t, f, u.URL, "UPSTREAM_TIMEOUT_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=2")
			u.Handle(gatewaytest.WriteSlowly(answers, gap, answer...))
			began := time.Now()
			if a := p.Chat(t, f.Request("")); a.Status != 200 || !strings.Contains(a.Body, text) {
				t.Errorf("a slow answer: %d %s", a.Status, a.Body)
			}
			if time.Since(began) < idle {
				t.Errorf("after %s it proves nothing", time.Since(began))
			}
			u.Handle(gatewaytest.WriteSlowly(streams, gap, stream...))
			if s := p.Chat(t, f.Request(gatewaytest.Streaming)); s.Err != nil || strings.Count(s.Body, `"content":"a"`) != pieces ||
				!strings.HasSuffix(s.Body, "[DONE]\n\n") {
				t.Errorf("a slow stream: %v %s", s.Err, s.Body)
			}
			u.Handle(gatewaytest.WriteSlowly(answers, never, "x"))
			checkProviderError(t, f, "no first byte", p.Chat(t, f.Request("")), 504)
			u.Handle(gatewaytest.WriteSlowly(streams, never, "x"))
			checkProviderError(t, f, "no first event", p.Chat(t, f.Request(gatewaytest.Streaming)), 504)
			left := make(chan struct{})
			u.Handle(func(w http.ResponseWriter, r *http.Request) {
				gatewaytest.WriteSlowly(streams, 0, f.Start, f.Text("a"))(w, r)
				<-r.Context().Done()
				close(left)
			})
			s := p.Chat(t, f.Request(gatewaytest.Streaming))
			checkInterrupted(t, "silence", s)
			if !strings.Contains(s.Body, `"content":"a"`) || !strings.Contains(s.Body, "did not answer in time") {
				t.Errorf("silence: %s", s.Body)
			}
			<-left
		})
	}
}
