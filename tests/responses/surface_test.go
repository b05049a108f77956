package responses

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

const (
	path        = "/v1/responses"
	compactPath = "/v1/responses/compact"
	countPath   = "/v1/responses/input_tokens"
	haiku       = "claude-haiku-4-5-20251001"
	flash       = "gemini-2.5-flash"
	opus        = "claude-opus-4-8"
	flash3      = "gemini-3.5-flash"
)

// body is a request for a model, with further members that begin with a comma.
func body(model, members string) string {
	return `{"model":"` + model + `","input":"What is the capital of France?","store":false` + members + `}`
}

// upstreams are the scripted upstreams of a gateway that has all three providers.
type upstreams struct{ openai, anthropic, gemini *providertest.Upstream }

func (u upstreams) of(provider string) *providertest.Upstream {
	return map[string]*providertest.Upstream{"openai": u.openai, "anthropic": u.anthropic, "gemini": u.gemini}[provider]
}

// start starts a gateway with all three providers.
func start(t testing.TB, settings ...string) (*gatewaytest.Program, upstreams) {
	t.Helper()
	u := upstreams{providertest.Serve(t), providertest.Serve(t), providertest.Serve(t)}
	return gatewaytest.Start(t, append([]string{
		"OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL=" + u.openai.URL, "ANTHROPIC_API_KEY=sk-a", "ANTHROPIC_BASE_URL=" + u.anthropic.URL,
		"GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL=" + u.gemini.URL, "MAX_RETRIES=0",
	}, settings...)...), u
}

// failing is a request and the error that answers it.
type failing struct {
	name, method, path, body string
	headers                  []string
	status                   int
	kind, code, says         string // of the error
	retry                    string // x-should-retry
	after                    string // retry-after; empty: any, or none but with 429
}

