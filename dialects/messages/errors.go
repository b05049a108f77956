package messages

import (
	"bytes"
	"net/http"
	"strings"

	"modelgateway/api"
	"modelgateway/internal/scan"
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

// ErrorStatus is the HTTP status of an error.
func (Dialect) ErrorStatus(e *api.Error) int {
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

// AppendError adds {"type":"error","error":{…},"request_id":…} to dst.
func (d Dialect) AppendError(dst []byte, e *api.Error) []byte {
	if isNative(e) {
		return append(dst, e.Raw...)
	}
	dst = append(append(dst, `{"type":"error","error":{"type":"`...), errorType(d.ErrorStatus(e))...)
	dst = scan.AppendString(append(dst, `","message":`...), message(e))
	dst = append(dst, details(e)...)
	return append(appendNullable(append(dst, `},"request_id":`...), e.RequestID), '}')
}

// details is the member by which clients tell the errors of threads, which they recover from.
func details(e *api.Error) string {
	switch e.Code {
	case api.CodeThreadNotFound:
		return `,"details":{"error_code":"thread_not_found"}`
	case api.CodeThreadUnsupported:
		return `,"details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}`
	}
	return ""
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
	return Dialect{}.AppendError(dst, e)
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
