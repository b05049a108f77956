package upstream

import (
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// A connection that has died without a word takes all calls with it, for they
// share it: it has to be found out by pings. FAULTS=full waits as long as the
// gateway does; otherwise the waits are a twentieth.
func TestFrozenConnectionIsReplacedWithinHalfAMinute(t *testing.T) {
	server := upstreamOverHTTP2(t, holding)
	h := newHole(t, "127.0.0.1:0", server.Listener.Addr().String())
	c := byName(t, h.port(), 2*time.Minute, h.ip)
	longest := 30 * time.Second
	pings := c.connections.current.Load().lanes[0].HTTP2
	if pings.SendPingTimeout+pings.PingTimeout > longest {
		t.Fatalf("a frozen connection is kept for %s", pings.SendPingTimeout+pings.PingTimeout)
	}
	if os.Getenv("FAULTS") != "full" {
		const faster = 20
		pings.SendPingTimeout /= faster
		pings.PingTimeout /= faster
		longest = 10 * time.Second // of a machine that has other work
	}
	post := func() error {
		_, err := c.Post(t.Context(), canary, "/x", []byte("{}"))
		return err
	}
	if err := post(); err != nil {
		t.Fatal(err)
	}
	stream, err := c.Events(t.Context(), canary, "/stream", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if e, err := stream.Next(); err != nil || string(e.Data) != "a" {
		t.Fatalf("%q, %v", e.Data, err)
	}
	if n := h.connections(); n != 1 {
		t.Fatalf("%d connections before the freeze", n)
	}
	h.freeze()
	began := time.Now()
	broken := make(chan error, 1)
	go func() {
		_, err := stream.Next()
		broken <- err
	}()
	var all sync.WaitGroup
	for range 5 { // whether they fail or are sent again, they do not hang
		all.Go(func() {
			if err := post(); err != nil {
				want(t, err, http.StatusBadGateway)
			}
		})
	}
	all.Wait()
	if err := <-broken; err == nil {
		t.Error("the frozen stream goes on")
	}
	if err := post(); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if took := time.Since(began); took > longest || h.connections() < 2 {
		t.Errorf("took %s, %d connections", took, h.connections())
	}
}

func TestCallsFollowAnUpstreamToItsNewAddress(t *testing.T) {
	c, first, second, move := moving(t, time.Minute)
	stream, err := c.Events(t.Context(), canary, "/stream", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	move()
	for _, tt := range []struct {
		age   time.Duration
		moved bool
	}{{time.Second, false}, {renewEvery + time.Second, true}} {
		c.connections.age(tt.age)
		for range 3 {
			if _, err := c.Post(t.Context(), canary, "/x", []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if (second.connections() == 1) != tt.moved || first.connections() != 1 {
			t.Errorf("after %s: %d connections to where it was, %d to where it is", tt.age, first.connections(), second.connections())
		}
	}
	if renewEvery > 5*time.Minute {
		t.Errorf("an address is kept for %s", renewEvery)
	}
	if e, err := stream.Next(); err != nil || string(e.Data) != "a" {
		t.Errorf("the stream of before: %q, %v", e.Data, err)
	}
}

func TestNameIsResolvedAgainAfterAFailure(t *testing.T) {
	c, first, second, move := moving(t, 1500*time.Millisecond) // also what a slow machine has for a good answer
	if _, err := c.Post(t.Context(), canary, "/x", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	move()
	first.freeze()
	c.connections.age(2 * renewAfterFailure)
	_, err := c.Post(t.Context(), canary, "/x", []byte("{}"))
	want(t, err, http.StatusGatewayTimeout)
	if _, err := c.Post(t.Context(), canary, "/x", []byte("{}")); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if second.connections() != 1 {
		t.Errorf("%d connections to where it is", second.connections())
	}
}

// Calls of one connection wait for each other, and each connection costs a handshake.
func TestManyCallsAreSpreadOverConnectionsAndFewAreNot(t *testing.T) {
	server := upstreamOverHTTP2(t, holding)
	h := newHole(t, "127.0.0.1:0", server.Listener.Addr().String())
	c := byName(t, h.port(), time.Minute, h.ip)
	open := func(n int) (streams []*Events) {
		for range n {
			stream, err := c.Events(t.Context(), canary, "/stream", []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, stream)
		}
		return streams
	}
	streams := open(callsInALane)
	if n := h.connections(); n != 1 {
		t.Errorf("%d calls took %d connections", len(streams), n)
	}
	streams = append(streams, open(callsInALane+1)...)
	if n := h.connections(); n != 3 {
		t.Errorf("%d calls took %d connections", len(streams), n)
	}
	streams = append(streams, open(2*lanes*callsInALane-len(streams))...)
	if n := h.connections(); n != lanes {
		t.Errorf("%d calls took %d connections", len(streams), n)
	}
	for _, l := range c.connections.current.Load().lanes {
		if n := l.running.Load(); n != 2*callsInALane {
			t.Errorf("a connection has %d calls", n)
		}
	}
	for _, stream := range streams {
		stream.Close()
		stream.Close() // as a caller may
	}
	for i, l := range c.connections.current.Load().lanes {
		if n := l.running.Load(); n != 0 {
			t.Errorf("connection %d has %d calls that have ended", i, n)
		}
	}
	if _, err := c.Post(t.Context(), canary, "/x", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if n := h.connections(); n != lanes {
		t.Errorf("the next call opened a connection: %d", n)
	}
}
