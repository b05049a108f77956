package anthropic

import (
	"fmt"
	"net/http"
	"strconv"

	"modelgateway/providers/simulator/wire"
)

const statusOverloaded = 529

// errorTypes by status. Source: https://docs.claude.com/en/api/errors
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
	500: "api_error", 504: "timeout_error", statusOverloaded: "overloaded_error",
}

// documentedTexts are the messages of errors that a prompt asks for.
var documentedTexts = map[int]string{
	400: "This request was refused on demand.",
	401: "invalid x-api-key",
	402: "Your credit balance is too low to access the Anthropic API.",
	403: "Your API key does not have permission to use the specified resource.",
	404: "model: simulated",
	413: "Request exceeds the maximum size",
	429: "This request would exceed your organization rate limit of 50 requests per minute",
	500: "Internal server error",
	504: "Request timed out",

	statusOverloaded: "Overloaded",
}

type errorBody struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Details any    `json:"details,omitzero"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func failure(status int, message string) *wire.Failure {
	id := wire.NewID("req_01")
	body := errorBody{Type: "error", RequestID: id}
	body.Error.Type, body.Error.Message = errorTypes[status], message
	if body.Error.Type == "" {
		body.Error.Type = "invalid_request_error"
		if status >= 500 {
			body.Error.Type = "api_error"
		}
	}
	retryable := status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
	return &wire.Failure{Status: status, Body: body, Header: map[string]string{
		"Request-Id": id, "X-Should-Retry": strconv.FormatBool(retryable),
	}}
}

// Refusal is the error answer of status 400 to a request that Anthropic does not
// take.
func Refusal(format string, args ...any) *wire.Failure {
	return failure(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

// noThreads refuses to keep a conversation: clients then send it whole.
func noThreads() *wire.Failure {
	f := failure(http.StatusBadRequest, "thread: message threads are not simulated")
	body := f.Body.(errorBody)
	body.Error.Details = struct {
		Code string `json:"error_code"`
	}{"thread_unsupported_request"}
	f.Body = body
	return f
}

// documented is the error answer that Anthropic documents for a status.
func (s *Service) documented(status int) *wire.Failure {
	text := documentedTexts[status]
	if text == "" {
		text = http.StatusText(status)
	}
	f := failure(status, text)
	if status == http.StatusTooManyRequests {
		f.Header["Retry-After"] = "2"
		f.Header["Anthropic-Ratelimit-Requests-Limit"] = "50"
		f.Header["Anthropic-Ratelimit-Requests-Remaining"] = "0"
		f.Header["Anthropic-Ratelimit-Requests-Reset"] = s.inTwoSeconds()
	}
	return f
}
