package metrics

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"modelgateway/models"
)

// maxModels bounds how many models have series of their own. The catalogue has
// a few dozen, but a provider may list thousands of fine-tuned models of one
// account.
const maxModels = 1000

// The label values for a provider or a model that is unknown, and for the
// models beyond maxModels.
const (
	unknown = "none"
	other   = "other"
)

// The values of the labels type and outcome. An outcome that is not listed is
// counted as the last one.
var (
	tokenTypes   = [...]string{"input", "output", "cached", "cache_write", "reasoning"}
	callOutcomes = [...]string{
		models.OutcomeOK, models.OutcomeClient, models.OutcomeRefused, models.OutcomeFailed,
		models.OutcomeTimeout, models.OutcomeStopped, models.OutcomeInternal,
	}
	upstreamOutcomes = [...]string{OK, Refused, Canceled, Failed}
)

// Bucket bounds in seconds: of the time to the first token, and of the time
// that the gateway adds.
var (
	firstTokenBuckets = []float64{.01, .025, .05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 30, 60, 120}
	overheadBuckets   = []float64{50e-6, 100e-6, 200e-6, 300e-6, 500e-6, 750e-6, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
)

// vectors are the metrics that have the labels provider and model, or provider
// alone.
type vectors struct {
	registry *prometheus.Registry

	calls, tokens, upstreamCalls, estimated, unpriced, usualPrice *prometheus.CounterVec
	upstreamWait, firstToken, overhead                            *prometheus.HistogramVec

	// found is replaced, not changed, so that it is read without a lock. docs/adr/0021 has the figures.
	found     atomic.Pointer[map[modelLabels]*modelCounters]
	mu        sync.Mutex // held while found is replaced
	providers map[string]*providerTimes
}

type modelLabels struct{ provider, model string }

// modelCounters are the counters of one model. They are looked up in their
// vectors once for each model and not with each call.
type modelCounters struct {
	calls         [len(callOutcomes)]prometheus.Counter
	tokens        [len(tokenTypes)]prometheus.Counter
	upstreamCalls [len(upstreamOutcomes)]prometheus.Counter

	estimated, unpriced, usualPrice prometheus.Counter
	microDollars                    atomic.Int64 // whole numbers, because a sum of fractions would not be exact

	provider *providerTimes
}

// providerTimes are the histograms of one provider.
type providerTimes struct {
	upstreamWait, firstToken, overhead prometheus.Observer
	gaps                               *gapSum
}

func newVectors(registry *prometheus.Registry) *vectors {
	const provider, model = "provider", "model"
	v := &vectors{
		registry: registry, providers: map[string]*providerTimes{},
		calls: counter("calls_total", "Calls that were admitted and have ended, by outcome.", provider, model, "outcome"),
		tokens: counter("tokens_total", "Tokens of calls that have ended. The total is input plus output: "+
			"cached and cache_write are parts of input, reasoning is a part of output.", provider, model, "type"),
		upstreamCalls: counter("upstream_calls_total", "Calls to providers, by outcome. One call of a client may need several.",
			provider, model, "outcome"),
		estimated: counter("estimated_calls_total", "Calls whose tokens are estimated, because the provider did not report them.",
			provider, model),
		unpriced: counter("unpriced_calls_total", "Calls that are missing from the cost, because their model has no price.",
			provider, model),

		usualPrice: counter("usual_price_calls_total", "Calls whose cost has the usual price, although their service tier, "+
			"speed or searches of the web cost something else that is not known.", provider, model),
		upstreamWait: histogram("upstream_wait_seconds", "Time until a provider's complete answer, or until the first event of its stream.",
			waitBuckets, provider),
		firstToken: histogram("time_to_first_token_seconds",
			"Time from a request for a stream to the first byte that was sent to the client.", firstTokenBuckets, provider),
		overhead: histogram("overhead_seconds",
			"Time that the gateway itself needed until the first byte to the client, without the waits for providers.",
			overheadBuckets, provider),
	}
	v.found.Store(&map[modelLabels]*modelCounters{})
	registry.MustRegister(v.calls, v.tokens, v.upstreamCalls, v.estimated, v.unpriced, v.usualPrice,
		v.upstreamWait, v.firstToken, v.overhead)
	return v
}

// of returns the counters of a model. It takes no lock and allocates nothing,
// except for a model that is new, unknown or beyond maxModels.
func (v *vectors) of(provider, model string) *modelCounters {
	if found, ok := (*v.found.Load())[modelLabels{provider, model}]; ok {
		return found
	}
	return v.add(modelLabels{labelValue(provider), labelValue(model)})
}

func (v *vectors) add(labels modelLabels) *modelCounters {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := *v.found.Load()
	if _, ok := all[labels]; !ok && len(all) >= maxModels {
		labels.model = other
	}
	if found, ok := all[labels]; ok {
		return found
	}
	added := v.newModel(labels)
	all = maps.Clone(all)
	all[labels] = added
	v.found.Store(&all)
	return added
}

// newModel creates the series of a model, all at 0: Prometheus would not see
// an increase in a series that begins at 1.
func (v *vectors) newModel(labels modelLabels) *modelCounters {
	m := &modelCounters{
		estimated: v.estimated.WithLabelValues(labels.provider, labels.model),
		unpriced:  v.unpriced.WithLabelValues(labels.provider, labels.model),

		usualPrice: v.usualPrice.WithLabelValues(labels.provider, labels.model),
		provider:   v.provider(labels.provider),
	}
	resolve := func(counters []prometheus.Counter, vec *prometheus.CounterVec, values []string) {
		for i, value := range values {
			counters[i] = vec.WithLabelValues(labels.provider, labels.model, value)
		}
	}
	resolve(m.calls[:], v.calls, callOutcomes[:])
	resolve(m.tokens[:], v.tokens, tokenTypes[:])
	resolve(m.upstreamCalls[:], v.upstreamCalls, upstreamOutcomes[:])
	v.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: "cost_usd_total", Help: "Cost of the calls that have ended by the prices of the catalogue, in US dollars.",
		ConstLabels: prometheus.Labels{"provider": labels.provider, "model": labels.model},
	}, func() float64 { return float64(m.microDollars.Load()) / 1e6 }))
	return m
}

func (v *vectors) provider(name string) *providerTimes {
	p := v.providers[name]
	if p == nil {
		p = &providerTimes{
			upstreamWait: v.upstreamWait.WithLabelValues(name), firstToken: v.firstToken.WithLabelValues(name),
			overhead: v.overhead.WithLabelValues(name), gaps: newGapSum(name),
		}
		v.registry.MustRegister(p.gaps)
		v.providers[name] = p
	}
	return p
}

// labelValue makes a text valid as the value of a label. It is a copy, so that
// the text of a request is not kept in memory.
func labelValue(text string) string {
	if text == "" {
		return unknown
	}
	return strings.Clone(strings.ToValidUTF8(text, "?"))
}
