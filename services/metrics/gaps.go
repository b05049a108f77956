package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gapBounds are the upper bounds of what Gaps counts apart.
var gapBounds = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
}

// Gaps are the waits between the pieces of one stream, which are too many to be
// counted where all streams meet: the stream counts them for itself and hands
// them to Ended. The zero Gaps has none; it is used by one goroutine at a time.
type Gaps struct {
	counts [len(gapBounds) + 1]uint32 // the last: longer than all bounds
	sum    time.Duration
}

// Add counts one wait.
func (g *Gaps) Add(wait time.Duration) {
	i := 0
	for i < len(gapBounds) && wait > gapBounds[i] {
		i++
	}
	g.counts[i]++
	g.sum += max(wait, 0)
}

// gapSum are the gaps of all streams that have ended.
type gapSum struct {
	mu     sync.Mutex
	counts [len(gapBounds) + 1]uint64
	sum    time.Duration
}

func (s *gapSum) add(g *Gaps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range g.counts {
		s.counts[i] += uint64(n)
	}
	s.sum += g.sum
}

// histogram is how they stand, in seconds.
func (s *gapSum) histogram(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	upTo, all := make(map[float64]uint64, len(gapBounds)), uint64(0)
	for i, bound := range gapBounds {
		all += s.counts[i]
		upTo[bound.Seconds()] = all
	}
	all += s.counts[len(gapBounds)]
	return prometheus.MustNewConstHistogram(desc, all, s.sum.Seconds(), upTo, labels...)
}
