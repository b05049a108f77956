package messages

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// failing is a request and the error that answers it.
type failing struct {
	name, method, path, body string
	headers                  []string
	status                   int
	kind, says               string // the type of the error, and a part of its message
	retry                    string // x-should-retry
	after                    string // retry-after; empty: any, or none but with 429
}

func (r failing) check(t *testing.T, p *gatewaytest.Program) {
	t.Helper()
	a := p.Call(t, r.method, r.path, r.body, r.headers...)
	e := problemOf(t, a)
	if a.Status != r.status || e.Error.Type != r.kind || !strings.Contains(e.Error.Message, r.says) {
		t.Errorf("%s: %d %s", r.name, a.Status, a.Body)
	}
	if a.Header.Get("X-Should-Retry") != r.retry || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s: %v", r.name, a.Header)
	}
	after := a.Header.Get("Retry-After")
	if n, err := strconv.Atoi(after); r.after != "" && after != r.after || a.Status == 429 && (err != nil || n < 1) {
		t.Errorf("%s: Retry-After %q", r.name, after)
	}
	if a.Status == 405 && a.Header.Get("Allow") == "" || a.Status == 401 && a.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("%s: %v", r.name, a.Header)
	}
}

func TestEveryErrorOfTheGatewayHasAnthropicsForm(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "MAX_REQUEST_BYTES=4096", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "SIMULATOR=false", "ANTHROPIC_API_KEY=sk-a")
	token := p.Login(t)
	_, whole := p.CreateKey(t, token)
	_, narrow := p.CreateLimitedKey(t, token, `"models":["gpt-4"]`)
	_, poor := p.CreateLimitedKey(t, token, `"budget_usd":0.000001`)
	_, slow := p.CreateLimitedKey(t, token, `"rpm_limit":1`)
	key := func(text string) []string { return []string{"X-Api-Key", text} }
	version := []string{"Anthropic-Version", "2023-06-01"}
	with := func(more ...string) []string { return append(key(whole), more...) }
	p.Call(t, "POST", path, "{}", key(slow)...)
	for _, r := range []failing{
		{"not JSON", "POST", path, "hello", key(whole), 400, "invalid_request_error", "JSON", "false", ""},
		{"no limit", "POST", path, `{"model":"` + haiku + `","messages":[{"role":"user","content":"x"}]}`, key(whole), 400,
			"invalid_request_error", "max_tokens: Field required", "false", ""},
		{"no body", "POST", path, "", with("Content-Type", "application/json"), 400, "invalid_request_error", "empty", "false", ""},
		{"text", "POST", path, "{}", with("Content-Type", "text/plain"), 415, "invalid_request_error", "JSON", "false", ""},
		{"get", "GET", path, "", key(whole), 405, "invalid_request_error", "GET", "false", ""},
		{"get of a count", "GET", countPath, "", key(whole), 405, "invalid_request_error", "GET", "false", ""},
		{"no credential", "POST", path, body(haiku, ""), nil, 401, "authentication_error", "", "false", ""},
		{"no credential of a count", "POST", countPath, asked(haiku), nil, 401, "authentication_error", "", "false", ""},
		{"a wrong key", "POST", path, body(haiku, ""), key("sk-ant-api03-x"), 401, "authentication_error", "", "false", ""},
		{"a budget", "POST", path, body(haiku, ""), key(poor), 402, "billing_error", "budget", "false", ""},
		{"another model", "POST", path, body(haiku, ""), key(narrow), 403, "permission_error", haiku, "false", ""},
		{"another model, counted", "POST", countPath, asked(haiku), key(narrow), 403, "permission_error", haiku, "false", ""},
		{"an unknown model", "POST", path, body("nothing-9", ""), key(whole), 404, "not_found_error", "model: ", "false", ""},
		{"an unknown model, counted", "POST", countPath, asked("nothing-9"), key(whole), 404, "not_found_error", "model: ", "false", ""},
		{"batches", "POST", path + "/batches", "{}", key(whole), 404, "not_found_error", "/v1/messages/batches", "false", ""},
		{"a batch", "GET", path + "/batches/b/results", "", nil, 404, "not_found_error", "", "false", ""},
		{"a slash", "POST", path + "/", "{}", key(whole), 404, "not_found_error", "`/v1/messages`", "false", ""},
		{"completions", "POST", "/v1/complete", "{}", nil, 404, "not_found_error", "", "false", ""},
		{"files", "GET", "/v1/files", "", nil, 404, "not_found_error", "", "false", ""},
		{"skills", "GET", "/v1/skills/x", "", nil, 404, "not_found_error", "", "false", ""},
		{"/v1 twice", "POST", "/v1/v1/messages", "{}", version, 404, "not_found_error", "`/v1/messages`", "false", ""},
		{"models without a key", "GET", "/v1/models", "", version, 401, "authentication_error", "", "false", ""},
		{"a method of models", "POST", "/v1/models", "{}", version, 405, "invalid_request_error", "", "false", ""},
		{"too large", "POST", path, `{"x":"` + strings.Repeat("x", 5000) + `"}`, key(whole), 413, "request_too_large", "4 KiB", "false", ""},
		{"a large header", "POST", path, "{}", []string{"X-Big", strings.Repeat("x", 40_000)}, 413, "request_too_large", "header", "false", ""},
		{"the limit of a key", "POST", path, "{}", key(slow), 429, "rate_limit_error", "1 requests a minute", "true", ""},
		{"no provider", "POST", path, body("gemini-2.5-flash", ""), key(whole), 503, "api_error", "gemini is not configured", "false", "60"},
	} {
		r.check(t, p)
	}
}

