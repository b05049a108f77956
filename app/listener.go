package app

import (
	"net"
	"sync/atomic"
	"time"
)

// patientListener gives a new connection as long for its first byte as net/http
// gives an idle one for its next request. net/http counts ReadHeaderTimeout from
// the moment a connection is accepted, and clients open connections ahead of use
// (Go's transport dials a spare one whenever all are busy): closed after 10 s
// without a byte, such a connection ends the call that is sent on it at that moment
// in EOF, and the log says nothing.
type patientListener struct {
	net.Listener
	idle   time.Duration // for the first byte
	header time.Duration // for the rest of the first request's header
}

// Accept waits for the next connection.
func (l patientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn, nil
	}
	return &newConn{TCPConn: tcp, limits: l}, nil
}

// newConn is a connection whose first byte may be late.
type newConn struct {
	*net.TCPConn
	limits patientListener
	used   atomic.Bool // a byte has come
}

// Read reads, and limits the time of the header that the first byte begins.
func (c *newConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if n > 0 && !c.used.Load() {
		c.used.Store(true)
		if err := c.TCPConn.SetReadDeadline(time.Now().Add(c.limits.header)); err != nil {
			return n, err
		}
	}
	return n, err
}

// SetReadDeadline sets the limit of a used connection, and moves that of a new one.
func (c *newConn) SetReadDeadline(at time.Time) error {
	if c.used.Load() { // net/http sets five deadlines a request: asking the time for each took 0.5 µs
		return c.TCPConn.SetReadDeadline(at)
	}
	if now := time.Now(); at.After(now) {
		at = now.Add(c.limits.idle)
	}
	return c.TCPConn.SetReadDeadline(at)
}
