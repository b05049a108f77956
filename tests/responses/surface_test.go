package responses

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

const (
	path        = "/v1/responses"
	compactPath = "/v1/responses/compact"
	countPath   = "/v1/responses/input_tokens"
	haiku       = "claude-haiku-4-5-20251001"
	flash       = "gemini-2.5-flash"
)

// body is a request for a model, with further members that begin with a comma.
func body(model, members string) string {
	return `{"model":"` + model + `","input":"What is the capital of France?","store":false` + members + `}`
}

// refused is an error that a request is answered with.
func refused(path, body string, headers []string, status int, kind, code, says, retry string) gatewaytest.Failing {
	return gatewaytest.Failing{Path: path, Body: body, Headers: headers, Status: status, Kind: kind, Code: code, Says: says, Retry: retry}
}

// Codex goes on by HTTP at once only after 426 and the end of the connection.
func TestAWebSocketIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := gatewaytest.StartAll(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
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
	const flash = "gemini-3.8-flash"
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
		refused(at, body(flash, ""), key(minute), 429, "rate_limit_error", "rate_limit_exceeded", "2 requests a minute", "true").Check(t, p)
	}
	tokens := body(flash, `,"max_output_tokens":30`)
	longtest.AwaitMinute(t, 20*time.Second)
	if a := p.Call(t, "POST", path, tokens, key(few)...); a.Status != 200 || a.Header.Get("X-Ratelimit-Limit-Tokens") != "40" {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	refused(path, tokens, key(few), 429, "rate_limit_error", "rate_limit_exceeded", "tokens a minute", "true").Check(t, p)

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
	refused(path, body(haiku, search), key(named, "X-Gateway-Strict-Params", "true"), 400, "invalid_request_error", "unsupported_value",
		"truncation", "false").Check(t, p)
	if a := p.Call(t, "OPTIONS", path, "", "Origin", "https://a.example", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,openai-beta,x-stainless-os"); a.Status != 204 ||
		a.Header.Get("Access-Control-Allow-Headers") != "authorization,openai-beta,x-stainless-os" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	for _, query := range []string{"?client_version=0.169.0", "?client_version="} {
		a := p.Call(t, "GET", "/v1/models"+query, "", key(named)...)
		if a.Status != 200 || !strings.Contains(a.Body, `"models":[{"slug":"`) || !strings.Contains(a.Body, `"id":"fast"`) {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/v1/models", "", key(named)...); strings.Contains(a.Body, `"models":`) {
		t.Errorf("%s", a.Body)
	}
}
