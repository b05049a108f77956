package faults

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/servertest"
)

// environment is a part behind a proxy, the gateways that use it, and their
// probes.
type environment struct {
	name      string // of the part
	proxy     *Proxy
	gateways  []*gateway
	needsPart int // how many of the gateways, the first ones, serve no request without the part
	probes    []*probe
	limited   *limited // nil: the gateway has no limit
}

// backends are the servers that all environments use.
type backends struct {
	upstream        *upstream
	postgres, redis string // their URLs
	token, keyID    string // of a user who is kept in PostgreSQL
	key             string
}

const (
	keeperMail = "keeper@example.com"
	// The limit that is tried is not to be met by the load, which shares it.
	limitPerMinute = 300
	loadKeys       = 64
)

func newBackends(t *testing.T) *backends {
	t.Helper()
	b := &backends{upstream: startUpstream(t), postgres: servertest.StartPostgres(t).URL, redis: servertest.Redis(t)}
	g := startGateway(t, append(b.settings(), append(authSettings(), "DATABASE_URL="+b.postgres)...)...)
	b.token = g.account(t, keeperMail)
	b.keyID, b.key = g.newKey(t, b.token)
	if err := g.terminate(); err != nil {
		t.Fatal(err)
	}
	return b
}

// settings are those of every gateway of the matrix.
func (b *backends) settings() []string {
	return providersAt(b.upstream, "UPSTREAM_TIMEOUT_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=2", "STREAM_FIRST_TOKEN_TIMEOUT_SECONDS=2",
		"SHUTDOWN_GRACE_SECONDS=5")
}

// through is a URL with the proxy in place of its server.
func through(t testing.TB, address string, p *Proxy) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.Addr()
	return u.String()
}

// proxyFor makes the proxy of the part. Slow is slower than usual, and fast
// enough for the timeouts of the part; for Redis it is slower than a call
// waits.
func (b *backends) proxyFor(t *testing.T, part string) *Proxy {
	t.Helper()
	address, delay, slice := b.upstream.url, 50*time.Millisecond, 256
	switch part {
	case "postgres":
		address, delay, slice = b.postgres, 25*time.Millisecond, 128
	case "redis":
		address, delay, slice = b.redis, 200*time.Millisecond, 64
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := proxyTo(t, u.Host)
	p.Delay, p.Slice = delay, slice
	return p
}

func anonymous() []string { return nil }

// build starts the gateways of an environment, with the present fault of the
// proxy.
func (b *backends) build(t *testing.T, part string, p *Proxy) *environment {
	t.Helper()
	switch part {
	case "postgres":
		return b.withPostgres(t, p)
	case "redis":
		return b.withRedis(t, p)
	}
	return b.withProvider(t, part, p)
}

func (b *backends) withProvider(t *testing.T, part string, p *Proxy) *environment {
	t.Helper()
	setting := strings.ToUpper(part) + "_BASE_URL=" + through(t, b.upstream.url, p)
	g := startGateway(t, append(b.settings(), setting)...)
	w := &environment{name: part, proxy: p, gateways: []*gateway{g}}
	for i, model := range models {
		answer, stream := chatProbe(t.Context(), g, model, false, anonymous), chatProbe(t.Context(), g, model, true, anonymous)
		if parts[i] == part {
			answer.fails, stream.fails = "provider_error", "provider_error"
		}
		w.probes = append(w.probes, answer, stream)
	}
	return w
}

func (b *backends) withPostgres(t *testing.T, p *Proxy) *environment {
	t.Helper()
	settings := append(b.settings(), "DATABASE_URL="+through(t, b.postgres, p))
	open := launchGateway(t, append(slices.Clone(settings), "PORT="+fixedPort(t))...) // while the other starts
	strict := startGateway(t, append(settings, authSettings()...)...)
	within(t, startsWithin, "the second gateway listens", func() bool { return open.status("/livez") == http.StatusOK })
	key := func() []string { return []string{"X-API-Key", b.key} }
	token := func() []string { return []string{"Authorization", b.token} }
	w := &environment{name: "postgres", proxy: p, gateways: []*gateway{strict, open}, needsPart: 1, probes: []*probe{
		chatProbe(t.Context(), strict, models[0], false, key), chatProbe(t.Context(), strict, models[1], true, key),
		chatProbe(t.Context(), strict, models[2], false, token),
	}}
	for _, e := range w.probes {
		e.name, e.fails = e.name+" for a known caller", "service_unavailable"
	}
	login := visit(strict, "a login", http.MethodPost, "/auth/login", credentials(keeperMail), `"token":"`)
	login.once = true
	w.probes = append(w.probes, login,
		visit(strict, "the list of keys", http.MethodGet, "/auth/keys", "", b.keyID, token()...),
		chatProbe(t.Context(), open, models[0], false, anonymous), chatProbe(t.Context(), open, models[1], true, anonymous),
		chatProbe(t.Context(), open, models[2], false, key))
	return w
}

func (b *backends) withRedis(t *testing.T, p *Proxy) *environment {
	t.Helper()
	g := startGateway(
		t,
		append(append(b.settings(), authSettings()...), "REDIS_URL="+through(t, b.redis, p), "RATE_LIMIT_RPM="+strconv.Itoa(limitPerMinute))...)
	w := &environment{name: "redis", proxy: p, gateways: []*gateway{g}}
	token := g.account(t, keeperMail)
	w.limited = &limited{g, token}
	var keys []string
	for range loadKeys {
		_, key := g.newKey(t, token)
		keys = append(keys, key)
	}
	var turn atomic.Int64
	next := func() []string { return []string{"X-API-Key", keys[turn.Add(1)%loadKeys]} }
	for _, model := range models {
		w.probes = append(w.probes, chatProbe(t.Context(), g, model, false, next), chatProbe(t.Context(), g, model, true, next))
	}
	return w
}

// limited is a gateway with a limit of limitPerMinute.
type limited struct {
	*gateway
	token string
}

// try makes a key, uses it up and revokes it, and says what was wrong with that.
func (l *limited) try(t *testing.T, e expectation) string {
	t.Helper()
	id, key := l.newKey(t, l.token)
	most := int64(float64(limitPerMinute) * e.limit)
	var passed, anyStatus atomic.Int64
	turns := make(chan struct{}, most+20)
	for range cap(turns) {
		turns <- struct{}{}
	}
	close(turns)
	var crowd sync.WaitGroup
	for range 8 {
		crowd.Go(func() {
			for range turns {
				switch a, err := l.call(http.MethodGet, "/v1/models/gpt-4", "", "X-API-Key", key); {
				case err == nil && a.status == http.StatusOK:
					passed.Add(1)
				case err != nil || a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "":
					anyStatus.Add(1)
				}
			}
		})
	}
	crowd.Wait()
	least := int64(limitPerMinute)
	if e.garbled { // a number may have become another
		least = 1
	}
	revoked := l.mustCall(t, http.StatusOK, http.MethodDelete, "/auth/keys/"+id, "", "Authorization", l.token)
	a, err := l.call(http.MethodGet, "/v1/models/gpt-4", "", "X-API-Key", key)
	switch {
	case passed.Load() < least || passed.Load() > most || anyStatus.Load() > 0:
		return fmt.Sprintf("%d calls passed a limit of %d, and %d were answered with neither 200 nor 429", passed.Load(),
			limitPerMinute, anyStatus.Load())
	case err != nil || a.status != http.StatusUnauthorized:
		return fmt.Sprintf("a key that was revoked (%d): %d %v", revoked.status, a.status, err)
	}
	return ""
}
