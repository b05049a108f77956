package responses

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/llm"
)

// The codes that Codex acts on (its sources, 2026-11). Others it takes as a reason to try
// again.
const (
	codeQuota      = "insufficient_quota"
	codeRateLimit  = "rate_limit_exceeded"
	codeOverloaded = "server_is_overloaded"
	codePrompt     = "invalid_prompt"
	codeServer     = "server_error"
)

// statusOverloaded is Anthropic's status of an overload.
const statusOverloaded = 529

// errorStatus is the HTTP status of an error. Codex stops at once at the 429 of a budget
// that is spent, and tries six times at a 402.
func errorStatus(e *api.Error) int {
	switch {
	case isNative(e) && e.UpstreamStatus >= http.StatusBadRequest:
		return e.UpstreamStatus
	case e.Type == api.TypeBudget:
		return http.StatusTooManyRequests
	case e.Overflows():
		return http.StatusBadRequest
	case overloaded(e):
		return http.StatusServiceUnavailable
	}
	return e.Status
}

// isNative says whether an error has the body of an upstream that speaks the dialect.
func isNative(e *api.Error) bool { return e.RawDialect == llm.Responses && len(e.Raw) > 0 }

// overloaded says whether a provider takes no more calls for now, or the gateway pauses
// those to it.
func overloaded(e *api.Error) bool {
	if e.Code != api.CodeProviderError || e.Final {
		return false
	}
	if e.UpstreamStatus == 0 {
		return e.Status == http.StatusServiceUnavailable
	}
	return e.UpstreamStatus == http.StatusServiceUnavailable || e.UpstreamStatus == statusOverloaded
}

// appendError adds {"error":{…}} to dst.
func appendError(dst []byte, e *api.Error) []byte {
	if isNative(e) {
		return append(dst, e.Raw...)
	}
	return append(appendErrorMember(append(dst, '{'), clientError(e)), '}')
}

// clientError is an error in the codes that clients of this API know.
func clientError(e *api.Error) *api.Error {
	out := *e
	switch {
	case e.Overflows():
		out.Type, out.Code, out.Param = api.TypeInvalidRequest, api.CodeContextLength, table.Name(memberInput)
	case e.Type == api.TypeBudget:
		out.Type, out.Code = codeQuota, codeQuota
	case overloaded(e):
		out.Code = codeOverloaded
	}
	return &out
}

// appendErrorMember writes the member "error" of an object.
func appendErrorMember(dst []byte, e *api.Error) []byte {
	object, err := json.Marshal(e) // {"error":{…}}
	if err != nil {
		return append(dst, `"error":null`...)
	}
	return append(dst, object[1:len(object)-1]...)
}

// inStream is told for an error inside a stream, where no header says how long to wait:
// Codex reads that from the message.
func inStream(e *api.Error) *api.Error {
	out := clientError(e)
	if failureCode(e) == codeRateLimit && e.RetryAfter > 0 && !strings.Contains(e.Message, "try again in") {
		out.Message = fmt.Sprintf("%s. Please try again in %ds.", strings.TrimRight(out.Message, ". "), e.RetryAfterSeconds())
	}
	return out
}

// failureCode is the code of a response that failed, for which the API has a few words.
func failureCode(e *api.Error) string {
	status := e.Status
	if e.UpstreamStatus != 0 {
		status = e.UpstreamStatus
	}
	switch out := clientError(e); {
	case out.Code != e.Code:
		return out.Code
	case e.Final && e.UpstreamCode == codeQuota:
		return codeQuota
	case status == http.StatusTooManyRequests:
		return codeRateLimit
	case e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError:
		return codePrompt
	}
	return codeServer
}
