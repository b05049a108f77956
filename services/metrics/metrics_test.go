package metrics

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"modelgateway/models"
	"modelgateway/models/api"
)

// figures are all samples of m, by name and labels; of a histogram its count
// and its sum.
func figures(t testing.TB, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := strings.TrimPrefix(f.GetName(), "modelgateway_")
			set := func(suffix string, n float64) { all[name+suffix+"{"+strings.Join(labels, ",")+"}"] = n }
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				set("_count", float64(one.GetHistogram().GetSampleCount()))
				set("_sum", one.GetHistogram().GetSampleSum())
			case dto.MetricType_COUNTER:
				set("", one.GetCounter().GetValue())
			default:
				set("", one.GetGauge().GetValue())
			}
		}
	}
	return all
}

// changes are the figures that are not as they were, with what was added.
func changes(before, after map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for name, n := range after {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && n != before[name] {
			all[name] = n - before[name]
		}
	}
	return all
}

// everything is a Metrics with a sample of each of its figures.
func everything(t testing.TB) *Metrics {
	t.Helper()
	m := New()
	p := Parts{Version: "v1.2.3"}
	v := reflect.ValueOf(&p).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i).Addr().Interface().(type) {
		case *func() float64:
			*field = func() float64 { return float64(i) }
		case *func() map[string]float64:
			*field = func() map[string]float64 { return map[string]float64{"one": float64(i)} }
		case *string:
		default:
			t.Fatalf("%T", field)
		}
	}
	m.WatchParts(p)
	m.Begin()
	m.Done("/x", 200, time.Second)
	m.Called("openai", "a", OK, time.Second)
	m.Retried("openai")
	m.Hedged("openai")
	m.FellBack("a", "b")
	var gaps Gaps
	gaps.Add(time.Millisecond)
	m.Ended(CallFacts{Provider: "openai", Model: "a", Outcome: models.OutcomeOK, Stream: true, FirstToken: 1, Overhead: 1, Gaps: &gaps})
	return m
}

func TestNamesAndUnitsAreAsPrometheusWantsThem(t *testing.T) {
	m := everything(t)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	ours := 0
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "modelgateway_") {
			continue
		}
		ours++
		if strings.HasSuffix(f.GetName(), "_total") != (f.GetType() == dto.MetricType_COUNTER) {
			t.Errorf("%s is a %s", f.GetName(), f.GetType())
		}
		if f.GetType() == dto.MetricType_HISTOGRAM && !strings.HasSuffix(f.GetName(), "_seconds") {
			t.Errorf("%s has no unit", f.GetName())
		}
		if help := f.GetHelp(); !strings.HasSuffix(help, ".") || len(help) < 20 {
			t.Errorf("%s: the help is %q", f.GetName(), help)
		}
	}
	if ours != 37 {
		t.Errorf("%d figures of our own", ours)
	}
}

// The registry does not look whether collectors keep to what they announced;
// this one does.
func TestCollectorsKeepToWhatTheyDescribe(t *testing.T) {
	m := everything(t)
	strict := prometheus.NewPedanticRegistry()
	strict.MustRegister(m.calls, &watched{figure{prometheus.GaugeValue, "a", "b", "c"},
		prometheus.NewDesc("a", "b", []string{"c"}, nil), func() map[string]float64 { return map[string]float64{"x": 1, "\xff": 2} }})
	if _, err := strict.Gather(); err != nil {
		t.Error(err)
	}
}

