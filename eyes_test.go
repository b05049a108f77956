package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	dto "github.com/prometheus/client_model/go"

	"modelgateway/models"
	"modelgateway/services/metrics"
)

// served are the metrics of a gateway that has all there can be, as a
// collector reads them.
func served(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	m := metrics.New()
	parts := metrics.Parts{Version: "v1"}
	v := reflect.ValueOf(&parts).Elem()
	for i := range v.NumField() {
		switch part := v.Field(i).Addr().Interface().(type) {
		case *func() float64:
			*part = func() float64 { return 1 }
		case *func() map[string]float64:
			*part = func() map[string]float64 { return map[string]float64{"one": 1} }
		}
	}
	m.WatchParts(parts)
	m.Done("/", 200, time.Second)
	m.Retried("openai")
	m.Hedged("openai")
	m.FellBack("a", "b")
	m.Ended(metrics.CallFacts{Provider: "openai", Model: "a", Outcome: models.OutcomeOK})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return exposed(t, w.Body.String())
}

// exposed reads Prometheus' text format.
func exposed(t *testing.T, text string) map[string]*dto.MetricFamily {
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

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(reflect.TypeOf(into).Elem().Kind() == reflect.Struct)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// board is what a test needs of a dashboard.
type board struct {
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

func dashboard(t *testing.T) board {
	t.Helper()
	text, err := os.ReadFile("deploy/grafana/dashboards/modelgateway.json")
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryAlertSaysWhatItIs(t *testing.T) {
	all := alerts(t)
	if len(all) < 10 {
		t.Fatalf("%d alerts", len(all))
	}
	operations, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile("deploy/prometheus/alerts_test.yml")
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
		if !strings.Contains(string(tested), `exp_samples:`) || !strings.Contains(string(tested), `'ALERTS{alertname="`+a.Alert+`", alertstate="firing", `) {
			t.Errorf("alerts_test.yml has no case in which %s fires", a.Alert)
		}
	}
}

// expressions are all that is asked of Prometheus, by where it stands.
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

// A panel or an alert whose metric or label is misspelt shows nothing, and
// nobody notices.
func TestAlertsAndDashboardAskForWhatThereIs(t *testing.T) {
	families := served(t)
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
		known := map[string]bool{} // labels of what the expression asks for
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
		if strings.Contains(expr, "modelgateway_") && strings.Count(expr, "modelgateway_") != strings.Count(selectorNames(found), "modelgateway_") {
			t.Errorf("%s: a metric is asked for without saying of which job: %s", where, expr)
		}
	}
	for name := range labels {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		if strings.HasPrefix(name, "modelgateway_") && !asked[name] && !asked[base+"_bucket"] && !asked[base] && !unshown[name] {
			t.Errorf("%s is shown nowhere", name)
		}
	}
}

// unshown are metrics for questions that are seldom asked.
var unshown = map[string]bool{"modelgateway_http_requests_in_flight": true}

func selectorNames(found [][]string) string {
	var all []string
	for _, f := range found {
		all = append(all, f[1])
	}
	return strings.Join(all, " ")
}

// checkValue looks whether a value of our own labels is one there can be.
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

func TestThePanelsFillTheirGrid(t *testing.T) {
	b := dashboard(t)
	const columns = 24
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	variables := map[string]bool{}
	rows := []string{}
	for _, v := range b.Templating.List {
		variables[v.Name] = true
	}
	for _, p := range b.Panels {
		if p.Title == "" || ids[p.ID] || p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X+p.GridPos.W > columns {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Errorf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(p.Targets) == 0 || p.FieldConfig.Defaults.Unit == "" && p.Type != "state-timeline" {
			t.Errorf("%s has no unit, or asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			if strings.Contains(target.Expr, "$model") && !variables["model"] || strings.Contains(target.Expr, "$provider") && !variables["provider"] {
				t.Errorf("%s asks for a variable that is not there", p.Title)
			}
			if target.LegendFormat == "" && p.Type != "table" {
				t.Errorf("%s: %s has no name", p.Title, target.Expr)
			}
		}
	}
	if want := []string{"Traffic", "Latency", "Providers", "Spend", "Limits", "Inside"}; !slices.Equal(rows, want) || !variables["provider"] || !variables["model"] {
		t.Errorf("rows %v, variables %v", rows, slices.Collect(maps.Keys(variables)))
	}
}

func TestEveryFileOfMonitoringIsWellFormed(t *testing.T) {
	files := 0
	err := filepath.WalkDir("deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yml" {
			return err
		}
		files++
		var any map[string]any
		readYAML(t, path, &any)
		return nil
	})
	if err != nil || files < 5 {
		t.Errorf("%d files: %v", files, err)
	}
}

// composeService is what a test needs of a service of the compose file.
type composeService struct {
	Image      string
	Profiles   []string
	Ports      []string
	Volumes    []string
	ReadOnly   bool `yaml:"read_only"`
	Entrypoint yaml.Node
	DependsOn  yaml.Node `yaml:"depends_on"`
}

func TestMonitoringIsOnlyThereWhenItIsAskedFor(t *testing.T) {
	var file map[string]yaml.Node
	readYAML(t, "docker-compose.yml", &file)
	var services map[string]composeService
	node := file["services"]
	if err := node.Decode(&services); err != nil {
		t.Fatal(err)
	}
	for name, s := range services {
		eyes := name == "prometheus" || name == "grafana"
		if eyes != slices.Equal(s.Profiles, []string{"monitoring"}) || !eyes && len(s.Profiles) > 0 {
			t.Errorf("%s is of the profiles %v", name, s.Profiles)
		}
		if !eyes {
			continue
		}
		if _, tag, ok := strings.Cut(s.Image, ":"); !ok || strings.Count(tag, ".") != 2 || !s.ReadOnly {
			t.Errorf("%s: image %s, read-only %v", name, s.Image, s.ReadOnly)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to the network: %s", name, port)
			}
		}
		for _, volume := range s.Volumes {
			from, rest, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(from, "./") {
				continue
			}
			if _, err := os.Stat(from); err != nil || !strings.HasSuffix(rest, ":ro") {
				t.Errorf("%s mounts %s: %v", name, volume, err)
			}
		}
	}
	if len(services) < 5 {
		t.Errorf("%d services", len(services))
	}
}

// Where the compose file writes the token, the configuration has to look.
func TestPrometheusFindsTheTokenAndTheGateway(t *testing.T) {
	var config struct {
		Global        map[string]string
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			Job           string `yaml:"job_name"`
			Authorization struct {
				File string `yaml:"credentials_file"`
			}
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "deploy/prometheus/prometheus.yml", &config)
	if len(config.ScrapeConfigs) != 1 || !slices.Equal(config.RuleFiles, []string{"alerts.yml"}) {
		t.Fatalf("%+v", config)
	}
	scrape := config.ScrapeConfigs[0]
	compose, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(compose), "> "+scrape.Authorization.File+" ") || scrape.Authorization.File == "" {
		t.Errorf("the token is looked for in %q", scrape.Authorization.File)
	}
	if scrape.Job != "modelgateway" || !slices.Equal(scrape.Static[0].Targets, []string{"gateway:8080"}) {
		t.Errorf("%+v", scrape)
	}
}