func (r failing) check(t *testing.T, p *gatewaytest.Program) {
	t.Helper()
	a := p.Call(t, r.method, r.path, r.body, r.headers...)
	e := a.APIError(t)
	if a.Status != r.status || e.Type != r.kind || e.Code != r.code || !strings.Contains(e.Message, r.says) {
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

func TestEveryErrorOfTheGatewayTellsAnAgentWhatToDo(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "MAX_REQUEST_BYTES=4096", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "SIMULATOR=false", "ANTHROPIC_API_KEY=sk-a")
	token := p.Login(t)
	_, whole := p.CreateKey(t, token)
	_, narrow := p.CreateLimitedKey(t, token, `"models":["gpt-4"]`)
	_, poor := p.CreateLimitedKey(t, token, `"budget_usd":0.000001`)
	_, slow := p.CreateLimitedKey(t, token, `"rpm_limit":1`)
	key := func(text string) []string { return []string{"Authorization", "Bearer " + text} }
	with := func(more ...string) []string { return append(key(whole), more...) }
	const invalid = "invalid_request_error"
	p.Call(t, "POST", path, "{}", key(slow)...)
	p.Call(t, "POST", countPath, "{}", key(slow)...) // counts have a limit of their own
	for _, r := range []failing{
		{"not JSON", "POST", path, "hello", key(whole), 400, invalid, "invalid_json", "JSON", "false", ""},
		{"not JSON, to compact", "POST", compactPath, "hello", key(whole), 400, invalid, "invalid_json", "JSON", "false", ""},
		{"not JSON, to count", "POST", countPath, "hello", key(whole), 400, invalid, "invalid_json", "JSON", "false", ""},
		{"no model", "POST", path, `{"input":"x"}`, key(whole), 400, invalid, "missing_field", "model", "false", ""},
		{"no body", "POST", path, "", with("Content-Type", "application/json"), 400, invalid, "invalid_json", "empty", "false", ""},
		{"text", "POST", path, "{}", with("Content-Type", "text/plain"), 415, invalid, "unsupported_media_type", "JSON", "false", ""},
		{"get", "GET", path, "", key(whole), 405, invalid, "method_not_allowed", "GET", "false", ""},
		{"put", "PUT", path, "", key(whole), 405, invalid, "method_not_allowed", "PUT", "false", ""},
		{"a patch of a count", "PATCH", countPath, "", key(whole), 405, invalid, "method_not_allowed", "PATCH", "false", ""},
		{"get of a compaction", "GET", compactPath, "", key(whole), 405, invalid, "method_not_allowed", "GET", "false", ""},
		{"delete of a compaction", "DELETE", compactPath, "", key(whole), 405, invalid, "method_not_allowed", "DELETE", "false", ""},
		{"get of a count", "GET", countPath, "", key(whole), 405, invalid, "method_not_allowed", "GET", "false", ""},
		{"no credential", "POST", path, body(haiku, ""), nil, 401, "authentication_error", "missing_credentials", "", "false", ""},
		{"no credential of a count", "POST", countPath, body(haiku, ""), nil, 401, "authentication_error", "missing_credentials", "", "false", ""},
		{"no credential to compact", "POST", compactPath, body(haiku, ""), nil, 401, "authentication_error", "missing_credentials", "", "false", ""},
		{"a wrong key", "POST", path, body(haiku, ""), key("sk-proj-x"), 401, "authentication_error", "invalid_api_key", "", "false", ""},
		{"a budget", "POST", path, body(haiku, ""), key(poor), 429, "insufficient_quota", "insufficient_quota", "budget", "false", "60"},
		{"a budget, to compact", "POST", compactPath, body(haiku, ""), key(poor), 429, "insufficient_quota", "insufficient_quota", "budget", "false", "60"},
		{"a budget, of a stream", "POST", path, body(haiku, gatewaytest.Streaming), key(poor), 429, "insufficient_quota", "insufficient_quota",
			"budget", "false", "60"},
		{"another model", "POST", path, body(haiku, ""), key(narrow), 403, "permission_error", "model_not_allowed", haiku, "false", ""},
		{"another model, to compact", "POST", compactPath, body(haiku, ""), key(narrow), 403, "permission_error", "model_not_allowed", haiku, "false", ""},
		{"another model, counted", "POST", countPath, body(haiku, ""), key(narrow), 403, "permission_error", "model_not_allowed", haiku, "false", ""},
		{"an unknown model", "POST", path, body("nothing-9", ""), key(whole), 404, invalid, "model_not_found", "nothing-9", "false", ""},
		{"an unknown model, streamed", "POST", path, body("nothing-9", gatewaytest.Streaming), key(whole), 404, invalid, "model_not_found",
			"nothing-9", "false", ""},
		{"an unknown model, counted", "POST", countPath, body("nothing-9", ""), key(whole), 404, invalid, "model_not_found", "nothing-9", "false", ""},
		{"a slash", "POST", path + "/", "{}", key(whole), 404, "not_found_error", "route_not_found", "`/v1/responses`", "false", ""},
		{"/v1 twice", "POST", "/v1/v1/responses", "{}", nil, 404, "not_found_error", "route_not_found", "`/v1/responses`", "false", ""},
		{"too large", "POST", path, `{"x":"` + strings.Repeat("x", 5000) + `"}`, key(whole), 413, invalid, "request_too_large", "4 KiB", "false", ""},
		{"a large header", "POST", path, "{}", []string{"X-Big", strings.Repeat("x", 40_000)}, 431, invalid, "request_too_large", "header", "false", ""},
		{"the limit of a key", "POST", path, "{}", key(slow), 429, "rate_limit_error", "rate_limit_exceeded", "1 requests a minute", "true", ""},
		{"the limit of a key, to compact", "POST", compactPath, "{}", key(slow), 429, "rate_limit_error", "rate_limit_exceeded", "1 requests a minute",
			"true", ""},
		{"the limit of a key, counted", "POST", countPath, "{}", key(slow), 429, "rate_limit_error", "rate_limit_exceeded", "1 requests a minute",
			"true", ""},
		{"no provider", "POST", path, body(flash, ""), key(whole), 503, "api_error", "provider_error", "gemini is not configured", "false", "60"},
	} {
		r.check(t, p)
	}
}

// Codex goes on by HTTP at once only after 426 and the end of the connection.
func TestAWebSocketIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer sk-x\r\nOpenAI-Beta: responses_websockets=2026-02-06\r\n"+
		"Connection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path)
	_ = conn.SetReadDeadline(time.Now().Add(gatewaytest.Patience))
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ Error struct{ Type, Code string } }
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || resp.StatusCode != http.StatusUpgradeRequired || !resp.Close ||
		e.Error.Code != "websocket_not_supported" || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v %d %v %+v", err, resp.StatusCode, resp.Header, e)
	}
	_ = resp.Body.Close()
	if _, err := reader.ReadByte(); err == nil {
		t.Error("the connection stays open")
	}
	a := p.Call(t, "GET", path, "", "Upgrade", "h2c")
	if a.Status != 405 || a.Header.Get("Allow") != "POST" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	if a := p.Call(t, "HEAD", path, ""); a.Status != 405 {
		t.Errorf("%d %v", a.Status, a.Header)
	}
}

