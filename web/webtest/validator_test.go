package webtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func validator(t *testing.T) *Validator {
	t.Helper()
	v, err := NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// refused fails the test unless err contains want. An empty want stands for no
// error.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("passed, want an error with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %v, want %q", err, want)
	}
}

// replaced is text with one change. It fails when old is not in text, so that no
// case passes by mistake.
func replaced(t *testing.T, text, old, new string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not in %s", old, text)
	}
	return strings.Replace(text, old, new, 1)
}

func headers(pairs ...string) http.Header {
	h := http.Header{"X-Request-Id": {"abc"}, "Content-Type": {"application/json; charset=utf-8"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func chatHeaders(pairs ...string) http.Header {
	return headers(append([]string{"x-gateway-provider", "openai", "openai-processing-ms", "12"}, pairs...)...)
}

func errorHeaders(pairs ...string) http.Header {
	return headers(append([]string{"x-should-retry", "false"}, pairs...)...)
}

const (
	completion = `{"id":"chatcmpl-1","object":"chat.completion","created":1763711640,"model":"gpt-4-turbo",
		"choices":[{"index":0,"message":{"role":"assistant","content":"Hi.","refusal":null},"logprobs":null,"finish_reason":"stop"}],
		"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0}},
		"service_tier":"default","system_fingerprint":null,"x_upstream":{"new":true}}`
	toolAnswer = `{"id":"msg_1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,
		"reasoning_content":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm.","signature":"s","format":"anthropic-claude-v1","index":0},
		{"type":"reasoning.encrypted","data":"d","format":"google-gemini-v1","index":1}],
		"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]},
		"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`
	model = `{"id":"gemini-2.5-flash","object":"model","created":1750118400,"owned_by":"gemini","permission":[],"root":"gemini-2.5-flash",
		"parent":null,"available":true,"state":"deprecated","shutdown_date":"2026-12-01","successor":"x","context_window":1048576,"max_output_tokens":65536}`
	health = `{"status":"degraded","version":"1","uptime":0,"providers":{"anthropic":"healthy","openai":"unhealthy","gemini":"degraded"},
		"database":"healthy","cache":"healthy","simulated":true}`
	badTemperature = `{"error":{"type":"invalid_request_error","message":"temperature is wrong","code":"invalid_value","param":"temperature"}}`
	providerFailed = `{"error":{"type":"api_error","message":"openai failed","code":"provider_error","param":null,"provider":"openai","upstream_status":500}}`
)

func TestSchemasRefuseWrongValues(t *testing.T) {
	v := validator(t)
	for _, c := range []struct{ schema, good, old, new, want string }{
		{"ChatCompletion", completion, "", "", ""},
		{"ChatCompletion", completion, `"id":"chatcmpl-1",`, ``, "id"},
		{"ChatCompletion", completion, `"chatcmpl-1"`, `""`, "/id"},
		{"ChatCompletion", completion, `chat.completion"`, `chat.completions"`, "/object"},
		{"ChatCompletion", completion, `1763711640`, `1763711640.5`, "/created"},
		{"ChatCompletion", completion, `1763711640`, `"1763711640"`, "/created"},
		{"ChatCompletion", completion, `"gpt-4-turbo"`, `null`, "/model"},
		{"ChatCompletion", completion, `"index":0`, `"index":-1`, "/choices/0/index"},
		{"ChatCompletion", completion, `"assistant"`, `"model"`, "/choices/0/message/role"},
		{"ChatCompletion", completion, `"Hi."`, `["Hi."]`, "/choices/0/message/content"},
		{"ChatCompletion", completion, `"Hi."`, `null`, "/choices/0/message"},
		{"ChatCompletion", completion, `"Hi.","refusal":null`, `null,"refusal":"No."`, ""},
		{"ChatCompletion", completion, `"refusal":null`, `"tool_calls":[]`, "/choices/0/message/tool_calls"},
		{"ChatCompletion", completion, `"refusal":null`, `"tool_calls":null`, "/choices/0/message/tool_calls"},
		{"ChatCompletion", completion, `"refusal":null`, `"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]`, ""},
		{"ChatCompletion", completion, `"refusal":null`, `"images":[{"type":"image_url","image_url":{}}]`, "/choices/0/message/images"},
		{"ChatCompletion", completion, `"stop"`, `"end_turn"`, "/choices/0/finish_reason"},
		{"ChatCompletion", completion, `"stop"`, `null`, "/choices/0/finish_reason"},
		{"ChatCompletion", completion, `"prompt_tokens":3`, `"prompt_tokens":-3`, "/usage/prompt_tokens"},
		{"ChatCompletion", completion, `"cached_tokens":0`, `"cached_tokens":null`, "cached_tokens"},
		{"ChatCompletion", completion, `,"total_tokens":5`, ``, "total_tokens"},
		{"ChatCompletion", completion, `"usage"`, `"tokens"`, "usage"},
		{"ChatCompletion", completion, `"id":"chatcmpl-1"`, `"id":"chatcmpl-1","id":"chatcmpl-1"`, "not valid JSON"},
		{"ChatCompletion", completion, `Hi.`, "\xff", "not valid JSON"},
		{"ChatCompletion", toolAnswer, "", "", ""},
		{"ChatCompletion", toolAnswer, `"id":"t1"`, `"id":""`, "tool_calls/0"},
		{"ChatCompletion", toolAnswer, `"type":"function",`, ``, "tool_calls/0"},
		{"ChatCompletion", toolAnswer, `"arguments":"{}"`, `"arguments":{}`, "tool_calls/0"},
		{"ChatCompletion", toolAnswer, `{"google":`, `[{"google":`, "not valid JSON"},
		{"ChatCompletion", toolAnswer, `"reasoning.text"`, `"thinking"`, "reasoning_details/0/type"},
		{"ChatCompletion", toolAnswer, `"data":"d",`, ``, "reasoning_details/1"},
		{"ChatCompletion", toolAnswer, `"index":1`, `"index":"1"`, "reasoning_details/1/index"},
		{"ChatCompletion", toolAnswer, `"reasoning_content":"Hm."`, `"reasoning_content":""`, "reasoning_content"},
		{"Model", model, "", "", ""},
		{"Model", model, `"model"`, `"models"`, "/object"},
		{"Model", model, `"owned_by":"gemini"`, `"owned_by":"Google Inc"`, "/owned_by"},
		{"Model", model, `"available":true,`, ``, "available"},
		{"Model", model, `true`, `"yes"`, "/available"},
		{"Model", model, `"deprecated"`, `"legacy"`, "/state"},
		{"Model", model, `2026-12-01`, `soon`, "/shutdown_date"},
		{"Model", model, `"parent":null`, `"parent":0`, "/parent"},
		{"Model", model, `[]`, `null`, "/permission"},
		{"Model", model, `1048576`, `0`, "/context_window"},
		{"ModelList", `{"object":"list","data":[` + model + `]}`, "", "", ""},
		{"ModelList", `{"object":"list","data":[]}`, `[]`, `null`, "/data"},
		{"ModelList", `{"object":"list","data":[` + model + `]}`, `"root"`, `"base"`, "/data/0"},
		{"Health", health, "", "", ""},
		{"Health", health, `"degraded"`, `"ok"`, "/status"},
		{"Health", health, `"uptime":0`, `"uptime":0.5`, "/uptime"},
		{"Health", health, `"gemini":"degraded"`, `"google":"degraded"`, "/providers"},
		{"Health", health, `"openai":"unhealthy"`, `"openai":"down"`, "/providers/openai"},
		{"Health", health, `"cache":"healthy"`, `"cache":true`, "/cache"},
		{"Error", badTemperature, "", "", ""},
		{"Error", badTemperature, `"param":"temperature"`, `"param":null`, ""},
		{"Error", badTemperature, `,"param":"temperature"`, ``, "param"},
		{"Error", badTemperature, `"param":"temperature"`, `"param":""`, "/error/param"},
		{"Error", badTemperature, `"temperature is wrong"`, `""`, "/error/message"},
		{"Error", badTemperature, `"invalid_value"`, `null`, "/error/code"},
		{"Error", badTemperature, `"invalid_request_error"`, `"bad"`, "/error/type"},
		{"Error", badTemperature, `"param"`, `"provider":"openai","param"`, "/error/provider"},
		{"Error", badTemperature, `{"error":`, `{"message":"x","errors":`, "error"},
		{"Error", providerFailed, "", "", ""},
		{"Error", providerFailed, `,"upstream_status":500`, ``, ""},
		{"Error", providerFailed, `"provider":"openai",`, ``, "provider"},
		{"Error", providerFailed, `"provider":"openai"`, `"provider":"api.openai.com"`, "/error/provider"},
		{"Error", providerFailed, `"api_error"`, `"rate_limit_error"`, "/error/type"},
		{"Error", providerFailed, `500`, `0`, "/error/upstream_status"},
		{"Nothing", `{}`, "", "", "no schema"},
	} {
		t.Run(c.schema+" "+c.old+" to "+c.new, func(t *testing.T) {
			refused(t, v.Schema(c.schema, []byte(replaced(t, c.good, c.old, c.new))), c.want)
		})
	}
}

func TestResponseChecksStatusHeadersAndBody(t *testing.T) {
	v := validator(t)
	const chat, models, wrong = "POST /v1/chat/completions", "GET /v1/models", "GET /v1/no-such-route"
	list := `{"object":"list","data":[` + model + `]}`
	coded := func(kind, code string) string {
		return `{"error":{"type":"` + kind + `","message":"m","code":"` + code + `","param":null}}`
	}
	for _, c := range []struct {
		name, call string
		status     int
		header     http.Header
		body, want string
	}{
		{"completion", chat, 200, chatHeaders(), completion, ""},
		{"completion with every header", chat, 200, chatHeaders("x-gateway-ignored-params", "seed, n", "x-gateway-model-redirected", "old"), completion, ""},
		{"wrong body", chat, 200, chatHeaders(), model, "/object"},
		{"trailing bytes", chat, 200, chatHeaders(), completion + "{}", "not valid JSON"},
		{"no request id", chat, 200, chatHeaders("x-request-id", ""), completion, "x-request-id"},
		{"no name of a provider", chat, 200, chatHeaders("x-gateway-provider", "Azure EU"), completion, "x-gateway-provider"},
		{"a time that is no number", chat, 200, chatHeaders("openai-processing-ms", "12ms"), completion, "openai-processing-ms"},
		{"an empty list of ignored fields", chat, 200, chatHeaders("x-gateway-ignored-params", ""), completion, "x-gateway-ignored-params"},
		{"an undocumented status", chat, 201, chatHeaders(), completion, "no such status"},
		{"a wrong content type", chat, 200, chatHeaders("Content-Type", "text/plain"), completion, "content type"},
		{"no content type", chat, 200, chatHeaders("Content-Type", ""), completion, "content type"},
		{"bad request", chat, 400, errorHeaders(), badTemperature, ""},
		{"bad request that invites to retry", chat, 400, errorHeaders("x-should-retry", "true"), badTemperature, "x-should-retry"},
		{"bad request without advice", chat, 400, headers(), badTemperature, "x-should-retry is missing"},
		{"a code of another status", chat, 404, errorHeaders(), badTemperature, "/error/code"},
		{"unauthorized", chat, 401, errorHeaders("WWW-Authenticate", "Bearer"), coded("authentication_error", "invalid_api_key"), ""},
		{"unauthorized without a challenge", chat, 401, errorHeaders(), coded("authentication_error", "invalid_api_key"), "WWW-Authenticate is missing"},
		{"rate limit", chat, 429, errorHeaders("x-should-retry", "true", "Retry-After", "20"), coded("rate_limit_error", "rate_limit_exceeded"), ""},
		{"rate limit without a wait", chat, 429, errorHeaders("x-should-retry", "true"), coded("rate_limit_error", "rate_limit_exceeded"), "Retry-After"},
		{"rate limit with a date", models, 429, errorHeaders("Retry-After", "Fri, 21 Nov 2026 08:00:00 GMT"), coded("rate_limit_error", "rate_limit_exceeded"), "Retry-After"},
		{"bad gateway", chat, 502, errorHeaders("x-should-retry", "true"), providerFailed, ""},
		{"bad gateway without a provider", chat, 502, errorHeaders(), coded("api_error", "internal_error"), "/error/code"},
		{"an error that is not JSON", chat, 500, errorHeaders("Content-Type", "text/plain"), "oops", "content type"},
		{"a file that the client has", "GET /docs/page.css", 304, http.Header{"X-Request-Id": {"abc"}}, "", ""},
		{"a file that the client has, with a body", "GET /docs/page.css", 304, headers(), "body", "no body"},
		{"models", models, 200, headers(), list, ""},
		{"models with a query", models + "?limit=3", 200, headers(), list, ""},
		{"one model, with dots and dashes", "GET /v1/models/gemini-2.5-flash", 200, headers(), model, ""},
		{"one model that is a list", "GET /v1/models/gemini-2.5-flash", 200, headers(), list, "/object"},
		{"unknown model", "GET /v1/models/gpt-99", 404, errorHeaders(), coded("invalid_request_error", "model_not_found"), ""},
		{"no model", "GET /v1/models/", 404, errorHeaders(), coded("not_found_error", "route_not_found"), ""},
		{"health", "GET /health", 200, headers(), health, ""},
		{"healthy with the status of unhealthy", "GET /health", 503, headers(), health, "/status"},
		{"unhealthy", "GET /health", 503, headers(), replaced(t, health, "degraded", "unhealthy"), ""},
		{"alive", "GET /livez", 200, headers(), `{"status":"ok"}`, ""},
		{"half alive", "GET /livez", 200, headers(), `{"status":"healthy"}`, "/status"},
		{"not ready", "GET /readyz", 503, errorHeaders("x-should-retry", "true"), coded("api_error", "service_unavailable"), ""},
		{"document", "GET /openapi.yaml", 200, headers("Content-Type", "application/yaml"), "openapi: 3.1.1", ""},
		{"empty page", "GET /docs", 200, headers("Content-Type", "text/html; charset=utf-8"), "", "empty"},
		{"head", "HEAD /health", 200, headers(), "", ""},
		{"head with a body", "HEAD /health", 200, headers(), health, "HEAD"},
		{"head refused", "HEAD /health", 405, errorHeaders("Allow", "GET"), "", ""},
		{"unknown path", wrong, 404, errorHeaders(), coded("not_found_error", "route_not_found"), ""},
		{"unknown path in plain text", wrong, 404, errorHeaders("Content-Type", "text/plain"), "404 page not found", "content type"},
		{"unknown path with a bare message", wrong, 404, errorHeaders(), `{"message":"not found"}`, "error"},
		{"unknown path that answers", wrong, 200, headers(), `{}`, "no such operation"},
		{"unknown path refused otherwise", wrong, 401, errorHeaders(), coded("authentication_error", "invalid_api_key"), ""},
		{"unknown path refused in another shape", wrong, 401, errorHeaders(), `{"error":"no"}`, "/error"},
		{"wrong method", "DELETE /v1/models", 405, errorHeaders("Allow", "GET"), coded("invalid_request_error", "method_not_allowed"), ""},
		{"wrong method without Allow", "DELETE /v1/models", 405, errorHeaders(), coded("invalid_request_error", "method_not_allowed"), "Allow"},
		{"wrong method as 404", "DELETE /v1/models", 404, errorHeaders(), coded("not_found_error", "route_not_found"), "405"},
	} {
		t.Run(c.name, func(t *testing.T) {
			method, target, _ := strings.Cut(c.call, " ")
			req := httptest.NewRequest(method, target, nil)
			for name, values := range c.header {
				if values[0] == "" && name != "X-Gateway-Ignored-Params" {
					c.header.Del(name)
				}
			}
			refused(t, v.Response(req, c.status, c.header, []byte(c.body)), c.want)
		})
	}
}

func TestResponseAcceptsPreflights(t *testing.T) {
	req := httptest.NewRequest(http.MethodOptions, "/v1/models", nil)
	refused(t, validator(t).Response(req, 204, http.Header{}, nil), "no such operation")
	req.Header.Set("Access-Control-Request-Method", "GET")
	refused(t, validator(t).Response(req, 204, http.Header{}, nil), "")
}

func TestNewValidatorRefusesABrokenDocument(t *testing.T) {
	const skeleton = `
paths: {/a: {get: {responses: {"200": {$ref: '#/components/responses/RouteNotFound'}}}}}
components:
  responses:
    RouteNotFound: {content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
    MethodNotAllowed: {headers: {Allow: {schema: {type: string}}}}
    MessagesRouteNotFound: {}
    MessagesMethodNotAllowed: {}
  schemas:
    Error: {type: object}
`
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"schemas/Error'", "schemas/Eror'", "Eror"},
		{"{type: object}", "{type: thing}", "compile"},
		{"{type: object}", "{$ref: 'other.yaml'}", "disallowed external reference"},
		{"{schema: {type: string}}", "{}", "compile #/components/responses/MethodNotAllowed/headers/Allow/schema"},
		{`"200"`, "default", "not a number"},
		{"paths: {", "paths: [{", "load"},
		{"{get: {", "{get: [], put: {", "cannot unmarshal array"},
	} {
		t.Run(c.new, func(t *testing.T) {
			_, err := newValidator([]byte(replaced(t, skeleton, c.old, c.new)))
			refused(t, err, c.want)
		})
	}
}
