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

type generation struct {
	// Not an http.Client, which would only add redirects and cookies.
	*http.Transport
	made time.Time
}

func newConnections() *connections {
	c := &connections{dial: &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}}
	c.current.Store(c.generation())
	return c
}

func (c *connections) generation() *generation {
	return &generation{made: time.Now(), Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            c.dial.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second, // shorter than the upstreams' idle timeouts
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    256,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true, // 200 kB of gzip can be 200 MB of answer
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}}
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
		old.CloseIdleConnections()
		return next
	}
	return c.current.Load()
}
