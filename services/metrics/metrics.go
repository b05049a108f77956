// Package metrics counts what the gateway does, for Prometheus. The values of
// all labels come from the gateway's own tables and never from a request, so
// that the number of series is bounded by the routes, models and statuses.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"modelgateway/catalog"
)

const namespace = "modelgateway"

// Metrics are the metrics of one gateway. The methods of a nil *Metrics do
// nothing.
type Metrics struct {
	registry *prometheus.Registry

	inFlight prometheus.Gauge
	requests *prometheus.CounterVec   // route, status
	duration *prometheus.HistogramVec // route

	models *vectors // everything by provider and model

	retries   *prometheus.CounterVec // provider
	hedges    *prometheus.CounterVec // provider
	fallbacks *prometheus.CounterVec // model, served
	refusals  *prometheus.CounterVec // limit
}

// New makes metrics with a registry of their own.
func New() *Metrics {
	registry := prometheus.NewRegistry()
	m := &Metrics{
		registry: registry,
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "http_requests_in_flight", Help: "HTTP requests that are being answered now.",
		}),
		requests: counter("http_requests_total", "HTTP requests answered, by route and status.", "route", "status"),
		duration: histogram("http_request_duration_seconds", "Time from the header of a request to the end of its answer.",
			waitBuckets, "route"),
		models: newVectors(registry),

		retries: counter("upstream_retries_total", "Calls to providers that were repeated after a failure.", "provider"),
		hedges: counter("upstream_hedges_total",
			"Second calls that were made because the first one was slow, by the provider of the first one.", "provider"),
		fallbacks: counter("fallbacks_total", "Requests that a fallback model answered, by the requested model and the one that answered.",
			"model", "served"),
		refusals: counter("limit_refusals_total",
			"Requests that were refused by a limit of their key, its user, its team or the gateway.", "limit"),
	}
	// Series begin at 0: Prometheus would not see an increase in one that begins at 1.
	for _, limit := range Limits() {
		m.refusals.WithLabelValues(limit)
	}
	for _, provider := range catalog.Providers() {
		m.Provider(provider)
	}
	registry.MustRegister(m.inFlight, m.requests, m.duration, m.retries, m.hedges, m.fallbacks, m.refusals,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Provider begins the series of a provider.
func (m *Metrics) Provider(name string) {
	m.retries.WithLabelValues(name)
	m.hedges.WithLabelValues(name)
}

// waitBuckets are bounds in seconds for times from a millisecond to minutes.
var waitBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// Handler answers with all metrics in Prometheus' format. A metric that cannot
// be read is left out; the others are answered.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Begin counts a request as in flight, until Done.
func (m *Metrics) Begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// Done counts an answered request. route is the router's pattern.
func (m *Metrics) Done(route string, status int, took time.Duration) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	m.requests.WithLabelValues(route, statusText(status)).Inc()
	m.duration.WithLabelValues(route).Observe(took.Seconds())
}

// statusText formats a status. The most frequent ones need no allocation.
func statusText(status int) string {
	switch status {
	case http.StatusOK:
		return "200"
	case http.StatusUnauthorized:
		return "401"
	case http.StatusTooManyRequests:
		return "429"
	default:
		return strconv.Itoa(status)
	}
}

// Retried counts a call to a provider that is repeated.
func (m *Metrics) Retried(provider string) {
	if m != nil {
		m.retries.WithLabelValues(provider).Inc()
	}
}

// Hedged counts a second call that is made beside a slow first one.
func (m *Metrics) Hedged(provider string) {
	if m != nil {
		m.hedges.WithLabelValues(provider).Inc()
	}
}

// FellBack counts a request that the fallback model served answered. It does
// nothing when served is empty.
func (m *Metrics) FellBack(model, served string) {
	if m != nil && served != "" {
		m.fallbacks.WithLabelValues(model, served).Inc()
	}
}

// Fallback is a model that was requested and the one that answered instead.
type Fallback struct{ Model, Served string }

// Fallbacks is how often each has answered.
func (m *Metrics) Fallbacks() map[Fallback]int64 {
	if m == nil {
		return nil
	}
	series := make(chan prometheus.Metric)
	go func() {
		defer close(series)
		m.fallbacks.Collect(series)
	}()
	all := map[Fallback]int64{}
	for s := range series {
		var read dto.Metric
		if s.Write(&read) != nil {
			continue
		}
		labels := map[string]string{}
		for _, l := range read.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		all[Fallback{labels["model"], labels["served"]}] = int64(read.GetCounter().GetValue())
	}
	return all
}

// The limits that refuse requests.
const (
	LimitRequests      = "requests" // a minute
	LimitTokens        = "tokens"   // a minute
	LimitParallel      = "parallel" // calls in flight
	LimitBudget        = "budget"   // of the key, its user or its team
	LimitGatewayBudget = "gateway_budget"
	LimitSessionBudget = "session_budget"
	LimitModel         = "model" // the key, its user or its team does not allow the model
)

// Limits lists them.
func Limits() []string {
	return []string{LimitRequests, LimitTokens, LimitParallel, LimitBudget, LimitGatewayBudget, LimitSessionBudget, LimitModel}
}

// Limited counts a request that was refused by limit, one of the constants.
func (m *Metrics) Limited(limit string) {
	if m != nil {
		m.refusals.WithLabelValues(limit).Inc()
	}
}
