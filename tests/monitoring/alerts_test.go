package monitoring

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"modelgateway/models"
	"modelgateway/services/metrics"

	"modelgateway/tests/gatewaytest"
)

// scrape returns the metrics of a gateway in which every metric has a value.
func scrape(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	m := metrics.New()
	parts := metrics.Sources{Version: "v1"}
	v := reflect.ValueOf(&parts).Elem()
	for i := range v.NumField() {
		switch part := v.Field(i).Addr().Interface().(type) {
		case *func() float64:
			*part = func() float64 { return 1 }
		case *func() map[string]float64:
			*part = func() map[string]float64 { return map[string]float64{"one": 1} }
		}
	}
	m.Register(parts)
	m.Done("/", 200, time.Second)
	m.Retried("openai")
	m.Hedged("openai")
	m.FellBack("a", "b")
	m.Ended(metrics.CallFacts{Provider: "openai", Model: "a", Outcome: models.OutcomeOK})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return parseExposition(t, w.Body.String())
}

// parseExposition parses Prometheus' text format.
func parseExposition(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// alert is a rule of deploy/prometheus.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	readYAML(t, "deploy/prometheus/alerts.yml", &file)
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// readYAML decodes a file of the module.
func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(gatewaytest.File(t, path))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(reflect.TypeOf(into).Elem().Kind() == reflect.Struct)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// dashboardFile holds what the tests need of a dashboard.
type dashboardFile struct {
	UID, Title string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Annotations struct {
		List []struct{ Expr string }
	}
}

type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ RefID, Expr, LegendFormat string }
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
}

func dashboard(t *testing.T) dashboardFile {
	t.Helper()
	text, err := os.ReadFile(gatewaytest.File(t, "deploy/grafana/dashboards/modelgateway.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b dashboardFile
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryAlertIsDocumentedAndTested(t *testing.T) {
	t.Parallel()
	all := alerts(t)
	if len(all) < 10 {
		t.Fatalf("%d alerts", len(all))
	}
	operations, err := os.ReadFile(gatewaytest.File(t, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile(gatewaytest.File(t, "deploy/prometheus/alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, a := range all {
		if a.Annotations["summary"] == "" || len(a.Annotations["description"]) < 40 || a.Expr == "" || names[a.Alert] {
			t.Errorf("%+v", a)
		}
		names[a.Alert] = true
		if s := a.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity %q", a.Alert, s)
		}
		if _, err := model.ParseDuration(a.For); a.For != "" && err != nil {
			t.Errorf("%s: %v", a.Alert, err)
		}
		if !strings.Contains(string(operations), "`"+a.Alert+"`") {
			t.Errorf("docs/operations.md does not say what to do about %s", a.Alert)
		}
		if !strings.Contains(string(tested), `exp_samples:`) ||
			!strings.Contains(string(tested), `'ALERTS{alertname="`+a.Alert+`", alertstate="firing", `) {
			t.Errorf("alerts_test.yml has no case in which %s fires", a.Alert)
		}
	}
}

// expressions are the queries of the alerts and the dashboard, by their place.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, a := range alerts(t) {
		all["alert "+a.Alert] = a.Expr
	}
	b := dashboard(t)
	for _, p := range b.Panels {
		for _, target := range p.Targets {
			all["panel "+p.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, v := range b.Templating.List {
		if v.Definition != "" {
			all["variable "+v.Name] = v.Definition
		}
	}
	return all
}

var (
	selector = regexp.MustCompile(`([a-z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	word     = regexp.MustCompile(`[a-zA-Z_]\w*`)
)

// A panel or an alert whose metric or label is misspelt shows nothing, without an
// error.
func TestAlertsAndDashboardQueryExistingMetrics(t *testing.T) {
	t.Parallel()
	families := scrape(t)
	labels := map[string][]string{"up": {"job", "instance"}}
	for name, f := range families {
		own := []string{"job", "instance"}
		for _, l := range f.GetMetric()[0].GetLabel() {
			own = append(own, l.GetName())
		}
		switch f.GetType() {
		case dto.MetricType_HISTOGRAM:
			labels[name+"_bucket"] = append(own, "le")
			labels[name+"_sum"], labels[name+"_count"] = own, own
		case dto.MetricType_SUMMARY:
			labels[name] = append(own, "quantile")
		default:
			labels[name] = own
		}
	}
	asked := map[string]bool{}
	for where, expr := range expressions(t) {
		found := selector.FindAllStringSubmatch(expr, -1)
		if len(found) == 0 {
			t.Errorf("%s asks for nothing: %s", where, expr)
		}
		known := map[string]bool{} // labels that the expression uses
		for _, f := range found {
			own, there := labels[f[1]]
			if !there {
				t.Errorf("%s: there is no %s", where, f[1])
			}
			asked[f[1]] = true
			for _, l := range own {
				known[l] = true
			}
			matchers := matcher.FindAllStringSubmatch(f[2], -1)
			if len(matchers) != strings.Count(f[2], "=") || !strings.Contains(f[2], `job="modelgateway"`) {
				t.Errorf("%s: %s", where, f[2])
			}
			for _, m := range matchers {
				if !slices.Contains(own, m[1]) {
					t.Errorf("%s: %s has no label %s", where, f[1], m[1])
				}
				checkValue(t, where, m)
				if (m[1] == "le" || m[1] == "quantile") && (m[2] != "=~" || !strings.HasSuffix(m[3], `(\\.0)?`)) {
					t.Errorf("%s: Prometheus 3 writes %s=1 as 1.0, Prometheus 2 does not: %s", where, m[1], m[0])
				}
			}
		}
		for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
			for _, l := range word.FindAllString(g[1], -1) {
				if !known[l] {
					t.Errorf("%s: nothing in it has a label %s", where, l)
				}
			}
		}
		if strings.Contains(expr, "modelgateway_") &&
			strings.Count(expr, "modelgateway_") != strings.Count(selectorNames(found), "modelgateway_") {
			t.Errorf("%s: a metric is asked for without saying of which job: %s", where, expr)
		}
	}
	for name := range labels {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		if strings.HasPrefix(name, "modelgateway_") && !asked[name] && !asked[base+"_bucket"] && !asked[base] && !notOnDashboard[name] {
			t.Errorf("%s is shown nowhere", name)
		}
	}
}

// notOnDashboard are metrics that the dashboard leaves out.
var notOnDashboard = map[string]bool{"modelgateway_http_requests_in_flight": true}

func selectorNames(found [][]string) string {
	var all []string
	for _, f := range found {
		all = append(all, f[1])
	}
	return strings.Join(all, " ")
}

// checkValue checks that a label of the gateway has one of its values.
func checkValue(t *testing.T, where string, matcher []string) {
	t.Helper()
	can := map[string][]string{
		"outcome": {
			models.OutcomeOK, models.OutcomeClient, models.OutcomeRefused, models.OutcomeFailed, models.OutcomeTimeout, models.OutcomeStopped, models.OutcomeInternal,
			metrics.OK, metrics.Failed, metrics.Refused, metrics.Canceled,
		},
		"type":  {"input", "output", "cached", "cache_write", "reasoning"},
		"route": {"/v1/chat/completions"},
		"limit": metrics.Limits(),
	}
	values, ours := can[matcher[1]]
	for v := range strings.SplitSeq(matcher[3], "|") {
		if ours && !slices.Contains(values, v) {
			t.Errorf("%s: no %s is %q", where, matcher[1], v)
		}
	}
}
