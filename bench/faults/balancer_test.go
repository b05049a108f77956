package faults

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// balancer is as simple as one can be: it asks every replica now and then
// whether it is ready, and gives new calls to those in turn. It never gives a
// call to a second replica, so that a call a replica loses is lost.
type balancer struct {
	url      string
	replicas []*replica
	turn     atomic.Uint64
	proxy    httputil.ReverseProxy

	// again counts calls that took more than one connection: the HTTP client
	// sends once more what met a connection that was just being closed.
	again atomic.Int64

	mu    sync.Mutex
	notes []string // the first errors of the way to the replicas
}

// replica is one address, behind which gateways come and go.
type replica struct {
	url    *url.URL
	ready  atomic.Bool
	live   atomic.Int64 // calls that run
	served atomic.Int64 // calls that have begun
}

// startBalancer balances over these addresses until the test ends.
func startBalancer(t testing.TB, addresses ...string) *balancer {
	t.Helper()
	b := &balancer{}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	for _, address := range addresses {
		r := &replica{url: &url.URL{Scheme: "http", Host: address}}
		b.replicas = append(b.replicas, r)
		watching.Go(func() { b.watch(ctx, r) })
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	b.proxy = httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target(r.In.Context()).url) },
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(resp *http.Response) error {
			resp.Body = &noticed{resp.Body, func(err error) {
				r := resp.Request
				b.note("%s: %s: reading: %v (%v)", r.Header.Get("X-Request-Id"), target(r.Context()).url.Host, err, context.Cause(r.Context()))
			}}
			return nil
		},
		ErrorLog:      log.New(io.Discard, "", 0), // what it says is counted by the clients
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			b.note("%s: %s: %v", r.Header.Get("X-Request-Id"), target(r.Context()).url.Host, err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	server := httptest.NewServer(b)
	b.url = server.URL
	t.Cleanup(func() {
		server.Close()
		cancel()
		watching.Wait()
		transport.CloseIdleConnections()
	})
	return b
}

// watch takes a replica out as soon as it says no or refuses, and puts it in as
// soon as it says yes. Silence alone, of a machine that is busy, is neither.
func (b *balancer) watch(ctx context.Context, r *replica) {
	transport := &http.Transport{DisableKeepAlives: true} // a closed door shows
	client := &http.Client{Timeout: 2 * time.Second, Transport: transport}
	for ctx.Err() == nil {
		resp, err := client.Get(r.url.String() + "/readyz")
		switch {
		case err == nil:
			r.ready.Store(resp.StatusCode == http.StatusOK)
			_ = resp.Body.Close() // only the status counts
		case os.IsTimeout(err):
			b.note("%s: %v", r.url.Host, err)
		default:
			r.ready.Store(false)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// noticed is a body whose cut is told.
type noticed struct {
	io.ReadCloser
	tell func(error)
}

func (n *noticed) Read(p []byte) (int, error) {
	read, err := n.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		n.tell(err)
	}
	return read, err
}

type targetKey struct{}

// target is the replica that a call has been given to.
func target(ctx context.Context) *replica {
	r, _ := ctx.Value(targetKey{}).(*replica)
	return r
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	chosen := b.choose()
	if chosen == nil {
		b.note("%s: no replica was ready", r.Header.Get("X-Request-Id"))
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	chosen.live.Add(1)
	defer chosen.live.Add(-1)
	chosen.served.Add(1)
	var connections atomic.Int64
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if connections.Add(1) == 2 {
			b.again.Add(1)
		}
	}})
	b.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, targetKey{}, chosen)))
}

func (b *balancer) choose() *replica {
	for range b.replicas {
		r := b.replicas[b.turn.Add(1)%uint64(len(b.replicas))]
		if r.ready.Load() {
			return r
		}
	}
	return nil
}

func (b *balancer) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const enough = 10
	if len(b.notes) < enough {
		b.notes = append(b.notes, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}
