package faults

import (
	"bytes"
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

// balancer is a simple load balancer: it checks regularly whether each replica
// is ready, and distributes new calls over the ready ones. It never repeats a
// call on a second replica, so that a call that a replica loses is lost.
type balancer struct {
	url      string
	replicas []*replica
	turn     atomic.Uint64
	proxy    httputil.ReverseProxy

	// retried counts calls that took more than one connection: the HTTP client
	// sends once more what met a connection that was just being closed.
	retried atomic.Int64

	mu    sync.Mutex
	notes []string // the first errors of the way to the replicas, and what came of them
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
		ErrorLog:      log.New(io.Discard, "", 0), // the clients count its errors
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

// watch removes a replica as soon as it is not ready or refuses connections,
// and adds it as soon as it is ready. A missing answer, as of a loaded machine,
// changes nothing.
func (b *balancer) watch(ctx context.Context, r *replica) {
	transport := &http.Transport{DisableKeepAlives: true} // so that a closed listener is noticed
	client := &http.Client{Timeout: 2 * time.Second, Transport: transport}
	for ctx.Err() == nil {
		resp, err := client.Get(r.url.String() + "/readyz")
		switch {
		case err == nil:
			_ = resp.Body.Close() // only the status counts
			b.setReady(r, resp.StatusCode == http.StatusOK, resp.Status)
		case !os.IsTimeout(err):
			b.setReady(r, false, err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (b *balancer) setReady(r *replica, ready bool, failureLog string) {
	if r.ready.Swap(ready) != ready {
		b.note("%s: ready: %t: %s", r.url.Host, ready, failureLog)
	}
}

type targetKey struct{}

// target is the replica that a call has been given to.
func target(ctx context.Context) *replica {
	r, _ := ctx.Value(targetKey{}).(*replica)
	return r
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A body that is still being read when the answer begins can cut the answer:
	// the server closes it while the transport reads it.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
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
			b.retried.Add(1)
		}
	}})
	b.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, targetKey{}, chosen)))
}

func (b *balancer) choose() *replica {
	turn := b.turn.Add(1)
	for i := range b.replicas {
		r := b.replicas[(turn+uint64(i))%uint64(len(b.replicas))]
		if r.ready.Load() {
			return r
		}
	}
	return nil
}

func (b *balancer) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const enough = 200
	if len(b.notes) < enough {
		b.notes = append(b.notes, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}
