package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"modelgateway/services/health"
	"modelgateway/services/pool"
)

// watch looks at one gateway's health all the time.
type watch struct {
	gateway *gateway
	part    string
	needy   bool // it serves nobody without the part
	stop    chan struct{}
	done    sync.WaitGroup

	mu     sync.Mutex
	faults []string
	latest health.Report
	rested bool // a circuit was open
}

// follow begins to look at the health of the gateways.
func (w *world) follow() []*watch {
	var all []*watch
	for i, g := range w.gateways {
		h := &watch{gateway: g, part: w.name, needy: i < w.needy, stop: make(chan struct{})}
		h.done.Go(h.run)
		all = append(all, h)
	}
	return all
}

func (h *watch) run() {
	const pause = 50 * time.Millisecond
	for {
		h.look()
		select {
		case <-h.stop:
			return
		case <-time.After(pause):
		}
	}
}

// look holds an answer to what is true of it whatever fails.
func (h *watch) look() {
	const patience = 2 * time.Second // it waits for nothing, but for a processor
	began := time.Now()
	a, err := h.gateway.call(http.MethodGet, "/health", "")
	took := time.Since(began)
	var r health.Report
	if err == nil {
		err = json.Unmarshal([]byte(a.body), &r)
	}
	status := http.StatusOK
	if r.Status == pool.Unhealthy {
		status = http.StatusServiceUnavailable
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest = r
	h.rested = h.rested || r.Providers[h.part] == pool.Unhealthy
	switch {
	case err != nil:
		h.faults = append(h.faults, fmt.Sprintf("health: %v", err))
	case took > patience:
		h.faults = append(h.faults, fmt.Sprintf("health took %v", took))
	case a.status != status:
		h.faults = append(h.faults, fmt.Sprintf("health is %s with %d", r.Status, a.status))
	case r.Status == pool.Unhealthy && !h.needy:
		h.faults = append(h.faults, "health says that nobody can be served")
	}
}

// of is what a report says of the part.
func (h *watch) of(r health.Report) string {
	switch h.part {
	case "postgres":
		return r.Database
	case "redis":
		return r.Cache
	}
	return r.Providers[h.part]
}

func (h *watch) provider() bool { return slices.Contains(parts[:len(models)], h.part) }

// tells whether health says by now what it is expected to say.
func (h *watch) tells(e expectation) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	whole := e.whole
	if whole == pool.Unhealthy && !h.needy {
		whole = pool.Degraded
	}
	return e.says == nil || slices.Contains(e.says, h.of(h.latest)) && h.latest.Status == whole
}

// well says whether the part is as before. Of a provider health remembers
// failures for a minute; a database or a cache is there or not.
func (h *watch) well() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.of(h.latest)
	return now == pool.Healthy || now == pool.Degraded && h.provider()
}

// opened says whether a circuit was open while it was looked.
func (h *watch) opened() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rested
}

func (h *watch) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("the whole %q, the part %q", h.latest.Status, h.of(h.latest))
}

// end stops looking, and says what was wrong, once for each thing.
func (h *watch) end() []string {
	close(h.stop)
	h.done.Wait()
	slices.Sort(h.faults)
	return slices.Compact(h.faults)
}
