package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/providers/providertest"
)

// A picture arrives as one line of up to 16 MiB.
func TestR1ALineOfSixteenMiBPassesAndALongerOneIsAnError(t *testing.T) {
	const bound = 16 << 20
	long := strings.Repeat("x", bound+64<<10)
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		p.client = http.DefaultClient // to hold so much against the document takes long
		frame := 0
		for line := range strings.Lines(f.text("")) {
			if strings.HasPrefix(line, "data:") {
				frame = len(strings.TrimRight(line, "\r\n"))
			}
		}
		longest := bound - frame
		u.Play(events(providertest.Proper, f.start, f.text(long[:longest]), f.text("after"), f.end))
		s := p.chat(t, f.request(streaming))
		if s.err != nil || strings.Count(s.body, "x") < longest || !strings.Contains(s.body, `"content":"after"`) || !strings.HasSuffix(s.body, "[DONE]\n\n") {
			t.Errorf("the longest line: %v, %d bytes came", s.err, len(s.body))
		}
		u.Play(events(providertest.Proper, f.start, f.text("before"), f.text(long), f.text("after"), f.end))
		s = p.chat(t, f.request(streaming))
		if s.err == nil || !strings.Contains(s.body, `"content":"before"`) || !strings.Contains(s.body, `"code":"provider_error"`) || strings.Contains(s.body, "after") || strings.Contains(s.body, "[DONE]") {
			t.Errorf("a longer one: %v, %.500s", s.err, s.body)
		}
	})
}

func TestR11EveryRouteThatMayBeTriedIsCounted(t *testing.T) {
	const calls, tries = 1, 2
	p := start(t, "SIMULATOR=true", "RATE_LIMIT_RPM="+strconv.Itoa(calls), "AUTH_RATE_LIMIT_RPM="+strconv.Itoa(tries), "TRUSTED_PROXIES=127.0.0.0/8")
	for i, route := range []struct {
		method, path, body string
		limit              int
	}{
		{"POST", "/v1/chat/completions", hello, calls}, {"POST", "/v1/chat/completions", "{", calls},
		{"GET", "/v1/models", "", calls}, {"GET", "/v1/models/gpt-4", "", calls}, {"GET", "/v1/models/nope", "", calls},
		{"POST", "/auth/register", ada, tries}, {"POST", "/auth/login", ada, tries}, {"GET", "/auth/idp", "", tries}, {"GET", "/auth/idp/callback", "", tries},
	} {
		for n := range route.limit + 1 {
			a := p.call(t, route.method, route.path, route.body, "X-Forwarded-For", "203.0.113."+strconv.Itoa(i))
			if a.header.Get("X-Ratelimit-Limit-Requests") != strconv.Itoa(route.limit) {
				t.Errorf("%s %s is not counted against %d: %v", route.method, route.path, route.limit, a.header)
			}
			refused := a.status == 429 && a.fault(t).Code == "rate_limit_exceeded" && a.header.Get("Retry-After") != ""
			if refused != (n == route.limit) {
				t.Errorf("%s %s, call %d: %d %s", route.method, route.path, n, a.status, a.body)
			}
		}
	}
}

// What is announced costs its sender nothing: neither memory nor the room for
// the bodies of others may be given for it.
func TestR13AnAnnouncedBodyTakesNoRoomBeforeItComes(t *testing.T) {
	const clients = 64
	for name, announced := range map[string]int{"1 MiB": 1 << 20, "32 MiB": 32 << 20} {
		t.Run(name, func(t *testing.T) {
			p := configured(t, providertest.Serve(t, jsonScript(200, families()[0].answer("a"))), "MAX_IN_FLIGHT_BYTES="+strconv.Itoa(clients<<19))
			heap := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := heap()
			for range clients {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if _, err := io.WriteString(conn, post+length(announced)+"\r\n{"); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "all bodies are waited for, or refused", func() bool {
				got := figures(t, p.get(t, "/metrics").body)
				return got["modelgateway_http_requests_in_flight"]+got[`modelgateway_http_requests_total{route="/v1/chat/completions",status="503"}`] == clients+1
			})
			const most = 256 << 10 // bytes of a client: a byte of its body, and what a connection costs
			if grown := int64(heap()) - int64(before); grown > clients*most {
				t.Errorf("%d clients that sent a byte each hold %d KiB", clients, grown>>10)
			}
			long := strings.Replace(hello, "hi", strings.Repeat("hi ", 400<<10), 1)
			if a := p.chat(t, long); a.status != 200 {
				t.Errorf("another call: %d %.300s", a.status, a.body)
			}
		})
	}
}

