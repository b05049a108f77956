package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// reported takes the place of the test that Transport reports to.
type reported struct {
	testing.TB
	errs    []string
	cleanup []func()
}

func (s *reported) Cleanup(f func()) { s.cleanup = append(s.cleanup, f) }

func (s *reported) Errorf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Sprintf(format, args...))
}

// checked sends a chat request to handler through Transport, gives the answer to
// read, and returns the errors that Transport reports.
func checked(t *testing.T, handler http.HandlerFunc, read func(*http.Response)) string {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	s := &reported{TB: t}
	client := &http.Client{Transport: validator(t).Transport(s, http.DefaultTransport)}
	defer client.CloseIdleConnections()
	res, err := client.Post(server.URL+"/v1/chat/completions", typeJSON, strings.NewReader(plainStream))
	if err != nil {
		t.Fatal(err)
	}
	read(res)
	_ = res.Body.Close()
	for _, f := range s.cleanup {
		f()
	}
	return strings.Join(s.errs, "\n")
}

func readAll(res *http.Response) { _, _ = io.Copy(io.Discard, res.Body) }

func readUntil(end string) func(*http.Response) {
	return func(res *http.Response) {
		var got strings.Builder
		for !strings.Contains(got.String(), end) {
			if _, err := io.CopyN(&got, res.Body, 1); err != nil {
				return
			}
		}
	}
}

func answering(h http.Header, status int, body string, cut bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range h {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
	}
}

func TestTransportChecksWhatTheClientReceived(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		read    func(*http.Response)
		want    string
	}{
		{"whole stream", answering(streamHeaders(), 200, role+stop+done, false), readAll, ""},
		{"stream without end", answering(streamHeaders(), 200, role+stop, false), readAll, "without [DONE]"},
		{"client that stops at the end mark", answering(streamHeaders(), 200, role+stop+done, false), readUntil(done), ""},
		{"client that stops at the end mark of a wrong stream", answering(streamHeaders(), 200, role+text+done, false), readUntil(done), "no finish_reason"},
		{"client that closes early", answering(streamHeaders(), 200, role+stop+done, false), readUntil(role), ""},
		{"client that closes a wrong stream early", answering(streamHeaders(), 200, text+stop+done, false), readUntil(text), "needs the role"},
		{"error and cut", answering(streamHeaders(), 200, role+brokeOff, true), readAll, ""},
		{"error and a clean end", answering(streamHeaders(), 200, role+brokeOff, false), readAll, "not cut"},
		{"connection that breaks", answering(streamHeaders(), 200, role+text, true), readAll, ""},
		{"connection that breaks after a wrong event", answering(streamHeaders(), 200, role+role, true), readAll, "second time"},
		{"error answer", answering(errorHeaders(), 400, badTemperature, false), readAll, ""},
		{"wrong error answer", answering(errorHeaders(), 400, `{"error":{}}`, false), readAll, "missing properties"},
		{"wrong error answer that a decoder reads", answering(errorHeaders(), 400, `{"error":{}}`, false), func(res *http.Response) {
			var v any
			_ = json.NewDecoder(res.Body).Decode(&v)
		}, "missing properties"},
		{"wrong error answer cut short", answering(errorHeaders(), 400, `{"error":`, true), readAll, ""},
		{"empty error answer", answering(errorHeaders("Content-Length", "0"), 400, "", false), func(*http.Response) {}, "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := checked(t, c.handler, c.read)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("reported %q, want %q", got, c.want)
			}
			if strings.Count(got, "against the OpenAPI document") > 1 {
				t.Errorf("reported twice: %s", got)
			}
		})
	}
}

func TestTransportReturnsErrorsOfTheConnection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := validator(t).Transport(t, http.DefaultTransport).RoundTrip(req)
	if err == nil {
		_ = res.Body.Close()
		t.Fatal("a cancelled request was answered")
	}
}
