package health

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/tests/longtest"
)

func TestPartsAreUpAfterASuccessfulProbe(t *testing.T) {
	var database, cache error
	h := &Service{
		Database: func(context.Context) error { return database },
		Cache:    func(context.Context) error { return cache },
		Log:      slog.New(slog.DiscardHandler),
	}
	expect := func(when string, d, c float64) {
		t.Helper()
		if h.DatabaseUp() != d || h.CacheUp() != c {
			t.Errorf("%s: database %v, cache %v", when, h.DatabaseUp(), h.CacheUp())
		}
	}
	expect("before the first probe", 0, 0)
	h.Probe(t.Context())
	expect("both are there", 1, 1)
	cache = errors.New("gone")
	expect("not probed again", 1, 1)
	h.Probe(t.Context())
	expect("the cache is gone", 1, 0)
	database, cache = errors.New("gone"), nil
	h.Probe(t.Context())
	expect("the database is gone", 0, 1)
}

// upstreamAfter is an upstream of which so many calls have failed.
func upstreamAfter(t *testing.T, failures int) *pool.Upstream {
	t.Helper()
	u := pool.NewUpstream(catalog.Anthropic, unasked{}, []config.Secret{config.NewSecret("key")}, time.Now)
	fault := &providers.Refusal{Provider: catalog.Anthropic, Status: 502}
	for range failures {
		l, err := u.Lease(pool.Wish{Model: "model"})
		if err != nil {
			t.Fatal(err)
		}
		l.Answered(fault)
		l.End()
	}
	return u
}

func TestHealthReport(t *testing.T) {
	good := func(context.Context) error { return nil }
	bad := func(context.Context) error { return errors.New("down") }
	for _, tt := range []struct {
		name            string
		configured      bool
		database, cache Probe
		needs           bool
		failures        int
		want            string
		ready           bool
	}{
		{"all well", true, good, good, true, 0, pool.Healthy, true},
		{"no provider", false, good, good, false, 0, pool.Degraded, true},
		{"cache gone", true, good, bad, true, 0, pool.Degraded, true},
		{"database gone, not needed", true, bad, good, false, 0, pool.Degraded, false},
		{"database gone, needed", true, bad, good, true, 0, pool.Unhealthy, false},
		{"every configured provider down", true, good, good, false, circuitCalls, pool.Unhealthy, true},
		{"some failures", true, good, good, false, 1, pool.Degraded, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := pool.Set{}
			if tt.configured {
				set[catalog.Anthropic] = upstreamAfter(t, tt.failures)
			}
			h := &Service{Upstreams: func() pool.Set { return set }, Version: "v1", Started: time.Now().Add(-90 * time.Second), Database: tt.database, Cache: tt.cache,
				NeedsDatabase: tt.needs, Log: slog.New(slog.DiscardHandler)}
			if h.Ready() {
				t.Error("ready before the first probes")
			}
			ctx, cancel := context.WithCancel(t.Context())
			probed, ended := make(chan struct{}), make(chan struct{})
			go func() {
				h.Run(ctx, probed)
				close(ended)
			}()
			<-probed
			r := h.Report(t.Context())
			if r.Status != tt.want || r.Uptime != 90 || r.Version != "v1" || len(r.Providers) != 3 ||
				r.Providers[catalog.OpenAI] != pool.Unhealthy {
				t.Errorf("%+v", r)
			}
			if h.Ready() != tt.ready {
				t.Errorf("ready: %v", h.Ready())
			}
			h.Drain()
			if h.Ready() {
				t.Error("ready while draining")
			}
			cancel()
			<-ended
		})
	}
}

func TestHangingProbeDoesNotBlockTheReport(t *testing.T) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	h := &Service{
		Upstreams: func() pool.Set { return pool.Set{catalog.Anthropic: upstreamAfter(t, 0)} },
		Database:  hang,
		Cache:     hang,
		Log:       slog.New(slog.DiscardHandler),
	}
	began, late := time.Now(), longtest.Lateness(t)
	h.Probe(t.Context())
	if took := time.Since(began); took > 2*probeTimeout+late() {
		t.Errorf("probes took %s", took)
	}
	if r := h.Report(t.Context()); r.Database != pool.Unhealthy || r.Cache != pool.Unhealthy {
		t.Errorf("%+v", r)
	}
}

// unasked is a provider that no test asks.
type unasked struct{ providers.Provider }

func (unasked) Abilities() providers.Abilities { return providers.Abilities{} }
