package metrics

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"modelgateway/models"
)

// maxTallies bounds how many models are counted apart. The catalogue has some
// dozens; a provider may list thousands that were tuned for one account.
const maxTallies = 1000

// noOne stands for a provider or a model that is not known, others for models
// beyond maxTallies.
const (
	noOne  = "none"
	others = "other"
)

// The values of tokens_total's label, and of both outcomes, by their place in
// a tally. An outcome that is none of them is counted as the last.
var (
	tokenTypes = [...]string{"input", "output", "cached", "cache_write", "reasoning"}
	attempts   = [...]string{OK, Refused, Canceled, Failed}
	endings    = [...]string{
		models.OutcomeOK, models.OutcomeClient, models.OutcomeRefused, models.OutcomeFailed,
		models.OutcomeTimeout, models.OutcomeStopped, models.OutcomeInternal,
	}
)

// model names a tally.
type model struct{ provider, name string }

// tally is what is counted of one model. It is found once a call, which is why
// it is not made of one vector for each figure, and its money is whole
// micro-dollars, so that it adds up exactly.
type tally struct {
	model
	from *timings

	tokens    [len(tokenTypes)]atomic.Int64
	attempts  [len(attempts)]atomic.Int64
	endings   [len(endings)]atomic.Int64
	estimated atomic.Int64
	unpriced  atomic.Int64
	cost      atomic.Int64 // micro-dollars
}

// timings are of one provider.
type timings struct {
	wait, firstToken, overhead prometheus.Observer
	gaps                       gapSum
}

// tallies are those of all models, and Prometheus' collector of them.
type tallies struct {
	found atomic.Pointer[map[model]*tally] // is replaced, not changed

	mu        sync.Mutex // of who replaces it
	providers map[string]*timings

	tokens, calls, attempts, estimated, unpriced, cost, gaps *prometheus.Desc
	wait, firstToken, overhead                               *prometheus.HistogramVec
}

func newTallies() *tallies {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(space+"_"+name, help, labels, nil)
	}
	const provider, name = "provider", "model"
	t := &tallies{
		providers: map[string]*timings{},

		tokens: desc("tokens_total", "Tokens of calls that have ended. input and output are all there is: cached and cache_write are parts of input, reasoning is a part of output.", provider, name, "type"),
		cost:   desc("cost_usd_total", "What the calls that have ended cost by the catalogue's prices, in US dollars.", provider, name),
		calls:  desc("calls_total", "Calls that were admitted and have ended, by how.", provider, name, "outcome"),

		attempts:  desc("upstream_calls_total", "Calls of providers, by how they went. A call of a client may take several.", provider, name, "outcome"),
		estimated: desc("estimated_calls_total", "Calls whose tokens are an estimate, as the provider did not say them.", provider, name),
		unpriced:  desc("unpriced_calls_total", "Calls that are missing from the cost, as nobody knows what their model costs.", provider, name),
		gaps:      desc("stream_gap_seconds", "Waits for the next piece of a stream, after its first.", provider),

		wait:       histogram("upstream_wait_seconds", "Time to a provider's whole answer, or to the first event of its stream.", waits, provider),
		firstToken: histogram("time_to_first_token_seconds", "Time from a request for a stream to the first byte of it that was sent to the client.", firstWaits, provider),
		overhead:   histogram("overhead_seconds", "The gateway's own part of the time until something was sent to the client: all of it but the waits for providers.", ownWaits, provider),
	}
	t.found.Store(&map[model]*tally{})
	return t
}

// Bounds in seconds: of what people wait for, and of what the gateway adds.
var (
	firstWaits = []float64{.01, .025, .05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 30, 60, 120}
	ownWaits   = []float64{50e-6, 100e-6, 200e-6, 300e-6, 500e-6, 750e-6, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
)

// of is the tally of a model. It takes no lock and no memory but for the first
// time, and for what is counted as none or other.
func (t *tallies) of(provider, name string) *tally {
	if found, ok := (*t.found.Load())[model{provider, name}]; ok {
		return found
	}
	return t.add(provider, name)
}

func (t *tallies) add(provider, name string) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := *t.found.Load()
	key := model{label(provider), label(name)}
	if _, ok := all[key]; !ok && len(all) >= maxTallies {
		key.name = others
	}
	if found, ok := all[key]; ok {
		return found
	}
	from := t.providers[key.provider]
	if from == nil {
		from = &timings{
			wait: t.wait.WithLabelValues(key.provider), firstToken: t.firstToken.WithLabelValues(key.provider),
			overhead: t.overhead.WithLabelValues(key.provider),
		}
		t.providers[key.provider] = from
	}
	found := &tally{model: key, from: from}
	all = maps.Clone(all)
	all[key] = found
	t.found.Store(&all)
	return found
}

// label is a value as Prometheus takes it. It is a copy, so that nothing that
// Ended is told has to be kept beyond the call.
func label(value string) string {
	if value == "" {
		return noOne
	}
	return strings.Clone(strings.ToValidUTF8(value, "?"))
}

// Describe implements prometheus.Collector.
func (t *tallies) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{t.tokens, t.calls, t.attempts, t.estimated, t.unpriced, t.cost, t.gaps} {
		out <- d
	}
	t.wait.Describe(out)
	t.firstToken.Describe(out)
	t.overhead.Describe(out)
}

// Collect implements prometheus.Collector.
func (t *tallies) Collect(out chan<- prometheus.Metric) {
	for _, one := range *t.found.Load() {
		count := func(d *prometheus.Desc, n *atomic.Int64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n.Load()), append([]string{one.provider, one.name}, labels...)...)
		}
		for i := range one.tokens {
			count(t.tokens, &one.tokens[i], tokenTypes[i])
		}
		for i := range one.attempts {
			count(t.attempts, &one.attempts[i], attempts[i])
		}
		for i := range one.endings {
			count(t.calls, &one.endings[i], endings[i])
		}
		count(t.estimated, &one.estimated)
		count(t.unpriced, &one.unpriced)
		out <- prometheus.MustNewConstMetric(t.cost, prometheus.CounterValue, float64(one.cost.Load())/1e6, one.provider, one.name)
	}
	t.mu.Lock()
	providers := maps.Clone(t.providers)
	t.mu.Unlock()
	for name, from := range providers {
		out <- from.gaps.histogram(t.gaps, name)
	}
	t.wait.Collect(out)
	t.firstToken.Collect(out)
	t.overhead.Collect(out)
}
