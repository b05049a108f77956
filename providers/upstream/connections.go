package upstream

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// New connections replace the old ones after renewEvery, so that the upstream's
// name is resolved again: connections in steady use would keep their address for
// ever (golang/go#23427). A failure replaces them at once, but at most every
// renewAfterFailure.
const (
	renewEvery        = 5 * time.Minute
	renewAfterFailure = 2 * time.Second
)

// connections is the connection pool of one upstream.
type connections struct {
	current atomic.Pointer[generation]
	dial    *net.Dialer
}

// generation is the connections that new calls use.
type generation struct {
	lanes [lanes]*lane
	made  time.Time
}

// Calls over HTTP/2 share a connection, and wait for its locks: one to change the streams,
// one to write to it. So many calls are spread over several connections. A few use the same
// one, which therefore rarely has to be opened.
const (
	lanes         = 8
	callsInALane  = 16 // until the next is used
	idleConnsKept = 256
)

// lane is a connection pool of HTTP/1.1, or a connection of HTTP/2.
type lane struct {
	// Not an http.Client, which would only add redirects and cookies.
	*http.Transport
	running atomic.Int32 // calls whose answer is not closed
}

func newConnections() *connections {
	c := &connections{dial: &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}}
	c.current.Store(c.generation())
	return c
}

func (c *connections) generation() *generation {
	g := &generation{made: time.Now()}
	for i := range g.lanes {
		g.lanes[i] = &lane{Transport: c.transport()}
	}
	return g
}

func (c *connections) transport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            c.dial.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second, // shorter than the upstreams' idle timeouts
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    idleConnsKept / lanes,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true, // 200 kB of gzip can be 200 MB of answer
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
}

// enter takes a place in the first lane that has one, or in the one with the fewest calls.
// The caller leaves it.
func (g *generation) enter() *lane {
	least := g.lanes[0]
	fewest := least.running.Load()
	for _, l := range g.lanes {
		n := l.running.Load()
		if n < callsInALane {
			least = l
			break
		}
		if n < fewest {
			least, fewest = l, n
		}
	}
	least.running.Add(1)
	return least
}

func (l *lane) leave() { l.running.Add(-1) }

// closeIdle closes the connections that have no call.
func (g *generation) closeIdle() {
	for _, l := range g.lanes {
		l.CloseIdleConnections()
	}
}

// take returns the generation that a new call uses.
func (c *connections) take() *generation {
	g := c.current.Load()
	if time.Since(g.made) > renewEvery {
		return c.renew(g)
	}
	return g
}

// failed renews the connections after a call that got no answer.
func (c *connections) failed(g *generation) {
	if time.Since(g.made) > renewAfterFailure {
		c.renew(g)
	}
}

// renew replaces old, whose running calls continue. Its idle connections are closed
// now, the others when they have been idle for IdleConnTimeout.
func (c *connections) renew(old *generation) *generation {
	if next := c.generation(); c.current.CompareAndSwap(old, next) {
		old.closeIdle()
		return next
	}
	return c.current.Load()
}
