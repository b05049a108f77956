package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestFunctionsAreReadWithEachScrape(t *testing.T) {
	m := New()
	n := 1.0
	m.GaugeFunc("depth_rows", "How deep.", func() float64 { return n })
	m.CounterFunc("seen_total", "How many.", func() float64 { return 10 * n })
	m.GaugeVecFunc("lit", "Which.", "lamp", func() map[string]float64 { return map[string]float64{"red": n, "green": 0} })
	for n = 1; n < 3; n++ {
		got := samples(t, m)
		for name, want := range map[string]float64{"depth_rows{}": n, "seen_total{}": 10 * n, "lit{red}": n, "lit{green}": 0} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	}
	for name, wrong := range map[string]func(){
		"a gauge with the name of a counter": func() { m.GaugeFunc("a_total", "x", nil) },
		"a counter with the name of a gauge": func() { m.CounterFunc("a", "x", nil) },
		"gauges with the name of a counter":  func() { m.GaugeVecFunc("a_total", "x", "l", nil) },
		"a name that is taken":               func() { m.GaugeFunc("depth_rows", "x", nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name, "is accepted")
				}
			}()
			wrong()
		}()
	}
}

// A source that a gateway does not have, such as a budget, has no metric rather
// than one that is 0.
func TestMissingSourcesHaveNoMetric(t *testing.T) {
	m := New()
	before := samples(t, m)
	m.Register(Sources{Version: "v1", LedgerDropped: func() float64 { return 3 }})
	want := map[string]float64{"build_info{v1}": 1, "ledger_rows_dropped_total{}": 3}
	if got := changes(before, samples(t, m)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if n := len(samples(t, m)) - len(before); n != len(want) {
		t.Errorf("%d new metrics", n)
	}
}

func TestAMetricThatCannotBeReadDoesNotHideTheOthers(t *testing.T) {
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
