// Package metrics counts what the gateway does, for Prometheus. The values of
// every label come from the gateway's own tables, never from a request, so that
// nobody can make it remember more than there are routes, models and statuses.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"modelgateway/models/api"
)

const space = "modelgateway"

// Metrics are the gateway's. The methods of a nil *Metrics count nothing.
type Metrics struct {
	registry *prometheus.Registry

	inFlight prometheus.Gauge
	requests *prometheus.CounterVec   // route, status
	duration *prometheus.HistogramVec // route

	calls  *prometheus.CounterVec   // provider, model, outcome
	waited *prometheus.HistogramVec // provider
	tokens *prometheus.CounterVec   // provider, model, type

	retries   *prometheus.CounterVec // provider
	hedges    *prometheus.CounterVec // provider
	fallbacks *prometheus.CounterVec // model, served
}

// New makes metrics with a registry of their own.
func New() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: space, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: space, Name: name, Help: help,
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600},
		}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: space, Name: "http_requests_in_flight", Help: "Requests being answered now."}),
		requests: counter("http_requests_total", "Requests answered, by route and status.", "route", "status"),
		duration: histogram("http_request_duration_seconds", "Time from a request's header to the end of its answer.", "route"),
		calls:    counter("upstream_calls_total", "Calls of providers, by how they went.", "provider", "model", "outcome"),
		waited:   histogram("upstream_wait_seconds", "Time to a provider's whole answer, or to the first event of its stream.", "provider"),
		tokens:   counter("tokens_total", "Tokens as the providers counted them.", "provider", "model", "type"),

		retries:   counter("upstream_retries_total", "Calls of providers that were made again after a failure.", "provider"),
		hedges:    counter("upstream_hedges_total", "Second calls made because the first took long, by the provider of the first.", "provider"),
		fallbacks: counter("fallbacks_total", "Requests that another model answered, by the model asked and the one that answered.", "model", "served"),
	}
	m.registry.MustRegister(m.inFlight, m.requests, m.duration, m.calls, m.waited, m.tokens, m.retries, m.hedges, m.fallbacks,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers with all of them in Prometheus' format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Watch adds a figure that is read whenever somebody looks.
func (m *Metrics) Watch(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: space, Name: name, Help: help}, read))
}

// Begin counts a request in, until Done.
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

// statusText is the number of a status; the few that most answers have are not
// made anew.
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

// The outcomes of a call of a provider.
const (
	OK       = "ok"       // a whole answer, or the beginning of a stream
	Failed   = "failed"   // speaks against the provider
	Refused  = "refused"  // speaks against the request, or names a limit
	Canceled = "canceled" // the client left first
)

// Called counts a call of a provider, and how long it was waited for.
func (m *Metrics) Called(provider, model, outcome string, waited time.Duration) {
	if m == nil {
		return
	}
	m.calls.WithLabelValues(provider, model, outcome).Inc()
	m.waited.WithLabelValues(provider).Observe(waited.Seconds())
}

// Used counts the tokens of an answer; nil is unknown, and counts nothing.
func (m *Metrics) Used(provider, model string, usage *api.Usage) {
	if m == nil || usage == nil {
		return
	}
	m.tokens.WithLabelValues(provider, model, "input").Add(float64(max(usage.PromptTokens, 0)))
	m.tokens.WithLabelValues(provider, model, "output").Add(float64(max(usage.CompletionTokens, 0)))
}

// Retried counts a call that is made again.
func (m *Metrics) Retried(provider string) {
	if m != nil {
		m.retries.WithLabelValues(provider).Inc()
	}
}

// Hedged counts a second call beside a slow first.
func (m *Metrics) Hedged(provider string) {
	if m != nil {
		m.hedges.WithLabelValues(provider).Inc()
	}
}

// FellBack counts a request that another model answered, if one did.
func (m *Metrics) FellBack(model, served string) {
	if m != nil && served != "" {
		m.fallbacks.WithLabelValues(model, served).Inc()
	}
}
