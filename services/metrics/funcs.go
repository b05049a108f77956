package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// GaugeFunc adds a gauge that is read with each scrape. read must not block,
// not on a database either: metrics are needed most when that is down.
func (m *Metrics) GaugeFunc(name, help string, read func() float64) {
	if m == nil {
		return
	}
	checkName(name, false)
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, read))
}

// CounterFunc is GaugeFunc for a value that only grows. Its name ends in _total.
func (m *Metrics) CounterFunc(name, help string, read func() float64) {
	if m == nil {
		return
	}
	checkName(name, true)
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, read))
}

// GaugeVecFunc is GaugeFunc for several values. read returns them by the value
// of the label, which must come from a bounded set.
func (m *Metrics) GaugeVecFunc(name, help, label string, read func() map[string]float64) {
	if m == nil {
		return
	}
	checkName(name, false)
	m.registry.MustRegister(&gaugeVecFunc{prometheus.NewDesc(namespace+"_"+name, help, []string{label}, nil), read})
}

// checkName panics over a mistake in the program, as the registry does.
func checkName(name string, isCounter bool) {
	if strings.HasSuffix(name, "_total") != isCounter {
		panic("metrics: " + name + ": the names of counters, and only those, end in _total")
	}
}

// gaugeVecFunc is the collector that the library does not have: its GaugeFunc
// takes no labels.
type gaugeVecFunc struct {
	desc *prometheus.Desc
	read func() map[string]float64
}

// Describe implements prometheus.Collector.
func (g *gaugeVecFunc) Describe(out chan<- *prometheus.Desc) { out <- g.desc }

// Collect implements prometheus.Collector.
func (g *gaugeVecFunc) Collect(out chan<- prometheus.Metric) {
	for value, n := range g.read() {
		out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, n, labelValue(value))
	}
}
