package responses

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/llm"
)

func ours(status int, kind, code string) *api.Error {
	return &api.Error{Status: status, Type: kind, Code: code, Message: "why"}
}

func theirs(status, told int, code string) *api.Error {
	return &api.Error{
		Status: status, Type: api.TypeAPI, Code: api.CodeProviderError, Message: "why", Provider: "p", UpstreamStatus: told, UpstreamCode: code,
	}
}

func final(e *api.Error) *api.Error {
	e.Final = true
	return e
}

func after(wait time.Duration, e *api.Error) *api.Error {
	e.RetryAfter = wait
	return e
}

// The status, type and code of an error, and the code of a response that failed by it.
func TestErrorsHaveTheCodesThatAgentsKnow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    *api.Error
		status int
		want   string
		failed string
	}{
		{"a spent budget", ours(402, api.TypeBudget, api.CodeBudgetExceeded), 429, "insufficient_quota insufficient_quota", "insufficient_quota"},
		{"a held budget", ours(429, api.TypeRateLimit, api.CodeBudgetHeld), 429, "rate_limit_error budget_held", "rate_limit_exceeded"},
		{"our limit", ours(429, api.TypeRateLimit, api.CodeRateLimitExceeded), 429, "rate_limit_error rate_limit_exceeded", "rate_limit_exceeded"},
		{"a wrong field", ours(400, api.TypeInvalidRequest, api.CodeInvalidValue), 400, "invalid_request_error invalid_value", "invalid_prompt"},
		{"no such model", ours(404, api.TypeInvalidRequest, api.CodeModelNotFound), 404, "invalid_request_error model_not_found", "invalid_prompt"},
		{"our fault", ours(500, api.TypeAPI, api.CodeInternal), 500, "api_error internal_error", "server_error"},
		{"no database", ours(503, api.TypeAPI, api.CodeServiceUnavailable), 503, "api_error service_unavailable", "server_error"},
		{"a long prompt", theirs(400, 400, api.CodeContextLength), 400, "invalid_request_error context_length_exceeded", "context_length_exceeded"},
		{"a large body", theirs(413, 413, api.CodeContextLength), 400, "invalid_request_error context_length_exceeded", "context_length_exceeded"},
		{"an open circuit", theirs(503, 0, ""), 503, "api_error server_is_overloaded", "server_is_overloaded"},
		{"no key", final(theirs(503, 0, "")), 503, "api_error provider_error", "server_error"},
		{"an overload", theirs(502, 503, ""), 503, "api_error server_is_overloaded", "server_is_overloaded"},
		{"Anthropic's overload", theirs(502, 529, "overloaded_error"), 503, "api_error server_is_overloaded", "server_is_overloaded"},
		{"a limit of the upstream", theirs(429, 429, "x"), 429, "api_error provider_error", "rate_limit_exceeded"},
		{"the operator's quota", final(theirs(429, 429, codeQuota)), 429, "api_error provider_error", "insufficient_quota"},
		{"a fault of the upstream", theirs(502, 500, ""), 502, "api_error provider_error", "server_error"},
		{"a refused request", theirs(400, 400, ""), 400, "api_error provider_error", "invalid_prompt"},
	} {
		var body struct {
			Error struct {
				Type string `json:"type"`
				Code string `json:"code"`
			} `json:"error"`
		}
		text := appendError(nil, tt.err)
		if err := json.Unmarshal(text, &body, api.Lenient); err != nil || body.Error.Type+" "+body.Error.Code != tt.want {
			t.Errorf("%s: %s, not %s (%v)", tt.name, text, tt.want, err)
		}
		if got := errorStatus(tt.err); got != tt.status {
			t.Errorf("%s: status %d, not %d", tt.name, got, tt.status)
		}
		if got := failureCode(tt.err); got != tt.failed {
			t.Errorf("%s: the response failed by %s, not %s", tt.name, got, tt.failed)
		}
	}
}

// No header tells the wait inside a stream: Codex reads it from the message.
func TestWaitIsToldInTheMessageOfAStream(t *testing.T) {
	for _, tt := range []struct {
		err  *api.Error
		want string
	}{
		{after(1500*time.Millisecond, theirs(429, 429, "")), "why. Please try again in 2s."},
		{after(time.Minute, ours(429, api.TypeRateLimit, api.CodeRateLimitExceeded)), "why. Please try again in 60s."},
		{after(time.Minute, theirs(502, 500, "")), "why"}, {theirs(429, 429, ""), "why"},
	} {
		w := newWriter(&llm.Request{Model: "m"}, nil)
		if text := string(w.Fail(nil, tt.err)); strings.Count(text, `"message":"`+tt.want+`"`) != 3 {
			t.Errorf("no %s in %s", tt.want, text)
		}
	}
	told := after(time.Second, theirs(429, 429, ""))
	told.Message = "Please try again in 380ms."
	if got := inStream(told).Message; got != told.Message {
		t.Error(got)
	}
}
