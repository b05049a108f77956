package upstream

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

func TestDrainKeepsTheConnectionOfAnAnswerThatEnds(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: a\n\ndata: end\n\n")
		if r.URL.Path == "/hold" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c := testClient(server.URL, time.Minute)
	read := func(path string) {
		events, err := c.Events(t.Context(), canary, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer events.Close()
		for range 2 {
			if _, err := events.Next(); err != nil {
				t.Fatal(err)
			}
		}
		events.Drain()
	}
	for range 10 {
		read("/")
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("10 answers took %d connections", n)
	}
	began := time.Now()
	read("/hold")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("an answer that does not end held on for %s", took)
	}
}
