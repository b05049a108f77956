package simulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const openaiBadRequest = "invalid_request_error"

// openaiFault is what OpenAI says of an error.
type openaiFault struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func openaiFailure(status int, fault openaiFault) *failure {
	return &failure{status: status, body: map[string]openaiFault{"error": fault}}
}

func openaiRefusal(param, code, message string) *failure {
	fault := openaiFault{Message: message, Type: openaiBadRequest}
	if param != "" {
		fault.Param = &param
	}
	if code != "" {
		fault.Code = &code
	}
	return openaiFailure(http.StatusBadRequest, fault)
}

func openaiNoModel(id string) *failure {
	code := "model_not_found"
	text := fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", id)
	return openaiFailure(http.StatusNotFound, openaiFault{Message: text, Type: openaiBadRequest, Code: &code})
}

// openai words a flaw as OpenAI does.
func (f flaw) openai() *failure {
	at := f.path.brackets()
	switch f.kind {
	case flawUnknown:
		return openaiRefusal(at, "unknown_parameter", fmt.Sprintf("Unknown parameter: '%s'.", at))
	case flawMissing:
		return openaiRefusal(at, "missing_required_parameter", fmt.Sprintf("Missing required parameter: '%s'.", at))
	case flawType:
		text := fmt.Sprintf("Invalid type for '%s': expected %s, but got %s instead.", at, article(f.want), article(jsonType(f.value)))
		return openaiRefusal(at, "invalid_type", text)
	case flawTooSmall, flawTooLarge:
		return f.openaiRange(at)
	}
	quoted := make([]string, len(f.allowed))
	for i, word := range f.allowed {
		quoted[i] = "'" + word + "'"
	}
	list := strings.Join(quoted, ", ")
	if last := len(quoted) - 1; last > 0 {
		list = strings.Join(quoted[:last], ", ") + ", and " + quoted[last]
	}
	return openaiRefusal(at, "invalid_value", fmt.Sprintf("Invalid value: '%s'. Supported values are: %s.", text(f.value), list))
}

func (f flaw) openaiRange(at string) *failure {
	sort := "decimal"
	if f.want != "number" {
		sort = "integer"
	}
	side, edge, sign := "below", "min", ">="
	if f.kind == flawTooLarge {
		side, edge, sign = "above", "max", "<="
	}
	limit := strconv.FormatFloat(f.bound, 'f', -1, 64)
	message := fmt.Sprintf("Invalid '%s': %s %s %simum value. Expected a value %s %s, but got %s instead.", at, sort, side, edge, sign, limit, f.value)
	return openaiRefusal(at, sort+"_"+side+"_"+edge+"_value", message)
}

func article(noun string) string {
	noun = strings.TrimSuffix(noun, "{}")
	switch {
	case strings.HasSuffix(noun, "[]"):
		return "an array"
	case noun == "string", noun == "number", noun == "boolean":
		return "a " + noun
	case noun == "null":
		return noun
	case noun == "integer":
		return "an integer"
	}
	return "an object"
}

func jsonType(raw jsontext.Value) string {
	switch raw.Kind() {
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	case '[':
		return "[]"
	case 'n':
		return "null"
	}
	return "object"
}

// openaiStatuses are the documented errors: type, code and message.
var openaiStatuses = map[int][3]string{
	400: {openaiBadRequest, "invalid_value", "Invalid value: this request was refused on demand."},
	401: {openaiBadRequest, "invalid_api_key", "Incorrect API key provided: sk-simul*****ated. You can find your API key at https://platform.openai.com/account/api-keys."},
	403: {"request_forbidden", "unsupported_country_region_territory", "Country, region, or territory not supported"},
	404: {openaiBadRequest, "model_not_found", "The model `simulated` does not exist or you do not have access to it."},
	429: {"requests", "rate_limit_exceeded", "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 2s. Visit https://platform.openai.com/account/rate-limits to learn more."},
	500: {"server_error", "", "The server had an error while processing your request. Sorry about that!"},
	503: {"service_unavailable_error", "server_is_overloaded", "The model is overloaded. Please try again later."},
}

// openaiStatus is the error that OpenAI documents for a status.
func openaiStatus(status int) *failure {
	said, documented := openaiStatuses[status]
	if !documented {
		said = [3]string{openaiBadRequest, "", http.StatusText(status)}
		if status >= 500 {
			said[0] = "server_error"
		}
	}
	fault := openaiFault{Type: said[0], Message: said[2]}
	if said[1] != "" {
		fault.Code = &said[1]
	}
	f := openaiFailure(status, fault)
	switch status {
	case http.StatusUnauthorized:
		f.header = map[string]string{"Www-Authenticate": `Bearer realm="OpenAI API"`}
	case http.StatusTooManyRequests:
		f.header = map[string]string{"Retry-After": "2", "Retry-After-Ms": "2000", "X-Ratelimit-Limit-Requests": "3", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "2s"}
	case http.StatusServiceUnavailable:
		f.header = map[string]string{"Retry-After": "2"}
	}
	return f
}