func TestAnEndedCallIsCountedInEachOfItsFigures(t *testing.T) {
	var gaps Gaps
	gaps.Add(40 * time.Millisecond)
	gaps.Add(60 * time.Millisecond)
	whole := CallFacts{
		Provider: "anthropic", Model: "claude", Outcome: models.OutcomeOK, Stream: true,
		InputTokens: 100, CachedTokens: 60, CacheWriteTokens: 7, OutputTokens: 50, ReasoningTokens: 20,
		Priced: true, Cost: 1_250_001, FirstToken: 2 * time.Second, Overhead: 300 * time.Microsecond, Gaps: &gaps,
	}
	for _, tt := range []struct {
		name  string
		facts CallFacts
		want  map[string]float64
	}{
		{"all there is", whole, map[string]float64{
			"calls_total{claude,ok,anthropic}":     1,
			"tokens_total{claude,anthropic,input}": 100, "tokens_total{claude,anthropic,output}": 50,
			"tokens_total{claude,anthropic,cached}": 60, "tokens_total{claude,anthropic,cache_write}": 7, "tokens_total{claude,anthropic,reasoning}": 20,
			"cost_usd_total{claude,anthropic}":             1.250001,
			"time_to_first_token_seconds_count{anthropic}": 1,
			"time_to_first_token_seconds_sum{anthropic}":   2,
			"overhead_seconds_count{anthropic}":            1,
			"overhead_seconds_sum{anthropic}":              0.0003,
			"stream_gap_seconds_count{anthropic}":          2,
			"stream_gap_seconds_sum{anthropic}":            0.1,
		}},
		{"an answer has no first token", CallFacts{Provider: "openai", Model: "gpt", Outcome: models.OutcomeClient, Priced: true, FirstToken: time.Second}, map[string]float64{
			"calls_total{gpt,client_gone,openai}": 1,
		}},
		{"a stream that never began", CallFacts{Provider: "openai", Model: "gpt", Outcome: models.OutcomeFailed, Priced: true, Stream: true, Overhead: time.Millisecond, Gaps: new(Gaps)}, map[string]float64{
			"calls_total{gpt,provider_error,openai}": 1,
			"overhead_seconds_count{openai}":         1, "overhead_seconds_sum{openai}": 0.001,
		}},
		{"estimated and unpriced", CallFacts{Provider: "gemini", Model: "flash", Outcome: models.OutcomeTimeout, Estimated: true, InputTokens: 3}, map[string]float64{
			"calls_total{flash,timeout,gemini}": 1, "tokens_total{flash,gemini,input}": 3,
			"estimated_calls_total{flash,gemini}": 1, "unpriced_calls_total{flash,gemini}": 1,
		}},
		{"nobody was asked", CallFacts{Outcome: models.OutcomeRefused, Priced: true}, map[string]float64{"calls_total{none,refused,none}": 1}},
		{"stopped", CallFacts{Outcome: models.OutcomeStopped, Priced: true}, map[string]float64{"calls_total{none,stopped,none}": 1}},
		{"our own fault", CallFacts{Outcome: models.OutcomeInternal, Priced: true}, map[string]float64{"calls_total{none,internal_error,none}": 1}},
		{"an outcome that is none", CallFacts{Outcome: "?", Priced: true}, map[string]float64{"calls_total{none,internal_error,none}": 1}},
		{"what cannot be is not counted", CallFacts{Outcome: models.OutcomeOK, Priced: true, InputTokens: -1, OutputTokens: -1, Cost: -1, Overhead: -1, FirstToken: -1, Stream: true}, map[string]float64{"calls_total{none,ok,none}": 1}},
		{"no text that is not UTF-8", CallFacts{Provider: "openai", Model: "a\xffb", Outcome: models.OutcomeOK, Priced: true}, map[string]float64{"calls_total{a?b,ok,openai}": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New()
			before := figures(t, m)
			m.Ended(tt.facts)
			if got := changes(before, figures(t, m)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%v\nwant %v", got, tt.want)
			}
		})
	}
}

// Counters of Prometheus are floating: a thousand times a tenth of a cent adds
// up to 0.9999999999999062 dollars there.
func TestMoneyAddsUpExactly(t *testing.T) {
	m := New()
	for range 1000 {
		m.Ended(CallFacts{Provider: "openai", Model: "a", Outcome: models.OutcomeOK, Priced: true, Cost: 1000})
	}
	if got := figures(t, m)["cost_usd_total{a,openai}"]; got != 1 {
		t.Errorf("%v dollars", got)
	}
}

