package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Watch adds a figure that is read whenever somebody looks. read waits for
// nothing, not for a database either: who looks wants to see that it is gone.
func (m *Metrics) Watch(name, help string, read func() float64) {
	m.watch(figure{prometheus.GaugeValue, name, help, ""}, alone(read))
}

// WatchCounter is Watch for a figure that only grows. Its name ends in _total.
func (m *Metrics) WatchCounter(name, help string, read func() float64) {
	m.watch(figure{prometheus.CounterValue, name, help, ""}, alone(read))
}

// WatchEach is Watch for a figure that there is of several things: read gives
// it by the value of label, which is one of the gateway's own names.
func (m *Metrics) WatchEach(name, help, label string, read func() map[string]float64) {
	m.watch(figure{prometheus.GaugeValue, name, help, label}, read)
}

// WatchEachCounter is WatchEach for a figure that only grows. Its name ends in
// _total.
func (m *Metrics) WatchEachCounter(name, help, label string, read func() map[string]float64) {
	m.watch(figure{prometheus.CounterValue, name, help, label}, read)
}

// figure says what a watched figure is.
type figure struct {
	kind       prometheus.ValueType
	name, help string
	label      string // empty = there is one of it
}

func alone(read func() float64) func() map[string]float64 {
	return func() map[string]float64 { return map[string]float64{"": read()} }
}

// watch panics, as the registry does, over what is a mistake in the program.
func (m *Metrics) watch(f figure, read func() map[string]float64) {
	if m == nil {
		return
	}
	if counts := f.kind == prometheus.CounterValue; counts != strings.HasSuffix(f.name, "_total") {
		panic("metrics: the name " + f.name + " says that it counts, or it does and the name does not")
	}
	var labels []string
	if f.label != "" {
		labels = []string{f.label}
	}
	m.registry.MustRegister(&watched{f, prometheus.NewDesc(space+"_"+f.name, f.help, labels, nil), read})
}

// watched is the collector of a figure.
type watched struct {
	figure
	desc *prometheus.Desc
	read func() map[string]float64
}

// Describe implements prometheus.Collector.
func (w *watched) Describe(out chan<- *prometheus.Desc) { out <- w.desc }

// Collect implements prometheus.Collector.
func (w *watched) Collect(out chan<- prometheus.Metric) {
	for value, n := range w.read() {
		if w.label == "" {
			out <- prometheus.MustNewConstMetric(w.desc, w.kind, n)
			continue
		}
		out <- prometheus.MustNewConstMetric(w.desc, w.kind, n, label(value))
	}
}
