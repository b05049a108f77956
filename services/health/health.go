// Package health reports the state of the service and of its parts.
package health

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"modelgateway/models"
	"modelgateway/services/pool"
)

const (
	probeEvery   = 2 * time.Second
	probeTimeout = time.Second

	maxAge  = 250 * time.Millisecond // of a probe that a report uses
	maxWait = 300 * time.Millisecond // of a report for a younger one
)

// Report is the answer of GET /health.
type Report struct {
	Status    string            `json:"status"`
	Version   string            `json:"version"`
	Uptime    int64             `json:"uptime"` // seconds
	Providers map[string]string `json:"providers"`
	Database  string            `json:"database"`
	Cache     string            `json:"cache"`
	Simulated bool              `json:"simulated,omitzero"` // the providers are simulators
	Reload    *Reload           `json:"reload,omitempty"`   // nil before the files were read again
}

// Reload is the last time that the models file and the keys were read again.
type Reload struct {
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty"` // why they were refused
}

// Probe says whether a part works. It obeys its context's deadline.
type Probe func(context.Context) error

// Service reports the state from recent calls and from background probes, so that
// a report never blocks.
type Service struct {
	Upstreams func() pool.Set
	Simulated bool // the upstreams are simulators
	Version   string
	Started   time.Time
	Database  Probe
	Cache     Probe
	Log       *slog.Logger
	// NeedsDatabase says that no request can be served without the database.
	NeedsDatabase bool

	mu              sync.RWMutex
	database, cache string
	draining        bool
	reload          *Reload
	probed          time.Time // the last probe

	refreshing singleflight.Group
}

// Run probes until ctx ends. The first round is over when probed is closed.
func (h *Service) Run(ctx context.Context, probed chan<- struct{}) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	h.Probe(ctx)
	close(probed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.Probe(ctx)
		}
	}
}

// Probe probes the parts now, in addition to the regular probes.
func (h *Service) Probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { h.set("database", &h.database, h.Database(ctx)) })
	both.Go(func() { h.set("cache", &h.cache, h.Cache(ctx)) })
	both.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probed = time.Now()
}

// refresh probes the parts unless that has just been done. It waits for a short
// time only: a probe that takes longer counts in the next report.
func (h *Service) refresh(ctx context.Context) {
	h.mu.RLock()
	young := time.Since(h.probed) < maxAge
	h.mu.RUnlock()
	if young {
		return
	}
	done := h.refreshing.DoChan("", func() (any, error) {
		h.Probe(context.WithoutCancel(ctx))
		return nil, nil
	})
	select {
	case <-done:
	case <-time.After(maxWait):
	}
}

// set stores the result of a probe, and logs a change.
func (h *Service) set(part string, status *string, err error) {
	now := pool.Healthy
	if err != nil {
		now = pool.Unhealthy
	}
	h.mu.Lock()
	before := *status
	*status = now
	h.mu.Unlock()
	switch {
	case now == before:
	case errors.Is(err, models.ErrNotMigrated): // each attempt is logged
	case err != nil:
		h.Log.Warn("the database or Redis does not answer", "part", part, "error", err)
	case before != "":
		h.Log.Info("the database or Redis answers again", "part", part)
	}
}

// Report is the present state.
func (h *Service) Report(ctx context.Context) Report {
	h.refresh(ctx)
	h.mu.RLock()
	defer h.mu.RUnlock()
	r := Report{
		Version: h.Version, Uptime: int64(time.Since(h.Started) / time.Second),
		Providers: h.Upstreams().Statuses(), Database: h.database, Cache: h.cache, Simulated: h.Simulated,
		Reload: h.reload,
	}
	r.Status = h.overall(r)
	return r
}

// overall is unhealthy when no request can be served, degraded when
// a configured part is not healthy or there is no provider at all.
func (h *Service) overall(r Report) string {
	if h.NeedsDatabase && r.Database == pool.Unhealthy {
		return pool.Unhealthy
	}
	configured, down, weak := 0, 0, r.Database != pool.Healthy || r.Cache != pool.Healthy || r.Reload != nil && r.Reload.Error != ""
	upstreams := h.Upstreams()
	for name, status := range r.Providers {
		if !upstreams.Configured(name) {
			continue
		}
		configured++
		if status == pool.Unhealthy {
			down++
		}
		weak = weak || status != pool.Healthy
	}
	switch {
	case configured > 0 && down == configured:
		return pool.Unhealthy
	case configured == 0 || weak:
		return pool.Degraded
	default:
		return pool.Healthy
	}
}

// Reloaded says that the models file and the keys were read again just now, and why they
// were refused.
func (h *Service) Reloaded(refused error) {
	last := &Reload{At: time.Now().UTC()}
	if refused != nil {
		last.Error = refused.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reload = last
}

// Drain says that the service is about to stop.
func (h *Service) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// Draining says whether the service is about to stop.
func (h *Service) Draining() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.draining
}

// Ready says whether new requests should be sent here: not before the first
// probes, not while draining, not without the database.
func (h *Service) Ready() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return !h.draining && h.database == pool.Healthy
}

// DatabaseUp is 1 after a successful probe of the database, and 0 after a failed one
// or before the first.
func (h *Service) DatabaseUp() float64 { return h.up(&h.database) }

// CacheUp is DatabaseUp for the cache.
func (h *Service) CacheUp() float64 { return h.up(&h.cache) }

func (h *Service) up(status *string) float64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if *status == pool.Healthy {
		return 1
	}
	return 0
}
