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
