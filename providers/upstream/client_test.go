package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/providers"
)

// canary is the key that no message may hold.
const canary = "sk-canary-key"

func testClient(url string, idle time.Duration) *Client {
	return New(Options{
		Provider: "openai", BaseURL: url, Sign: providers.SignHeader("X-Api-Key"),
		Refused:       func(status int, body []byte) providers.Refusal { return providers.Refusal{Message: string(body)} },
		HeaderTimeout: idle, IdleTimeout: idle,
	})
}

func upstreamOf(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

func want(t *testing.T, err error, status int) *api.Error {
	t.Helper()
	e := api.AsError(err)
	if _, ok := errors.AsType[*providers.Refusal](err); !ok || e.Status != status || e.Code != api.CodeProviderError ||
		e.Provider != "openai" {
		t.Errorf("want provider_error %d, got %v", status, err)
		return &api.Error{}
	}
	for _, secret := range []string{"127.0.0.1", "sk-canary", "dial", "goroutine"} {
		if strings.Contains(e.Message, secret) {
			t.Errorf("the message tells %q: %s", secret, e.Message)
		}
	}
	return e
}

func TestAKeyOfFewLettersIsNotSearchedForInMessages(t *testing.T) {
	server := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "the value "+r.Header.Get("X-Api-Key")+" is not allowed")
	})
	for key, message := range map[string]string{
		"a": "the value a is not allowed", "abcdefg": "the value abcdefg is not allowed", "abcdefgh": "the value [redacted] is not allowed",
	} {
		_, err := testClient(server.URL, time.Minute).Post(t.Context(), key, "/x", []byte("{}"))
		if refusal, ok := errors.AsType[*providers.Refusal](err); !ok || refusal.Message != message {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Bool
	trap := upstreamOf(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, trap.URL+"/steal", status) })
		_, err := testClient(server.URL, time.Minute).Post(t.Context(), canary, "/x", []byte("{}"))
		want(t, err, 502)
	}
	if reached.Load() {
		t.Error("the prompt and the key went elsewhere")
	}
}

func TestIdleUpstreamTimesOut(t *testing.T) {
	const idle = 150 * time.Millisecond
	for name, handler := range map[string]http.HandlerFunc{
		"before the header": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"inside the body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "data: a\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				handler(w, r)
			})
			began := time.Now()
			_, err := testClient(server.URL, idle).Post(t.Context(), canary, "/x", []byte("{}"))
			want(t, err, 504)
			events, err := testClient(server.URL, idle).Events(t.Context(), canary, "/x", []byte("{}"))
			if err == nil {
				defer events.Close()
				if _, err = events.Next(); err != nil {
					t.Fatalf("the first event: %v", err)
				}
				_, err = events.Next()
				err = testClient(server.URL, idle).Broken(t.Context(), err)
			}
			want(t, err, 504)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestSlowReaderDoesNotTimeOut(t *testing.T) {
	const idle = 200 * time.Millisecond
	server := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: a\n\n")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "data: b\n\n")
	})
	events, err := testClient(server.URL, idle).Events(t.Context(), canary, "/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	if _, err := events.Next(); err != nil {
		t.Fatal(err)
	}
	wait := time.NewTimer(3 * idle) // the gateway's client takes its time over the first event
	<-wait.C
	if e, err := events.Next(); err != nil || string(e.Data) != "b" {
		t.Errorf("%q, %v", e.Data, err)
	}
}

func TestCancellationReachesTheUpstream(t *testing.T) {
	for name, begin := range map[string]bool{"before the header": false, "inside the body": true} {
		t.Run(name, func(t *testing.T) {
			arrived, gone := make(chan struct{}), make(chan struct{})
			server := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if begin {
					_, _ = io.WriteString(w, "data: a\n\n")
					_ = http.NewResponseController(w).Flush()
				}
				close(arrived)
				<-r.Context().Done()
				close(gone)
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
			}()
			if _, err := testClient(server.URL, time.Minute).Post(ctx, canary, "/x", []byte("{}")); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			select {
			case <-gone:
			case <-time.After(30 * time.Second):
				t.Error("the upstream was not told")
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	server := upstreamOf(t, func(w http.ResponseWriter, _ *http.Request) {
		block := []byte(strings.Repeat("x", 1<<20))
		for range 64 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, err := testClient(server.URL, time.Minute).Post(t.Context(), canary, "/x", nil)
	want(t, err, 502)
}

func TestFailedConnectionIsABadGateway(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, err = testClient("http://"+address, time.Minute).Post(t.Context(), canary, "/x", nil)
	want(t, err, 502)
}

func TestClosedIdleConnectionsAreRetried(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	}))
	server.Config.IdleTimeout = time.Millisecond
	server.Start()
	defer server.Close()
	c := testClient(server.URL, time.Minute)
	for i := range 200 {
		if _, err := c.Post(t.Context(), canary, "/x", []byte("{}")); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		if i%3 == 0 {
			wait := time.NewTimer(time.Millisecond) // about when the server closes it
			<-wait.C
		}
	}
}

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	now := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "-5", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "soon", 0},
		{"X", "1", 0},
	} {
		h := http.Header{}
		h.Set(tt.name, tt.value)
		if got := retryAfter(h, now); got != tt.want {
			t.Errorf("%s: %s became %s", tt.name, tt.value, got)
		}
	}
}
