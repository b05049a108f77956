package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gapBuckets are the upper bounds of the buckets of Gaps.
var gapBuckets = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
}

// Gaps are the waits between the pieces of one stream. A stream counts its own
// and hands them to Ended, because a shared histogram would cost more with each
// piece: docs/adr/0021 has the figures. The zero value has no gaps. Only one
// goroutine at a time may use it.
type Gaps struct {
	counts [len(gapBuckets) + 1]uint32 // the last one: longer than all bounds
	sum    time.Duration
}

// Add counts one wait.
func (g *Gaps) Add(wait time.Duration) {
	i := 0
	for i < len(gapBuckets) && wait > gapBuckets[i] {
		i++
	}
	g.counts[i]++
	g.sum += max(wait, 0)
}

// gapSum collects the gaps of a provider's streams that have ended, as a
// histogram in seconds.
type gapSum struct {
	desc   *prometheus.Desc
	mu     sync.Mutex
	counts [len(gapBuckets) + 1]uint64
	sum    time.Duration
}

func newGapSum(provider string) *gapSum {
	const help = "Waits for the next piece of a stream, after its first one."
	return &gapSum{desc: prometheus.NewDesc(namespace+"_stream_gap_seconds", help, nil, prometheus.Labels{"provider": provider})}
}

func (s *gapSum) add(g *Gaps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range g.counts {
		s.counts[i] += uint64(n)
	}
	s.sum += g.sum
}

// Describe implements prometheus.Collector.
func (s *gapSum) Describe(out chan<- *prometheus.Desc) { out <- s.desc }

// Collect implements prometheus.Collector.
func (s *gapSum) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cumulative, count := make(map[float64]uint64, len(gapBuckets)), uint64(0)
	for i, bound := range gapBuckets {
		count += s.counts[i]
		cumulative[bound.Seconds()] = count
	}
	count += s.counts[len(gapBuckets)]
	out <- prometheus.MustNewConstHistogram(s.desc, count, s.sum.Seconds(), cumulative)
}
