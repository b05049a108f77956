package streams

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// pacer is an upstream that sends the next piece of a stream for each call of next.
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

func TestEventsAreForwardedAtOnce(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
			defer cancel()
			address, next := pacer(ctx, t, f.Start, f.Text("one "), f.Text("two "), f.Text("three "), f.End)
			p := gatewaytest.Start(t, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+address)
			req, err := http.NewRequestWithContext(
				ctx, http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(f.Request(gatewaytest.Streaming)),
			)
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