// What is configured for calls applies to this API as well.
func TestLimitsAndNamesApplyToResponses(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "CORS_ALLOWED_ORIGINS=https://a.example",
		"MODEL_ALIASES=gpt-6*="+haiku+";fast="+flash)
	token := p.Login(t)
	_, named := p.CreateLimitedKey(t, token, `"models":["fast","`+haiku+`"]`)
	_, minute := p.CreateLimitedKey(t, token, `"rpm_limit":2`)
	_, few := p.CreateLimitedKey(t, token, `"tpm_limit":40`)
	key := func(text string, more ...string) []string { return append([]string{"X-Api-Key", text}, more...) }

	for alias, model := range map[string]string{"gpt-6.1-sol": haiku, "fast": flash} {
		for _, at := range []string{path, compactPath, countPath} {
			if a := p.Call(t, "POST", at, body(alias, ""), key(named)...); a.Status != 200 || a.Header.Get("X-Gateway-Model-Alias") != model {
				t.Errorf("%s %s: %d %s %v", at, alias, a.Status, a.Body, a.Header)
			}
		}
	}
	for i, left := range []string{"1", "0"} {
		for _, at := range []string{path, countPath} { // each has its own
			if a := p.Call(t, "POST", at, body(flash, ""), key(minute)...); a.Status != 200 || a.Header.Get("X-Ratelimit-Remaining-Requests") != left {
				t.Errorf("%s %d: %d %v %s", at, i, a.Status, a.Header, a.Body)
			}
		}
	}
	for _, at := range []string{path, compactPath, countPath} {
		failing{at, "POST", at, body(flash, ""), key(minute), 429, "rate_limit_error", "rate_limit_exceeded", "2 requests a minute", "true", ""}.check(t, p)
	}
	tokens := body(flash, `,"max_output_tokens":30`)
	gatewaytest.AwaitEarlyMinute(t)
	if a := p.Call(t, "POST", path, tokens, key(few)...); a.Status != 200 || a.Header.Get("X-Ratelimit-Limit-Tokens") != "40" {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	failing{"tokens", "POST", path, tokens, key(few), 429, "rate_limit_error", "rate_limit_exceeded", "tokens a minute", "true", ""}.check(t, p)

	search := `,"truncation":"auto"`
	a := p.Call(t, "POST", path, body(haiku, search), key(named, "Origin", "https://a.example")...)
	if a.Status != 200 || a.Header.Get("X-Gateway-Ignored-Params") != "truncation" || a.Header.Get("X-Gateway-Provider") != "anthropic" ||
		a.Header.Get("Openai-Processing-Ms") == "" {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	exposed := strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")) + ", "
	for name := range a.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-gateway") || strings.HasPrefix(lower, "openai") {
			if !strings.Contains(exposed, lower+", ") {
				t.Errorf("a page cannot read %s", name)
			}
		}
	}
	failing{"strict", "POST", path, body(haiku, search), key(named, "X-Gateway-Strict-Params", "true"), 400, "invalid_request_error",
		"unsupported_value", "truncation", "false", ""}.check(t, p)
	if a := p.Call(t, "OPTIONS", path, "", "Origin", "https://a.example", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,openai-beta,x-stainless-os"); a.Status != 204 ||
		a.Header.Get("Access-Control-Allow-Headers") != "authorization,openai-beta,x-stainless-os" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	for _, query := range []string{"?client_version=0.169.0", "?client_version="} {
		a := p.Call(t, "GET", "/v1/models"+query, "", key(named)...)
		if a.Status != 200 || !strings.HasSuffix(a.Body, `,"models":[]}`) || !strings.Contains(a.Body, `"id":"fast"`) {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/v1/models", "", key(named)...); strings.Contains(a.Body, `"models":`) {
		t.Errorf("%s", a.Body)
	}
}

func TestAHeldBudgetIsALimitThatPasses(t *testing.T) {
	t.Parallel()
	p, u := start(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":0.02,"budget_reserve":"worst"`)
	asked := body("gpt-4", `,"max_output_tokens":50`) // may cost up to 0.015
	u.openai.Play(providertest.Script{End: providertest.Hold})
	left := make(chan struct{})
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.URL+path, strings.NewReader(asked))
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
	failing{"", "POST", path, asked, []string{"X-Api-Key", key}, 429, "rate_limit_error", "budget_held", "while other calls run", "true", "1"}.check(t, p)
	u.openai.Disconnect()
	<-left
}
