package messages

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// The types of errors, with their statuses where the API has only one.
const (
	typeInvalidRequest = "invalid_request_error"
	typeAuthentication = "authentication_error"
	typeBilling        = "billing_error"
	typePermission     = "permission_error"
	typeNotFound       = "not_found_error"
	typeConflict       = "conflict_error"
	typeTooLarge       = "request_too_large"
	typeRateLimit      = "rate_limit_error"
	typeAPI            = "api_error"
	typeTimeout        = "timeout_error"
	typeOverloaded     = "overloaded_error"
)

// statusOverloaded is Anthropic's status of an overload: agents know it by this status.
const statusOverloaded = 529

// errorStatus is the HTTP status of an error.
func errorStatus(e *api.Error) int {
	upstream := e.UpstreamStatus
	switch {
	case isNative(e) && upstream >= http.StatusBadRequest:
		return upstream
	case e.Overflows():
		return http.StatusBadRequest
	case e.Code == api.CodeProviderError && !e.Final && overloaded(e):
		return statusOverloaded
	case e.Status == http.StatusRequestHeaderFieldsTooLarge:
		return http.StatusRequestEntityTooLarge
	case e.SignedIn && e.Status == http.StatusPaymentRequired:
		return http.StatusTooManyRequests
	case e.SignedIn && e.Code == api.CodeModelNotAllowed:
		return http.StatusBadRequest
	}
	return e.Status
}

// isNative says whether an error has the body of an upstream that speaks the dialect.
func isNative(e *api.Error) bool { return e.RawDialect == llm.Messages && len(e.Raw) > 0 }

// overloaded says whether a provider takes no more calls, or the gateway pauses those to it.
func overloaded(e *api.Error) bool {
	if e.UpstreamStatus == 0 {
		return e.Status == http.StatusServiceUnavailable
	}
	return e.UpstreamStatus == http.StatusServiceUnavailable || e.UpstreamStatus == statusOverloaded
}

// errorType is the type of an error with a status.
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return typeAuthentication
	case http.StatusPaymentRequired:
		return typeBilling
	case http.StatusForbidden:
		return typePermission
	case http.StatusNotFound:
		return typeNotFound
	case http.StatusConflict:
		return typeConflict
	case http.StatusRequestEntityTooLarge:
		return typeTooLarge
	case http.StatusTooManyRequests:
		return typeRateLimit
	case http.StatusGatewayTimeout:
		return typeTimeout
	case statusOverloaded:
		return typeOverloaded
	}
	if status < http.StatusInternalServerError {
		return typeInvalidRequest
	}
	return typeAPI
}

// appendError adds {"type":"error","error":{…},"request_id":…} to dst.
func appendError(dst []byte, e *api.Error) []byte {
	if isNative(e) {
		return append(dst, e.Raw...)
	}
	kind := errorType(errorStatus(e))
	if e.Status == http.StatusPaymentRequired {
		kind = typeBilling // also for programs that are signed in, which get 429
	}
	w := jsonbytes.Writer(dst).Object().Text("type", "error").ObjectAt("error").Text("type", kind).Text("message", message(e))
	switch e.Code { // clients recover from the errors of threads
	case api.CodeThreadNotFound:
		w = w.JSON("details", []byte(`{"error_code":"thread_not_found"}`))
	case api.CodeThreadUnsupported:
		w = w.JSON("details", []byte(`{"error_code":"thread_unsupported_request","unsupported":["thread"]}`))
	}
	return w.EndObject().TextOrNull("request_id", e.RequestID).EndObject()
}

// appendLine is AppendError on one line, as an event needs it.
func appendLine(dst []byte, e *api.Error) []byte {
	if isNative(e) {
		line := oneLine(e.Raw)
		if !bytes.ContainsAny(line, "\r\n") {
			return append(dst, line...)
		}
		translated := *e
		translated.Raw = nil
		e = &translated
	}
	return appendError(dst, e)
}

// message is what an error says, in Anthropic's habit: the field at fault comes first, in
// dots, as in messages.0.content: Field required.
func message(e *api.Error) string {
	if e.Overflows() {
		return overflow(e)
	}
	if e.Code == api.CodeModelNotFound && e.Model != "" {
		return "model: " + api.Clip(e.Model)
	}
	if e.Param == "" || e.Code == api.CodeProviderError {
		return e.Message
	}
	field := fieldName(e.Param)
	if e.Code == api.CodeMissingField {
		return field + ": Field required"
	}
	if strings.HasPrefix(e.Message, field+": ") {
		return e.Message
	}
	return field + ": " + strings.TrimPrefix(e.Message, e.Param+" ")
}

// fieldName is a path of a field as Anthropic writes it: messages[0].role is
// messages.0.role.
func fieldName(path string) string {
	return strings.NewReplacer("[]", "", "[", ".", "]", "").Replace(path)
}

// A prompt that is too long is told in Anthropic's words, whichever provider refused it:
// Claude Code shortens the conversation only where it finds them, and reads their numbers.

// tokens of a refused request; 0 = not known.
type refused struct{ input, output, limit int64 }

// overflow is the message.
func overflow(e *api.Error) string {
	if strings.HasPrefix(e.Message, "prompt is too long: ") || strings.HasPrefix(e.Message, "input length and `max_tokens` exceed") {
		return e.Message
	}
	r := refusedNumbers(e.Message)
	if (r.input == 0 || r.limit == 0) && e.TooLong != nil {
		input, limit := e.TooLong()
		if r.limit == 0 {
			r.limit = limit
		}
		if r.input == 0 && r.limit > 0 {
			r.input = max(input, r.limit+1) // an estimate
		}
	}
	switch {
	case r.input == 0 || r.limit == 0:
		return "prompt is too long: " + e.Message
	case r.input <= r.limit && r.output > 0:
		return fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, "+
			"decrease input length or `max_tokens` and try again", r.input, r.output, r.limit)
	}
	return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", r.input, r.limit)
}

// What providers say. The groups are named by the members of refused. The texts are those
// of OpenAI, vLLM, Gemini and llama.cpp (2026-11).
var refusals = []*regexp.Regexp{
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens.*requested (?P<total>\d+) tokens ` +
		`\(.*\b(?P<output>\d+) in the completion\)`),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens and your request has (?P<input>\d+) input tokens ` +
		`\((?P<output>\d+) > `),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens.*(?:resulted in|requested|contains at least) ` +
		`(?P<input>\d+) (?:input )?tokens`),
	regexp.MustCompile(`passed (?P<input>\d+) input tokens and requested (?P<output>\d+) output tokens.* ` +
		`context length is only (?P<limit>\d+)`),
	regexp.MustCompile(`input token count \((?P<input>\d+)\) exceeds the maximum number of tokens allowed \((?P<limit>\d+)\)`),
	regexp.MustCompile(`request \((?P<input>\d+) tokens\) exceeds the available context size \((?P<limit>\d+) tokens\)`),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens`),
}

// refusedNumbers are the numbers in a provider's message.
func refusedNumbers(message string) (r refused) {
	for _, form := range refusals {
		found := form.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		number := func(name string) int64 {
			at := form.SubexpIndex(name)
			if at < 0 {
				return 0
			}
			n, err := strconv.ParseInt(found[at], 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
		r = refused{input: number("input"), output: number("output"), limit: number("limit")}
		if total := number("total"); total > 0 {
			r.input = max(total-r.output, 0)
		}
		return r
	}
	return r
}