func TestCallsOfProvidersAreCounted(t *testing.T) {
	m := New()
	before := figures(t, m)
	for i, outcome := range []string{OK, Failed, Failed, Refused, Canceled} {
		m.Called("openai", "a", outcome, time.Duration(i)*time.Second)
	}
	m.Used("openai", "a", &api.Usage{PromptTokens: 5, CompletionTokens: 7})
	m.Used("openai", "a", &api.Usage{PromptTokens: -5, CompletionTokens: -7})
	m.Used("openai", "a", nil)
	want := map[string]float64{
		"upstream_calls_total{a,ok,openai}": 1, "upstream_calls_total{a,failed,openai}": 2, "upstream_calls_total{a,refused,openai}": 1,
		"upstream_calls_total{a,canceled,openai}": 1, "upstream_wait_seconds_count{openai}": 5, "upstream_wait_seconds_sum{openai}": 10,
		"tokens_total{a,openai,input}": 5, "tokens_total{a,openai,output}": 7,
	}
	if got := changes(before, figures(t, m)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// Else Prometheus would take the first for the beginning, and see no increase.
func TestRareCountersBeginAtNothing(t *testing.T) {
	m := New()
	for _, name := range []string{"upstream_retries_total{gemini}", "upstream_hedges_total{gemini}"} {
		if n, there := figures(t, m)[name]; !there || n != 0 {
			t.Errorf("%s: %v, %v", name, n, there)
		}
	}
	m.Limited(LimitTokens)
	m.Limited(LimitTokens)
	got := figures(t, m)
	for _, limit := range []string{"requests", "tokens", "parallel", "budget", "gateway_budget", "model"} {
		n, there := got["limit_refusals_total{"+limit+"}"]
		if want := map[bool]float64{true: 2}[limit == "tokens"]; !there || n != want {
			t.Errorf("%s: %v, %v", limit, n, there)
		}
	}
}

func TestManyModelsAreCountedTogether(t *testing.T) {
	m := New()
	const each = 3
	for range each {
		for i := range 2 * maxTallies {
			m.Ended(CallFacts{Provider: "openai", Model: fmt.Sprint("ft:", i), Outcome: models.OutcomeOK, Priced: true, Cost: 1e6})
		}
	}
	m.Ended(CallFacts{Provider: "gemini", Model: "late", Outcome: models.OutcomeOK, Priced: true})
	series, dollars := 0, 0.0
	for name, n := range figures(t, m) {
		if strings.HasPrefix(name, "cost_usd_total{") {
			series++
			dollars += n
		}
	}
	if series != maxTallies+2 || dollars != each*2*maxTallies {
		t.Errorf("%d series, %v dollars", series, dollars)
	}
	if got := figures(t, m)["cost_usd_total{other,openai}"]; got != each*maxTallies {
		t.Errorf("other: %v dollars", got)
	}
}

// Also under the race detector: models are met, counted and looked at at once.
func TestNothingIsLostBetweenThoseWhoCountAndThoseWhoLook(t *testing.T) {
	m := New()
	const workers, each, kinds = 8, 500, 40
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				var gaps Gaps
				gaps.Add(time.Millisecond)
				m.Ended(CallFacts{Provider: "openai", Model: fmt.Sprint((i + w) % kinds), Outcome: models.OutcomeOK, Priced: true, Cost: 1e6, Overhead: time.Second, Gaps: &gaps})
			}
		})
	}
	for range 20 {
		figures(t, m)
	}
	all.Wait()
	got, dollars := figures(t, m), 0.0
	for name, n := range got {
		if strings.HasPrefix(name, "cost_usd_total{") {
			dollars += n
		}
	}
	if dollars != workers*each || got["overhead_seconds_count{openai}"] != workers*each || got["stream_gap_seconds_count{openai}"] != workers*each {
		t.Errorf("%v dollars, %v", dollars, got)
	}
}

// Prometheus' own histogram counts the same waits.
func TestGapsAreCountedAsAHistogramDoes(t *testing.T) {
	var bounds []float64
	for _, b := range gapBounds {
		bounds = append(bounds, b.Seconds())
	}
	want := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "gaps", Buckets: bounds})
	m := New()
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var gaps Gaps
		for range random.IntN(100) {
			wait := time.Duration(random.ExpFloat64() * float64(time.Second))
			switch random.IntN(5) {
			case 0:
				wait = gapBounds[random.IntN(len(gapBounds))]
			case 1:
				wait = gapBounds[random.IntN(len(gapBounds))] + 1
			case 2:
				wait = 0
			}
			gaps.Add(wait)
			want.Observe(wait.Seconds())
		}
		m.Ended(CallFacts{Provider: "openai", Gaps: &gaps})
	}
	var a, b dto.Metric
	if err := m.calls.providers["openai"].gaps.histogram(m.calls.gaps, "openai").Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, ok := a.GetHistogram(), b.GetHistogram()
	if got.GetSampleCount() != ok.GetSampleCount() || got.GetSampleSum()-ok.GetSampleSum() > 1e-6 || ok.GetSampleSum()-got.GetSampleSum() > 1e-6 {
		t.Errorf("%v\nwant %v", got, ok)
	}
	for i, bucket := range ok.GetBucket() {
		if g := got.GetBucket()[i]; g.GetCumulativeCount() != bucket.GetCumulativeCount() || g.GetUpperBound() != bucket.GetUpperBound() {
			t.Errorf("%v, want %v", g, bucket)
		}
	}
}

