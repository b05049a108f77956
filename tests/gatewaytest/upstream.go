package gatewaytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// FuncUpstream is an upstream whose handler can be replaced.
type FuncUpstream struct {
	URL string
	now atomic.Pointer[http.HandlerFunc]
}

// NewFuncUpstream starts an upstream for the time of the test.
func NewFuncUpstream(t testing.TB) *FuncUpstream {
	t.Helper()
	s := &FuncUpstream{}
	s.URL = ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		(*s.now.Load())(w, r)
	}))
	return s
}

// Handle replaces the handler.
func (s *FuncUpstream) Handle(h http.HandlerFunc) { s.now.Store(&h) }

// WriteSlowly returns a handler that writes pieces with a pause before each.
func WriteSlowly(kind string, wait time.Duration, pieces ...string) http.HandlerFunc {
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

// ServeUpstream serves an upstream until the test ends, and returns its address. It
// closes connections that are still open then.
func ServeUpstream(t testing.TB, upstream http.Handler) string {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}