// What Anthropic says is passed on as it is, and what other providers say is told in its
// words.
func TestErrorsOfProvidersHaveAnthropicsForm(t *testing.T) {
	t.Parallel()
	p, u := start(t, "ANTHROPIC_API_KEY=a1,a2,a3,a4", "OPENAI_API_KEY=o1,o2,o3,o4")
	long := "prompt is too long: 210000 tokens > 200000 maximum"
	for _, r := range []struct {
		failing
		script providertest.Script
		raw    bool // the answer is the upstream's, byte for byte
	}{
		{failing{status: 400, kind: "invalid_request_error", says: long, retry: "false"}, refusal(400, "invalid_request_error", long), true},
		{failing{status: 404, kind: "not_found_error", says: "model: x", retry: "false"}, refusal(404, "not_found_error", "model: x"), true},
		{failing{status: 413, kind: "request_too_large", says: "big", retry: "false"}, refusal(413, "request_too_large", "big"), true},
		{failing{status: 422, kind: "invalid_request_error", says: "no", retry: "false"}, refusal(422, "invalid_request_error", "no"), true},
		{failing{status: 529, kind: "overloaded_error", says: "Overloaded", retry: "true"}, refusal(529, "overloaded_error", "Overloaded"), true},
		{failing{status: 500, kind: "api_error", says: "boom", retry: "true"}, refusal(500, "api_error", "boom"), true},
		{failing{status: 502, kind: "api_error", says: "credentials", retry: "false"}, refusal(401, "authentication_error", "invalid x-api-key"), false},
		{failing{status: 502, kind: "api_error", says: "", retry: "true"}, gatewaytest.JSON(500, "<html>"), false},
	} {
		u.anthropic.Play(r.script)
		a := p.Call(t, "POST", path, body(haiku, ""))
		e, want := problemOf(t, a), string(r.script.Pieces[0])
		if a.Status != r.status || e.Error.Type != r.kind || !strings.Contains(e.Error.Message, r.says) || a.Header.Get("X-Should-Retry") != r.retry {
			t.Errorf("%s: %d %s %v", want, a.Status, a.Body, a.Header)
		}
		if r.raw != (a.Body == want) || r.raw != (e.RequestID == "req_upstream") {
			t.Errorf("%s became %s", want, a.Body)
		}
	}
	for _, r := range []struct {
		failing
		script providertest.Script
	}{
		{failing{status: 400, kind: "invalid_request_error", says: "odd", retry: "false"}, openAIRefusal(400, "odd")},
		{failing{status: 400, kind: "invalid_request_error", says: "prompt is too long: ", retry: "false"}, gatewaytest.JSON(400, `{"error":{"message":"This model's `+
			`maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages",`+
			`"code":"context_length_exceeded"}}`)},
		{failing{status: 413, kind: "request_too_large", says: "big", retry: "false"}, openAIRefusal(413, "big")},
		{failing{status: 529, kind: "overloaded_error", retry: "true"}, openAIRefusal(503, "busy")},
		{failing{status: 502, kind: "api_error", retry: "true"}, openAIRefusal(500, "boom")},
		{failing{status: 502, kind: "api_error", says: "credentials", retry: "false"}, openAIRefusal(401, "sk-o")},
	} {
		u.openai.Play(r.script)
		a := p.Call(t, "POST", path, body("gpt-4", ""))
		e := problemOf(t, a)
		if a.Status != r.status || e.Error.Type != r.kind || !strings.Contains(e.Error.Message, r.says) || a.Header.Get("X-Should-Retry") != r.retry {
			t.Errorf("%s: %d %s %v", r.script.Pieces[0], a.Status, a.Body, a.Header)
		}
	}
}