func TestAClockThatIsSetBackMakesNoNegativeGap(t *testing.T) {
	var gaps Gaps
	gaps.Add(-time.Hour)
	if gaps.sum != 0 || gaps.counts[0] != 1 {
		t.Errorf("%+v", gaps)
	}
}

func TestNobodyCountsNothing(t *testing.T) {
	var m *Metrics
	m.Begin()
	m.Done("/", 200, 1)
	m.Called("a", "b", OK, 1)
	m.Used("a", "b", new(api.Usage))
	m.Ended(CallFacts{Gaps: new(Gaps)})
	m.Retried("a")
	m.Hedged("a")
	m.FellBack("a", "b")
	m.Limited(LimitModel)
	m.Watch("a", "b", nil)
	m.WatchParts(Parts{})
}

func TestWatchedFiguresAreReadWhenSomebodyLooks(t *testing.T) {
	m := New()
	n := 1.0
	m.Watch("depth_rows", "How deep.", func() float64 { return n })
	m.WatchCounter("seen_total", "How many.", func() float64 { return 10 * n })
	m.WatchEach("lit", "Which.", "lamp", func() map[string]float64 { return map[string]float64{"red": n, "green": 0} })
	m.WatchEachCounter("blinks_total", "How often.", "lamp", func() map[string]float64 { return map[string]float64{"red": 100 * n} })
	for n = 1; n < 3; n++ {
		got := figures(t, m)
		for name, want := range map[string]float64{"depth_rows{}": n, "seen_total{}": 10 * n, "lit{red}": n, "lit{green}": 0, "blinks_total{red}": 100 * n} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	}
	for name, wrong := range map[string]func(){
		"a gauge that says it counts": func() { m.Watch("a_total", "x", nil) },
		"a counter that does not":     func() { m.WatchCounter("a", "x", nil) },
		"each of a gauge":             func() { m.WatchEach("a_total", "x", "l", nil) },
		"each of a counter":           func() { m.WatchEachCounter("a", "x", "l", nil) },
		"one that is there":           func() { m.Watch("depth_rows", "x", nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name, "is taken")
				}
			}()
			wrong()
		}()
	}
}

// Parts that a gateway does not have, such as a budget, say nothing rather
// than 0.
func TestPartsThatAreNotThereHaveNoFigure(t *testing.T) {
	m := New()
	before := figures(t, m)
	m.WatchParts(Parts{Version: "v1", LedgerDropped: func() float64 { return 3 }})
	want := map[string]float64{"build_info{v1}": 1, "ledger_rows_dropped_total{}": 3}
	if got := changes(before, figures(t, m)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if n := len(figures(t, m)) - len(before); n != len(want) {
		t.Errorf("%d new figures", n)
	}
}

func TestAFigureThatCannotBeHadTakesNoOtherWithIt(t *testing.T) {
	m := New()
	m.registry.MustRegister(broken{prometheus.NewDesc("modelgateway_broken", "It is.", nil, nil)})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, _ := io.ReadAll(w.Body)
	if w.Code != http.StatusOK || !strings.Contains(string(text), "modelgateway_http_requests_in_flight 0") {
		t.Errorf("%d %s", w.Code, text)
	}
}

type broken struct{ desc *prometheus.Desc }

func (b broken) Describe(out chan<- *prometheus.Desc) { out <- b.desc }
func (b broken) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.NewInvalidMetric(b.desc, io.ErrUnexpectedEOF)
}
