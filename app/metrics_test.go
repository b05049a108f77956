package app

import (
	"bufio"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// figures are the lines of /metrics, by their name with labels.
func figures(t *testing.T, text string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(text)) //nolint:forbidigo // our own short lines
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		if !ok || strings.HasPrefix(name, "#") {
			name, value, ok = strings.Cut(lines.Text(), " ")
		} else {
			name += "}"
		}
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			all[name] = n
		}
	}
	return all
}

func TestMetricsCountWhatWasDone(t *testing.T) {
	p := start(t, "SIMULATOR=true")
	const ask = `{"model":"claude-haiku-4-5-20251001","messages":[{"role":"user","content":"hello"}]`
	for range 3 {
		if a := p.call(t, "POST", "/v1/chat/completions", ask+"}"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	p.call(t, "POST", "/v1/chat/completions", ask+`,"stream":true}`)
	p.call(t, "POST", "/v1/chat/completions", `{"model":"`+strings.Repeat("no-such-model", 5)+`","messages":[{"role":"user","content":"x"}]}`)
	p.get(t, "/nothing/here/"+strings.Repeat("x", 50))
	a := p.get(t, "/metrics")
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	got := figures(t, a.body)
	for name, want := range map[string]float64{
		`modelgateway_http_requests_total{route="/v1/chat/completions",status="200"}`:                            4,
		`modelgateway_http_requests_total{route="/v1/chat/completions",status="404"}`:                            1,
		`modelgateway_http_requests_total{route="none",status="404"}`:                                            1,
		`modelgateway_http_request_duration_seconds_count{route="/v1/chat/completions"}`:                         5,
		`modelgateway_http_requests_in_flight`:                                                                   1,
		`modelgateway_upstream_calls_total{model="claude-haiku-4-5-20251001",outcome="ok",provider="anthropic"}`: 4,
		`modelgateway_upstream_wait_seconds_count{provider="anthropic"}`:                                         4,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for _, kind := range []string{"input", "output"} {
		if n := got[`modelgateway_tokens_total{model="claude-haiku-4-5-20251001",provider="anthropic",type="`+kind+`"}`]; n < 4 {
			t.Errorf("%v tokens of %s in four calls", n, kind)
		}
	}
	if strings.Contains(a.body, "no-such-model") || strings.Contains(a.body, "xxxx") {
		t.Error("what a request says has become a label")
	}
}

func TestMetricsAreForTheirCollectorWhereATokenIsSet(t *testing.T) {
	p := start(t, "METRICS_TOKEN=collector-7f3a", "SIMULATOR=true")
	for _, headers := range [][]string{nil, {"Authorization", "Bearer wrong"}, {"Authorization", "collector-7f3a"}, {"X-API-Key", "collector-7f3a"}} {
		if a := p.call(t, "GET", "/metrics", "", headers...); a.status != 401 || a.fault(t).Type != "authentication_error" {
			t.Errorf("%v: %d %s", headers, a.status, a.body)
		}
	}
	if a := p.call(t, "GET", "/metrics", "", "Authorization", "Bearer collector-7f3a"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// What promtool check metrics asks of them.
func TestWhatIsServedIsAsPrometheusWantsIt(t *testing.T) {
	p := start(t, "SIMULATOR=true")
	p.chat(t, `{"model":"gemini-2.5-flash","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
	a := p.get(t, "/metrics")
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %v", a.status, a.header)
	}
	problems, err := promlint.New(strings.NewReader(a.body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	for name, family := range exposed(t, a.body) {
		if family.GetHelp() == "" || len(family.GetMetric()) == 0 {
			t.Errorf("%s has no help or no sample", name)
		}
		if strings.HasPrefix(name, "modelgateway_") && strings.HasSuffix(name, "_total") != (family.GetType() == dto.MetricType_COUNTER) {
			t.Errorf("%s is a %s", name, family.GetType())
		}
	}
}
