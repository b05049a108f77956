package gatewaytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// FuncUpstream is an upstream that changes what it does.
type FuncUpstream struct {
	URL string
	now atomic.Pointer[http.HandlerFunc]
}

// NewFuncUpstream starts an upstream that answers with a function.
func NewFuncUpstream(t testing.TB) *FuncUpstream {
	t.Helper()
	s := &FuncUpstream{}
	s.URL = ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		(*s.now.Load())(w, r)
	}))
	return s
}

// Handle sets the function that answers from now on.
func (s *FuncUpstream) Handle(h http.HandlerFunc) { s.now.Store(&h) }

// WriteSlowly writes pieces with a wait before each.
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

// ServeUpstream is the address of an upstream that ends with the test, whoever is still
// connected.
func ServeUpstream(t testing.TB, upstream http.Handler) string {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}
