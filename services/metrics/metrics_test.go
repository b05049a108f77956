package metrics

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"modelgateway/models"
)

// samples are all samples of m, by name and labels; of a histogram its count
// and its sum.
func samples(t testing.TB, m *Metrics) map[string]float64 {
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

// changes are the samples of the gateway's own metrics that differ, with the
// difference.
func changes(before, after map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for name, n := range after {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && n != before[name] {
			all[name] = n - before[name]
		}
	}
	return all
}

// everything is a Metrics with a sample of each metric.
func everything(t testing.TB) *Metrics {
	t.Helper()
	m := New()
	p := Sources{Version: "v1.2.3"}
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
	m.Register(p)
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

func TestNamesAndUnitsFollowPrometheusConventions(t *testing.T) {
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
	if ours != 40 {
		t.Errorf("%d metrics of our own", ours)
	}
}

// A pedantic registry checks that collectors collect what they describe; the
// usual one does not.
func TestCollectorsKeepToWhatTheyDescribe(t *testing.T) {
	m := everything(t)
	strict := prometheus.NewPedanticRegistry()
	strict.MustRegister(m.models.providers["openai"].gaps, &gaugeVecFunc{prometheus.NewDesc("a", "b", []string{"c"}, nil),
		func() map[string]float64 { return map[string]float64{"x": 1, "\xff": 2} }})
	if _, err := strict.Gather(); err != nil {
		t.Error(err)
	}
}

// Prometheus would see no increase in a series that begins at 1.
func TestRareCountersBeginAtZero(t *testing.T) {
	m := New()
	for _, name := range []string{"upstream_retries_total{gemini}", "upstream_hedges_total{gemini}"} {
		if n, there := samples(t, m)[name]; !there || n != 0 {
			t.Errorf("%s: %v, %v", name, n, there)
		}
	}
	m.Limited(LimitTokens)
	m.Limited(LimitTokens)
	got := samples(t, m)
	for _, limit := range []string{"requests", "tokens", "parallel", "budget", "gateway_budget", "session_budget", "model"} {
		n, there := got["limit_refusals_total{"+limit+"}"]
		if want := map[bool]float64{true: 2}[limit == "tokens"]; !there || n != want {
			t.Errorf("%s: %v, %v", limit, n, there)
		}
	}
}

func TestNilMetricsDoNothing(t *testing.T) {
	var m *Metrics
	m.Begin()
	m.Done("/", 200, 1)
	m.Called("a", "b", OK, 1)
	m.Ended(CallFacts{Gaps: new(Gaps)})
	m.Retried("a")
	m.Hedged("a")
	m.FellBack("a", "b")
	m.Limited(LimitModel)
	m.GaugeFunc("a", "b", nil)
	m.Register(Sources{})
}
