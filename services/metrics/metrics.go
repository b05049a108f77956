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

	"modelgateway/models/catalog"
)

const space = "modelgateway"

// Metrics are the gateway's. The methods of a nil *Metrics count nothing.
type Metrics struct {
	registry *prometheus.Registry

	inFlight prometheus.Gauge
	requests *prometheus.CounterVec   // route, status
	duration *prometheus.HistogramVec // route

	calls *tallies // everything by provider and model

	retries   *prometheus.CounterVec // provider
	hedges    *prometheus.CounterVec // provider
	fallbacks *prometheus.CounterVec // model, served
	refusals  *prometheus.CounterVec // limit
}

// New makes metrics with a registry of their own.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: space, Name: "http_requests_in_flight", Help: "Requests being answered now."}),
		requests: counter("http_requests_total", "Requests answered, by route and status.", "route", "status"),
		duration: histogram("http_request_duration_seconds", "Time from a request's header to the end of its answer.", waits, "route"),
		calls:    newTallies(),

		retries:   counter("upstream_retries_total", "Calls of providers that were made again after a failure.", "provider"),
		hedges:    counter("upstream_hedges_total", "Second calls made because the first took long, by the provider of the first.", "provider"),
		fallbacks: counter("fallbacks_total", "Requests that another model answered, by the model asked and the one that answered.", "model", "served"),
		refusals:  counter("limit_refusals_total", "Requests that a limit of their key, or of the gateway, refused.", "limit"),
	}
	for _, limit := range Limits() { // so that the first is seen as one more, not as a beginning
		m.refusals.WithLabelValues(limit)
	}
	for _, provider := range catalog.Providers() {
		m.retries.WithLabelValues(provider)
		m.hedges.WithLabelValues(provider)
	}
	m.registry.MustRegister(m.inFlight, m.requests, m.duration, m.calls, m.retries, m.hedges, m.fallbacks, m.refusals,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// waits are bounds in seconds for what may take from a millisecond to minutes.
var waits = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: space, Name: name, Help: help}, labels)
}

func histogram(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: space, Name: name, Help: help, Buckets: bounds}, labels)
}

// Handler answers with all of them in Prometheus' format. A figure that cannot
// be had is left out, and takes none of the others with it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
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

// The limits that refuse requests.
const (
	LimitRequests      = "requests" // a minute
	LimitTokens        = "tokens"   // a minute
	LimitParallel      = "parallel" // calls at once
	LimitBudget        = "budget"   // of the key
	LimitGatewayBudget = "gateway_budget"
	LimitModel         = "model" // one that the key may not ask for
)

// Limits lists them.
func Limits() []string {
	return []string{LimitRequests, LimitTokens, LimitParallel, LimitBudget, LimitGatewayBudget, LimitModel}
}

// Limited counts a request that was refused by limit, one of the constants.
func (m *Metrics) Limited(limit string) {
	if m != nil {
		m.refusals.WithLabelValues(limit).Inc()
	}
}
