package simulator

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// geminiCodes are the names of google.rpc.Code by HTTP status.
var geminiCodes = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
	429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

// geminiTexts are what the documented errors say when they are asked for.
var geminiTexts = map[int]string{
	400: "Request contains an invalid argument.",
	401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
	403: "Permission denied",
	404: "models/simulated is not found for API version v1beta, or is not supported for generateContent. Call ModelService.ListModels to see the list of available models and their supported methods.",
	429: "You exceeded your current quota, please check your plan and billing details. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count, limit: 1000000\nPlease retry in 1.5s.",
	500: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
	503: "The model is overloaded. Please try again later.",
	504: "Deadline expired before operation could complete.",
}

type geminiError struct {
	Error geminiStatusBody `json:"error"`
}

type geminiStatusBody struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Status  string   `json:"status"`
	Details []object `json:"details,omitempty"`
}

func geminiFailure(status int, message string, details ...object) *failure {
	code := geminiCodes[status]
	if code == "" {
		code = "UNKNOWN"
		if status < 500 {
			code = "FAILED_PRECONDITION"
		}
	}
	body := geminiError{geminiStatusBody{Code: status, Message: message, Status: code, Details: details}}
	return &failure{status: status, body: body, header: map[string]string{"Content-Type": geminiJSON}}
}

const geminiJSON = "application/json; charset=UTF-8"

func geminiRefusal(format string, args ...any) *failure {
	return geminiFailure(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

// geminiStatus is the error that Google documents for a status.
func geminiStatus(status int) *failure {
	text := geminiTexts[status]
	if text == "" {
		text = http.StatusText(status)
	}
	if status != http.StatusTooManyRequests {
		return geminiFailure(status, text)
	}
	return geminiFailure(status, text,
		object{"@type", "type.googleapis.com/google.rpc.Help", "links", []object{{
			"description", "Learn more about Gemini API quotas", "url", "https://ai.google.dev/gemini-api/docs/rate-limits"}}},
		object{"@type", "type.googleapis.com/google.rpc.QuotaFailure", "violations", []object{{
			"quotaMetric", "generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count",
			"quotaId", "GenerateContentPaidTierInputTokensPerModelPerMinute", "quotaValue", "1000000"}}},
		object{"@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", "1.5s"},
	)
}

func geminiNoModel(id, method string) *failure {
	text := fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for %s. Call ModelService.ListModels to see the list of available models and their supported methods.", id, method)
	return geminiFailure(http.StatusNotFound, text)
}

// geminiFlaws words flaws as Google does: those of the JSON all at once, those
// of the values one at a time.
func geminiFlaws(flaws []flaw) *failure {
	var texts []string
	var violations []object
	for _, f := range flaws {
		field, said := f.gemini()
		if said == "" {
			continue
		}
		texts = append(texts, said)
		violations = append(violations, object{"field", field, "description", said})
	}
	if len(texts) > 0 {
		details := object{"@type", "type.googleapis.com/google.rpc.BadRequest", "fieldViolations", violations}
		return geminiFailure(http.StatusBadRequest, strings.Join(texts, "\n"), details)
	}
	first := flaws[0]
	at, name := snake(first.path.brackets()), snake(first.path[len(first.path)-1].name)
	switch first.kind {
	case flawMissing:
		return geminiRefusal("* GenerateContentRequest.%s: %s is not specified\n", at, name)
	case flawTooSmall:
		return geminiRefusal("* GenerateContentRequest.%s: %s must be at least %v, got %s\n", at, name, first.bound, first.value)
	}
	return geminiRefusal("* GenerateContentRequest.%s: %s must be at most %v, got %s\n", at, name, first.bound, first.value)
}

// gemini words a flaw of the JSON itself, and says nothing of any other.
func (f flaw) gemini() (field, said string) {
	parent := snake(f.path[:len(f.path)-1].brackets())
	name := f.path[len(f.path)-1].name
	at := snake(f.path.brackets())
	where := ""
	if parent != "" {
		where = fmt.Sprintf(" at '%s'", parent)
	}
	switch {
	case f.kind == flawUnknown:
		return parent, fmt.Sprintf("Invalid JSON payload received. Unknown name \"%s\"%s: Cannot find field.", name, where)
	case f.kind == flawType && f.value.Kind() == '[' && !strings.HasSuffix(f.want, "[]"):
		return parent, fmt.Sprintf("Invalid JSON payload received. Unknown name \"%s\"%s: Proto field is not repeating, cannot start list.", name, where)
	case f.kind == flawType, f.kind == flawWord:
		return at, fmt.Sprintf("Invalid value at '%s' (%s), %s", at, protoType(f), f.value)
	}
	return "", ""
}

func protoType(f flaw) string {
	switch {
	case f.kind == flawWord:
		return "type.googleapis.com/google.ai.generativelanguage.v1beta.Enum"
	case f.want == "string":
		return "TYPE_STRING"
	case f.want == "boolean":
		return "TYPE_BOOL"
	case f.want == "number":
		return "TYPE_FLOAT"
	case f.want == "int32":
		return "TYPE_INT32"
	}
	return "TYPE_MESSAGE"
}

// snake writes the name of a field as it is in the protocol buffers.
func snake(camel string) string {
	var b strings.Builder
	for _, r := range camel {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
