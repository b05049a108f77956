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

// watch checks one gateway's health all the time.
type watch struct {
	gateway   *gateway
	part      string
	needsPart bool // it serves no request without the part
	stop      chan struct{}
	done      sync.WaitGroup

	mu     sync.Mutex
	faults []string
	latest health.Report
	rested bool // a circuit was open
}

// follow starts to watch the health of the gateways.
func (w *environment) follow() []*watch {
	var all []*watch
	for i, g := range w.gateways {
		h := &watch{gateway: g, part: w.name, needsPart: i < w.needsPart, stop: make(chan struct{})}
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

// look checks what has to be true of every health answer.
func (h *watch) look() {
	const patience = 2 * time.Second // it waits for nothing except a processor
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
	case r.Status == pool.Unhealthy && !h.needsPart:
		h.faults = append(h.faults, "health says that no request can be served")
	}
}

// of is the state of the part in a report.
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

// reports says whether health has the expected state by now.
func (h *watch) reports(e expectation) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	whole := e.whole
	if whole == pool.Unhealthy && !h.needsPart {
		whole = pool.Degraded
	}
	return e.says == nil || slices.Contains(e.says, h.of(h.latest)) && h.latest.Status == whole
}

// well reports whether the part is as before. Of a provider health counts the
// failures of the last minute; a database or a cache is up or down.
func (h *watch) well() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.of(h.latest)
	return now == pool.Healthy || now == pool.Degraded && h.provider()
}

// opened reports whether a circuit was open meanwhile.
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

// end stops watching, and returns each fault once.
func (h *watch) end() []string {
	close(h.stop)
	h.done.Wait()
	slices.Sort(h.faults)
	return slices.Compact(h.faults)
}
