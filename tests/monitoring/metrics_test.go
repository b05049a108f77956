package monitoring

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"modelgateway/tests/gatewaytest"
)

func TestMetricsCountRequestsTokensAndErrors(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	const ask = `{"model":"claude-haiku-4-5-20251001","messages":[{"role":"user","content":"hello"}]`
	for range 3 {
		if a := p.Call(t, "POST", "/v1/chat/completions", ask+"}"); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	p.Call(t, "POST", "/v1/chat/completions", ask+`,"stream":true}`)
	p.Call(
		t,
		"POST",
		"/v1/chat/completions",
		`{"model":"`+strings.Repeat("no-such-model", 5)+`","messages":[{"role":"user","content":"x"}]}`,
	)
	p.Get(t, "/nothing/here/"+strings.Repeat("x", 50))
	a := p.Get(t, "/metrics")
	if a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	got := gatewaytest.ParseMetrics(t, a.Body)
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
	if strings.Contains(a.Body, "no-such-model") || strings.Contains(a.Body, "xxxx") {
		t.Error("what a request says has become a label")
	}
}

func TestMetricsNeedTheTokenWhereOneIsSet(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "METRICS_TOKEN=collector-7f3a", "SIMULATOR=true")
	for _, headers := range [][]string{nil, {"Authorization", "Bearer wrong"}, {"Authorization", "collector-7f3a"}, {"X-API-Key", "collector-7f3a"}} {
		if a := p.Call(t, "GET", "/metrics", "", headers...); a.Status != 401 || a.APIError(t).Type != "authentication_error" {
			t.Errorf("%v: %d %s", headers, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/metrics", "", "Authorization", "Bearer collector-7f3a"); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestMetricsAreClosedWithoutATokenWhereCredentialsAreRequired(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	for _, headers := range [][]string{nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer x"}, p.Login(t)} {
		a := p.Call(t, "GET", "/metrics", "", headers...)
		if a.Status != 401 || !strings.Contains(a.APIError(t).Message, "METRICS_TOKEN") {
			t.Errorf("%v: %d %s", headers, a.Status, a.Body)
		}
	}
}

// The rules of promtool check metrics.
func TestMetricsFollowThePrometheusFormat(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	p.Chat(t, `{"model":"gemini-3.8-flash","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
	a := p.Get(t, "/metrics")
	if a.Status != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %v", a.Status, a.Header)
	}
	problems, err := promlint.New(strings.NewReader(a.Body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	for name, family := range parseExposition(t, a.Body) {
		if family.GetHelp() == "" || len(family.GetMetric()) == 0 {
			t.Errorf("%s has no help or no sample", name)
		}
		if strings.HasPrefix(name, "modelgateway_") && strings.HasSuffix(name, "_total") != (family.GetType() == dto.MetricType_COUNTER) {
			t.Errorf("%s is a %s", name, family.GetType())
		}
	}
}
