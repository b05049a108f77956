// Package faults proves what the gateway promises about bad days, against the
// built program: upstreams, databases and clients that vanish, stall or lie,
// restarts, crashes and floods. Everything in it is a test; without more, each
// runs at the size that fits a test run, and with FAULTS=full at the size that
// the promise names. FAULTS_REPORT=FILE collects the figures, one JSON line each.
package faults

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"
)

// Fault is what is wrong with a proxy's way.
type Fault int

// The faults. What a fault does, it does to connections that are open already
// and to new ones.
const (
	Pass     Fault = iota // nothing is wrong
	Refuse                // nobody listens: dials are refused, open connections are closed
	Freeze                // connections are accepted and kept, and nothing passes either way; what came meanwhile passes afterwards
	Slow                  // what the server says takes Delay for each Slice bytes
	Reset                 // open connections are reset, new ones after their first bytes from the client
	Truncate              // Cut bytes of what the server says pass, then the connection ends in good order
	Garble                // what the server says passes with some bytes overwritten
)

// String is the fault in one word, for the names of tests.
func (f Fault) String() string {
	return [...]string{"pass", "refused", "frozen", "slow", "reset", "truncated", "garbled"}[f]
}

// Proxy stands between a client and a TCP server and does to their talk what a
// bad network does. Its exported fields count from the next Set on, and are not
// to be changed while Set runs.
type Proxy struct {
	Delay time.Duration // of Slow
	Slice int           // of Slow, in bytes
	Cut   int           // of Truncate, in bytes; negative: a random number below 2048 for each connection
	Seed  uint64        // of what is random: each connection draws from it and from its number

	target, address string

	mu       sync.Mutex
	weather  *weather
	listener net.Listener // nil: refusing
	links    map[*link]struct{}
	accepted uint64
	running  sync.WaitGroup
}

// weather is what holds between two calls of Set.
type weather struct {
	fault Fault
	delay time.Duration
	slice int
	cut   int
	over  chan struct{} // closed when it is
}

// Listen starts a proxy on loopback before the TCP server at target, which need
// not be there yet. Its port lies below those that outgoing connections are
// given: a client that dials a refusing proxy over and over could otherwise be
// connected to itself, and another process could take the port meanwhile.
func Listen(target string) (*Proxy, error) {
	p := &Proxy{
		Delay: 200 * time.Millisecond, Slice: 64, Cut: -1, Seed: 1,
		target: target, links: map[*link]struct{}{}, weather: &weather{over: make(chan struct{})},
	}
	var err error
	for range 100 {
		p.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(20_000)))
		if err = p.listen(); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no free port between 10000 and 30000: %w", err)
}

// Addr is where clients find the proxy, as host:port. It never changes.
func (p *Proxy) Addr() string { return p.address }

// Set replaces the fault; Set(Pass) lifts it. It panics if the port of a proxy
// that refused was taken by somebody else, as no test means anything then.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.weather.over)
	p.weather = &weather{fault: f, delay: p.Delay, slice: max(1, p.Slice), cut: p.Cut, over: make(chan struct{})}
	if f == Refuse {
		p.shut()
	} else if err := p.relisten(); err != nil {
		panic(err)
	}
	for l := range p.links {
		switch f {
		case Refuse:
			l.close()
		case Reset:
			l.reset()
		}
	}
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	p.Set(Refuse)
	p.running.Wait()
}

func (p *Proxy) listen() error {
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.listener = listener
	p.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(conn.(*net.TCPConn)) })
		}
	})
	return nil
}

func (p *Proxy) relisten() error {
	if p.listener != nil {
		return nil
	}
	err := p.listen()
	for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); err = p.listen() {
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func (p *Proxy) shut() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// serve carries one connection until both of its ways have ended.
func (p *Proxy) serve(client *net.TCPConn) {
	l := &link{proxy: p, client: client, closed: make(chan struct{})}
	if !p.enter(l) {
		l.close()
		return
	}
	defer p.leave(l)
	conn, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil {
		l.reset()
		return
	}
	l.join(conn.(*net.TCPConn))
	var ways sync.WaitGroup
	ways.Go(func() { l.carry(l.client, l.server, l.ask) })
	ways.Go(func() { l.carry(l.server, l.client, l.answer) })
	ways.Wait()
}

func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	l.dice = rand.New(rand.NewPCG(p.Seed, p.accepted))
	p.links[l] = struct{}{}
	return p.weather.fault != Refuse
}

func (p *Proxy) leave(l *link) {
	l.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) now() *weather {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather
}
