// Package faults tests the built program under faults: upstreams, databases and
// clients that disappear, stall or send garbage, restarts, crashes and
// overload. It has tests only. By default they run at a size that fits a test
// run, and with FAULTS=full at the size of docs/reliability.md.
// FAULTS_REPORT=FILE collects the figures, one JSON line each.
package faults

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"
)

// Fault is the fault of a proxy.
type Fault int

// The faults. They affect open connections and new ones.
const (
	Pass     Fault = iota // nothing is wrong
	Refuse                // connections are refused, open ones are closed
	Freeze                // connections are accepted and kept, and no byte passes; it passes after the fault
	Slow                  // the server's bytes take Delay for each Slice bytes
	Reset                 // open connections are reset, new ones after their first bytes from the client
	Truncate              // Cut bytes of the server pass, then the connection ends with a FIN
	Garble                // the server's bytes pass with some of them overwritten
)

// String is the fault in one word, for the names of tests.
func (f Fault) String() string {
	return [...]string{"pass", "refused", "frozen", "slow", "reset", "truncated", "garbled"}[f]
}

// Proxy is a TCP proxy that simulates the faults of a network. Its exported
// fields take effect with the next Set, and must not be changed while Set runs.
type Proxy struct {
	Delay time.Duration // of Slow
	Slice int           // of Slow, in bytes
	Cut   int           // of Truncate, in bytes; negative: a random number below 2048 for each connection
	Seed  uint64        // of what is random: each connection draws from it and from its number

	target, address string

	mu         sync.Mutex
	faultState *faultState
	listener   net.Listener // nil: refusing
	links      map[*link]struct{}
	accepted   uint64
	running    sync.WaitGroup
}

// faultState is the state between two calls of Set.
type faultState struct {
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
		target: target, links: map[*link]struct{}{}, faultState: &faultState{over: make(chan struct{})},
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

// Set replaces the fault; Set(Pass) ends it. It panics if another process has
// taken the port of a refusing proxy, as the test means nothing then.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.faultState.over)
	p.faultState = &faultState{fault: f, delay: p.Delay, slice: max(1, p.Slice), cut: p.Cut, over: make(chan struct{})}
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

// serve forwards one connection until both directions have ended.
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
	ways.Go(func() { l.forward(l.client, l.server, l.fromClient) })
	ways.Go(func() { l.forward(l.server, l.client, l.fromServer) })
	ways.Wait()
}

func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	l.random = rand.New(rand.NewPCG(p.Seed, p.accepted))
	p.links[l] = struct{}{}
	return p.faultState.fault != Refuse
}

func (p *Proxy) leave(l *link) {
	l.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) now() *faultState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faultState
}