// Agents give up after a 429 without retry-after, and ask again too soon without
// x-should-retry.
func TestEvery429SaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		after        string // the upstream's
		told, should string
	}{{"2", "2", "true"}, {"", "1", "true"}, {"90", "90", "false"}} {
		p, u := start(t)
		u.anthropic.Play(refusal(429, "rate_limit_error", "slow down", "Retry-After", tt.after))
		u.openai.Play(openAIRefusal(429, "slow down", "Retry-After", tt.after))
		for _, model := range []string{haiku, "gpt-4"} {
			a := p.Call(t, "POST", path, body(model, ""))
			if e := problemOf(t, a); a.Status != 429 || e.Error.Type != "rate_limit_error" || a.Header.Get("Retry-After") != tt.told ||
				a.Header.Get("X-Should-Retry") != tt.should {
				t.Errorf("%d, %s: %d %s %v", i, model, a.Status, a.Body, a.Header)
			}
		}
	}
}

func TestAnOpenCircuitIsAnOverload(t *testing.T) {
	t.Parallel()
	p, u := start(t)
	u.openai.Play(openAIRefusal(500, "boom"))
	for range 12 {
		p.Call(t, "POST", path, body("gpt-4", ""))
	}
	failing{"", "POST", path, body("gpt-4", ""), nil, 529, "overloaded_error", "openai has failed too often", "true", ""}.check(t, p)
}

func TestALateProviderIsATimeout(t *testing.T) {
	t.Parallel()
	p, u := start(t, "UPSTREAM_TIMEOUT_SECONDS=1")
	hold := providertest.Script{End: providertest.Hold}
	u.openai.Play(hold)
	failing{"", "POST", path, body("gpt-4", ""), nil, 504, "timeout_error", "openai", "true", ""}.check(t, p)
}

func TestABudgetThatRunningCallsHoldIsALimit(t *testing.T) {
	t.Parallel()
	p, u := start(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":0.02,"budget_reserve":"worst"`) // a call may cost up to 0.015
	hold := providertest.Script{End: providertest.Hold}
	u.openai.Play(hold)
	left := make(chan struct{})
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.URL+path, strings.NewReader(body("gpt-4", "")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", key)
	go func() {
		defer close(left)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	gatewaytest.Until(t, "the first call runs", func() bool { return len(u.openai.Requests()) == 1 })
	failing{"", "POST", path, body("gpt-4", ""), []string{"X-Api-Key", key}, 429, "rate_limit_error", "while other calls run", "true", "1"}.check(t, p)
	u.openai.Disconnect()
	<-left
}

// The error of a stream has the id of the header, and nothing follows it.
func TestABrokenStreamEndsWithAnErrorEvent(t *testing.T) {
	t.Parallel()
	p, u := start(t)
	f := gatewaytest.Providers()
	u.openai.Play(gatewaytest.Events(providertest.Reset, f[0].Start, f[0].Text("a")))
	u.anthropic.Play(gatewaytest.Events(providertest.Reset, f[1].Start, f[1].Text("a")))
	u.gemini.Play(gatewaytest.Events(providertest.Reset, f[2].Start, f[2].Text("a")))
	for _, provider := range f {
		a := p.Call(t, "POST", path, body(provider.Model, gatewaytest.Streaming))
		_, last, found := strings.Cut(a.Body, "event: error\ndata: ")
		if a.Status != 200 || a.Err == nil || !found || strings.Contains(a.Body, "message_stop") {
			t.Errorf("%s: %d %v %s", provider.Name, a.Status, a.Err, a.Body)
			continue
		}
		e := problemOf(t, gatewaytest.Answer{Status: a.Status, Header: a.Header, Body: strings.TrimSpace(last)})
		if e.Error.Type != "api_error" {
			t.Errorf("%s: %s", provider.Name, last)
		}
	}
}

// Chat completions keep their form, and so do other routes, also for a client that sends
// the version.
func TestOtherRoutesKeepTheirErrors(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "RATE_LIMIT_RPM=100")
	for i, a := range []gatewaytest.Answer{
		p.Chat(t, "{}", "Anthropic-Version", "2023-06-01"), p.Get(t, "/v1/models/nothing"), p.Get(t, "/v1/nothing"),
		p.Call(t, "GET", "/auth/keys", "", "Anthropic-Version", "2023-06-01"), p.Get(t, "/v1/usages"),
	} {
		if e := a.APIError(t); e.Code == "" || a.Header.Get("Request-Id") != "" || a.Header.Get("Anthropic-Ratelimit-Requests-Limit") != "" {
			t.Errorf("%s: %s %v", fmt.Sprint(i), a.Body, a.Header)
		}
	}
}
