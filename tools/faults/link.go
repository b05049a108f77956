package faults

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// link is a client's connection and the corresponding one to the server.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	closed chan struct{}

	mu     sync.Mutex
	server *net.TCPConn // nil: not dialled yet

	// Only for the direction of the answers.
	random *rand.Rand
	cut    *faultState // whose Cut is being counted
	left   int
}

// join adds the server's side, which is closed if the link has ended meanwhile.
func (l *link) join(server *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
	select {
	case <-l.closed:
		_ = server.Close()
	default:
	}
}

func (l *link) close() { l.end(false) }

// reset closes the connections with a RST instead of a FIN.
func (l *link) reset() { l.end(true) }

func (l *link) end(reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return
	default:
		close(l.closed)
	}
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		if conn == nil {
			continue
		}
		if reset {
			_ = conn.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// forward passes on the bytes of one direction, and then their end as it was: a
// FIN or a RST.
func (l *link) forward(from, to *net.TCPConn, pass func([]byte) bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !pass(buffer[:n]) {
			return
		}
		switch {
		case err == nil:
			continue
		case l.awaitResume() == nil:
		case errors.Is(err, io.EOF):
			_ = to.CloseWrite()
		default:
			l.reset()
		}
		return
	}
}

// fromClient passes on the client's bytes, and reports whether there may be
// more.
func (l *link) fromClient(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	w := l.awaitResume()
	switch {
	case w == nil:
		return false
	case w.fault == Reset:
		l.reset()
		return false
	}
	return l.write(l.server, b)
}

// fromServer passes on the server's bytes, and reports whether there may be
// more.
func (l *link) fromServer(b []byte) bool {
	for len(b) > 0 {
		w, part := l.awaitResume(), b
		if w == nil {
			return false
		}
		switch w.fault {
		case Slow:
			part = b[:min(len(b), w.slice)]
			if !l.wait(w, w.delay) {
				return false
			}
		case Reset:
			l.reset()
			return false
		case Truncate:
			if !l.truncate(w, b) {
				return false
			}
		case Garble:
			l.garble(b)
		}
		if !l.write(l.client, part) {
			return false
		}
		b = b[len(part):]
	}
	return true
}

// truncate reports whether the bytes may pass; if not, it has passed the
// allowed ones and sent a FIN.
func (l *link) truncate(w *faultState, b []byte) bool {
	if l.cut != w {
		l.cut, l.left = w, w.cut
		if w.cut < 0 {
			l.left = l.random.IntN(2048)
		}
	}
	if l.left > len(b) {
		l.left -= len(b)
		return true
	}
	if l.write(l.client, b[:l.left]) {
		_ = l.client.CloseWrite()
	}
	return false
}

// garble overwrites one byte in 256, and at least one.
func (l *link) garble(b []byte) {
	for range 1 + len(b)/256 {
		b[l.random.IntN(len(b))] ^= byte(1 + l.random.IntN(255))
	}
}

func (l *link) write(to *net.TCPConn, b []byte) bool {
	if _, err := to.Write(b); err != nil {
		l.close()
		return false
	}
	return true
}

// awaitResume waits while everything is frozen, and returns the state after
// that; nil means that the link has ended.
func (l *link) awaitResume() *faultState {
	for {
		w := l.proxy.now()
		if w.fault != Freeze {
			return w
		}
		select {
		case <-w.over:
		case <-l.closed:
			return nil
		}
	}
}

// wait waits, for a shorter time when the fault changes; false means that the
// link has ended.
func (l *link) wait(w *faultState, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.over:
	case <-l.closed:
		return false
	}
	return true
}