// outlet is what the log is written to: it can be stuck, as a full pipe is, or
// broken, as a closed one is.
type outlet struct {
	logBuffer
	stuck chan struct{} // until it is closed
	state atomic.Int32
}

const (
	flowing = iota
	full
	closed
)

func (o *outlet) Write(p []byte) (int, error) {
	switch o.state.Load() {
	case full:
		<-o.stuck
		return 0, errors.New("stuck until the end")
	case closed:
		return 0, io.ErrClosedPipe
	}
	return o.logBuffer.Write(p)
}

func TestR14O16ALogThatGoesNowhereStopsNeitherRequestsNorTheEnd(t *testing.T) {
	id := strings.Repeat("i", 128) // makes lines long
	for name, tt := range map[string]struct {
		state    int32
		requests int
	}{"full": {full, 4000}, "closed": {closed, 400}} { // 4000 lines are more than may wait
		t.Run(name, func(t *testing.T) {
			out := &outlet{logBuffer: logBuffer{grown: make(chan struct{}, 1)}, stuck: make(chan struct{})}
			defer close(out.stuck)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				ended <- Run(ctx, []string{"PORT=0", "HOST=127.0.0.1", "LOG_FORMAT=json", "LOG_LEVEL=debug", "SIMULATOR=true", "MODEL_DISCOVERY=false", "RATE_LIMIT_RPM=0",
					"SHUTDOWN_GRACE_SECONDS=5", "DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db"}, out)
			}()
			until(t, "it listens", func() bool { return out.field("listening", "address") != "" })
			p := &program{url: "http://" + out.field("listening", "address"), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 10 * time.Second}}
			defer p.client.CloseIdleConnections()
			out.state.Store(tt.state)
			var slow, failed atomic.Int64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range tt.requests / 8 {
						began := time.Now()
						if p.call(t, "GET", "/livez", "", "X-Request-Id", id).status != 200 {
							failed.Add(1)
						}
						if time.Since(began) > 5*time.Second {
							slow.Add(1)
						}
					}
				})
			}
			all.Wait()
			if a := p.chat(t, hello); a.status != 200 || failed.Load() > 0 || slow.Load() > 0 {
				t.Errorf("%d requests failed, %d waited; then %d", failed.Load(), slow.Load(), a.status)
			}
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it does not end")
			}
		})
	}
}

// pacer is an upstream that sends the next piece of a stream when it is told to.
func pacer(ctx context.Context, t *testing.T, pieces ...string) (address string, next func()) {
	t.Helper()
	step := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			select {
			case <-step:
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() {
		select {
		case step <- struct{}{}:
		case <-ctx.Done():
		}
	}
}

func TestR19NothingHoldsAnEventBack(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			address, next := pacer(ctx, t, f.start, f.text("one "), f.text("two "), f.text("three "), f.end)
			p := start(t, f.key+"_API_KEY=sk-x", f.key+"_BASE_URL="+address)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(f.request(streaming)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept-Encoding", "gzip, br, deflate")
			go func() { // the header comes with the first event, not before
				next()
				next()
			}()
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			for name, want := range map[string]string{
				"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Encoding": "", "Content-Length": "", "Connection": "",
			} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s: %q, not %q", name, got, want)
				}
			}
			var seen strings.Builder
			read := func(word string) {
				t.Helper()
				watch := time.AfterFunc(5*time.Second, func() { _ = resp.Body.Close() })
				defer watch.Stop()
				b := make([]byte, 64<<10)
				for !strings.Contains(seen.String(), word) {
					n, err := resp.Body.Read(b)
					seen.Write(b[:n])
					if err != nil && !strings.Contains(seen.String(), word) {
						t.Fatalf("%q is held back: %v, %s", word, err, seen.String())
					}
				}
			}
			read(`"content":"one "`)
			next()
			read(`"content":"two "`)
			next()
			read(`"content":"three "`)
			next()
			read("data: [DONE]\n\n")
		})
	}
}
