package simulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// anthropicTypes are the error types by status.
var anthropicTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
	500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

// anthropicTexts are what the documented errors say when they are asked for.
var anthropicTexts = map[int]string{
	400: "This request was refused on demand.",
	401: "invalid x-api-key",
	402: "Your credit balance is too low to access the Anthropic API.",
	403: "Your API key does not have permission to use the specified resource.",
	404: "model: simulated",
	413: "Request exceeds the maximum size",
	429: "This request would exceed your organization rate limit of 50 requests per minute",
	500: "Internal server error",
	504: "Request timed out",
	529: "Overloaded",
}

type anthropicError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func anthropicFailure(status int, message string) *failure {
	id := newID("req_01")
	body := anthropicError{Type: "error", RequestID: id}
	body.Error.Type, body.Error.Message = anthropicTypes[status], message
	if body.Error.Type == "" {
		body.Error.Type = "invalid_request_error"
		if status >= 500 {
			body.Error.Type = "api_error"
		}
	}
	passes := status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
	return &failure{status: status, body: body, header: map[string]string{
		"Request-Id": id, "X-Should-Retry": strconv.FormatBool(passes),
	}}
}

func anthropicRefusal(format string, args ...any) *failure {
	return anthropicFailure(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

// anthropicStatus is the error that Anthropic documents for a status.
func (s *simulator) anthropicStatus(status int) *failure {
	text := anthropicTexts[status]
	if text == "" {
		text = http.StatusText(status)
	}
	f := anthropicFailure(status, text)
	if status == http.StatusTooManyRequests {
		f.header["Retry-After"] = "2"
		f.header["Anthropic-Ratelimit-Requests-Limit"] = "50"
		f.header["Anthropic-Ratelimit-Requests-Remaining"] = "0"
		f.header["Anthropic-Ratelimit-Requests-Reset"] = s.inTwoSeconds()
	}
	return f
}

// anthropic words a flaw as Anthropic does.
func (f flaw) anthropic() *failure {
	names := make([]string, len(f.path))
	for i, step := range f.path {
		names[i] = step.name
		if step.name == "" {
			names[i] = strconv.Itoa(step.index)
		}
	}
	at := strings.Join(names, ".")
	switch f.kind {
	case flawUnknown:
		return anthropicRefusal("%s: Extra inputs are not permitted", at)
	case flawMissing:
		return anthropicRefusal("%s: Field required", at)
	case flawType:
		return anthropicRefusal("%s: Input should be a valid %s", at, pythonType(f.want))
	case flawTooSmall:
		return anthropicRefusal("%s: Input should be greater than or equal to %v", at, f.bound)
	case flawTooLarge:
		return anthropicRefusal("%s: Input should be less than or equal to %v", at, f.bound)
	case flawTag:
		at = strings.Join(names[:len(names)-1], ".")
		return anthropicRefusal("%s: Input tag '%s' found using 'type' does not match any of the expected tags: '%s'", at, text(f.value), strings.Join(f.allowed, "', '"))
	}
	list := strings.Join(f.allowed, "', '")
	if last := strings.LastIndex(list, ", "); last >= 0 {
		list = list[:last] + " or " + list[last+len(", "):]
	}
	return anthropicRefusal("%s: Input should be '%s'", at, list)
}

func pythonType(want string) string {
	switch {
	case strings.HasSuffix(want, "[]"):
		return "list"
	case want == "string", want == "integer", want == "number", want == "boolean":
		return want
	}
	return "dictionary"
}
