package services

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The states of the service and of its parts.
const (
	Healthy   = "healthy"
	Degraded  = "degraded"
	Unhealthy = "unhealthy"
)

const (
	probeEvery   = 2 * time.Second
	probeTimeout = time.Second
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
}

// Probe says whether a part works. It obeys its context's deadline.
type Probe func(context.Context) error

// Health knows how the service and its parts are. What it says comes from live
// traffic and from probes in the background: asking it waits for nothing.
type Health struct {
	Chat     *Chat
	Version  string
	Started  time.Time
	Database Probe
	Cache    Probe
	Log      *slog.Logger
	// NeedsDatabase says that nobody can be served without the database.
	NeedsDatabase bool

	mu              sync.RWMutex
	database, cache string
	draining        bool
}

// Run probes until ctx ends. The first round is over when probed is closed.
func (h *Health) Run(ctx context.Context, probed chan<- struct{}) {
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

// Probe looks at the parts now, beside the regular rounds.
func (h *Health) Probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { h.set("database", &h.database, h.Database(ctx)) })
	both.Go(func() { h.set("cache", &h.cache, h.Cache(ctx)) })
	both.Wait()
}

// set keeps what a probe found, and logs when it is not what it was.
func (h *Health) set(part string, status *string, err error) {
	now := Healthy
	if err != nil {
		now = Unhealthy
	}
	h.mu.Lock()
	before := *status
	*status = now
	h.mu.Unlock()
	switch {
	case now == before:
	case err != nil:
		h.Log.Warn("part is unhealthy", "part", part, "error", err)
	case before != "":
		h.Log.Info("part is healthy again", "part", part)
	}
}

// Report is how the service is now.
func (h *Health) Report() Report {
	h.mu.RLock()
	defer h.mu.RUnlock()
	r := Report{
		Version: h.Version, Uptime: int64(time.Since(h.Started) / time.Second),
		Providers: h.Chat.Statuses(), Database: h.database, Cache: h.cache, Simulated: h.Chat.Simulated,
	}
	r.Status = h.overall(r)
	return r
}

// overall follows the rule: unhealthy when nobody can be served, degraded when
// a configured part is not healthy or there is no provider at all.
func (h *Health) overall(r Report) string {
	if h.NeedsDatabase && r.Database == Unhealthy {
		return Unhealthy
	}
	configured, down, weak := 0, 0, r.Database != Healthy || r.Cache != Healthy
	for name, status := range r.Providers {
		if !h.Chat.Configured(name) {
			continue
		}
		configured++
		if status == Unhealthy {
			down++
		}
		weak = weak || status != Healthy
	}
	switch {
	case configured > 0 && down == configured:
		return Unhealthy
	case configured == 0 || weak:
		return Degraded
	default:
		return Healthy
	}
}

// Drain says that the service is about to stop.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// Draining says whether the service is about to stop.
func (h *Health) Draining() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.draining
}

// Ready says whether new requests should be sent here: not before the first
// probes, not while draining, not without the database.
func (h *Health) Ready() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return !h.draining && h.database == Healthy
}

// DatabaseUp is 1 when the last probe found the database well, and 0 when it
// did not or there was none yet.
func (h *Health) DatabaseUp() float64 { return h.up(&h.database) }

// CacheUp is DatabaseUp for the cache.
func (h *Health) CacheUp() float64 { return h.up(&h.cache) }

func (h *Health) up(status *string) float64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if *status == Healthy {
		return 1
	}
	return 0
}
