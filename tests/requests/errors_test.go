package requests

import (
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestEveryErrorHasTheSameShape(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "MAX_REQUEST_BYTES=4096")
	const chat = "/v1/chat/completions"
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		kind, code, param        string
	}{
		{"unknown path", "GET", "/nope", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"nowhere", "GET", "/nowhere", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"doubled slash", "GET", "//v1/models", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"trailing slash", "GET", "/v1/models/", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"trailing slash on chat", "POST", chat + "/", "{}", nil, 404, "not_found_error", "route_not_found", ""},
		{"upper case", "GET", "/V1/MODELS", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"dots", "GET", "/v1/../v1/models", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"escaped dots", "GET", "/v1/%2e%2e/health", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"semicolon", "GET", "/v1/models;x", "", nil, 404, "not_found_error", "route_not_found", ""},
		{"wrong method on chat", "PUT", chat, "{}", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"get of chat", "GET", chat, "", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"post of models", "POST", "/v1/models", "{}", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"delete of health", "DELETE", "/health", "", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"unknown method", "BREW", "/health", "", nil, 405, "invalid_request_error", "method_not_allowed", ""},
		{"unknown model", "GET", "/v1/models/nope", "", nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"unknown model, escaped", "GET", "/v1/models/a%2Fb%00%0Ac", "", nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"no content type", "POST", chat, "{}", []string{"Content-Type", ""}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"text", "POST", chat, "{}", []string{"Content-Type", "text/plain"}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"form", "POST", chat, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"gzip", "POST", chat, "xx", []string{"Content-Encoding", "gzip"}, 415, "invalid_request_error", "unsupported_media_type", ""},
		{"too large", "POST", chat, `{"x":"` + strings.Repeat("x", 5000) + `"}`, nil, 413, "invalid_request_error", "request_too_large", ""},
		{"large header", "GET", "/v1/models", "", []string{"X-Big", strings.Repeat("x", 40_000)}, 431, "invalid_request_error", "request_too_large", ""},
		{"not JSON", "POST", chat, "hello", nil, 400, "invalid_request_error", "invalid_json", ""},
		{"no model", "POST", chat, `{` + gatewaytest.HiMessages + `}`, nil, 400, "invalid_request_error", "missing_field", "model"},
		{"bad temperature", "POST", chat, `{"model":"gpt-4","temperature":3,` + gatewaytest.HiMessages + `}`, nil, 400, "invalid_request_error", "invalid_value", "temperature"},
		{"unknown model", "POST", chat, `{"model":"gpt-99",` + gatewaytest.HiMessages + `}`, nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"model with a NUL", "POST", chat, `{"model":"gpt-4\u0000",` + gatewaytest.HiMessages + `}`, nil, 404, "invalid_request_error", "model_not_found", "model"},
		{"provider not configured", "POST", chat, `{"model":"gpt-4",` + gatewaytest.HiMessages + `}`, nil, 503, "api_error", "provider_error", ""},
		{"provider not configured, stream", "POST", chat, `{"model":"gpt-4","stream":true,` + gatewaytest.HiMessages + `}`, nil, 503, "api_error", "provider_error", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := p.Call(t, tt.method, tt.path, tt.body, tt.headers...)
			f := a.APIError(t)
			if a.Status != tt.status || f.Type != tt.kind || f.Code != tt.code || f.Message == "" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			if tt.param == "" && f.Param != nil || tt.param != "" && (f.Param == nil || *f.Param != tt.param) {
				t.Errorf("param: %s", a.Body)
			}
			if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-Request-Id") == "" ||
				a.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("header: %v", a.Header)
			}
			if tt.status == 405 && a.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if tt.status == 503 && a.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
		})
	}
}

func TestEmptyBodyAndEmptyMessagesAreNamed(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	for body, want := range map[string]string{
		"": "the body is empty", `{"model":"gpt-4","messages":[]}`: "messages is required, with at least one message",
	} {
		a := p.Call(t, "POST", "/v1/chat/completions", body, "Content-Type", "application/json")
		if a.Status != 400 || a.APIError(t).Message != want {
			t.Errorf("%q: %d %s", body, a.Status, a.Body)
		}
	}
}

func TestPreflightWithoutCORSNamesTheSetting(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	if a := p.Call(t, "OPTIONS", "/v1/chat/completions", ""); a.Status != 405 || !strings.Contains(a.APIError(t).Message, "CORS_ALLOWED_ORIGINS") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
