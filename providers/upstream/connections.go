package upstream

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// How long connections serve before new calls get new ones, for which the
// upstream's name is looked up again: connections in steady use would stay with
// an address for ever (golang/go#23427). After a failure it happens at once,
// though not for every call of an outage.
const (
	renewEvery   = 5 * time.Minute
	renewAtEarly = 2 * time.Second
)

// connections are those to one upstream.
type connections struct {
	current atomic.Pointer[generation]
	dial    *net.Dialer
}

type generation struct {
	// Not an http.Client, which does nothing here but follow redirects and look
	// for cookies.
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
		IdleConnTimeout:        30 * time.Second, // below the upstreams' own
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    256,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true, // 200 kB of gzip can be 200 MB of answer
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}}
}

// take is for one call.
func (c *connections) take() *generation {
	g := c.current.Load()
	if time.Since(g.made) > renewEvery {
		return c.renew(g)
	}
	return g
}

// failed says that a call came to no answer.
func (c *connections) failed(g *generation) {
	if time.Since(g.made) > renewAtEarly {
		c.renew(g)
	}
}

// renew replaces old, whose calls go on. What is idle of it is closed now, the
// rest when it has been idle for IdleConnTimeout.
func (c *connections) renew(old *generation) *generation {
	if next := c.generation(); c.current.CompareAndSwap(old, next) {
		old.CloseIdleConnections()
		return next
	}
	return c.current.Load()
}
