package openai

import (
	"fmt"
	"net/http"

	"modelgateway/providers/simulator/wire"
)

const (
	invalidRequest = "invalid_request_error"
	notThere       = "The model `%s` does not exist or you do not have access to it."
)

type fault struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (f fault) failure(status int) *wire.Failure {
	return &wire.Failure{Status: status, Body: map[string]fault{"error": f}}
}

// Failure is the error answer of a status, without a code.
func Failure(status int, message string) *wire.Failure {
	return fault{Message: message, Type: invalidRequest}.failure(status)
}

// Refusal is the error answer of status 400 to a request with a parameter that
// OpenAI does not take; param and code may be empty.
func Refusal(param, code, message string) *wire.Failure {
	f := fault{Message: message, Type: invalidRequest}
	if param != "" {
		f.Param = &param
	}
	if code != "" {
		f.Code = &code
	}
	return f.failure(http.StatusBadRequest)
}

func unknownModel(format, id string) *wire.Failure {
	code := "model_not_found"
	return fault{Message: fmt.Sprintf(format, id), Type: invalidRequest, Code: &code}.failure(http.StatusNotFound)
}

// documentedErrors are type, code and message by status.
// Source: https://platform.openai.com/docs/guides/error-codes
var documentedErrors = map[int][3]string{
	400: {invalidRequest, "invalid_value", "Invalid value: this request was refused on demand."},
	401: {invalidRequest, "invalid_api_key", "Incorrect API key provided: sk-simul*****ated. " +
		"You can find your API key at https://platform.openai.com/account/api-keys."},
	403: {"request_forbidden", "unsupported_country_region_territory", "Country, region, or territory not supported"},
	404: {invalidRequest, "model_not_found", "The model `simulated` does not exist or you do not have access to it."},
	429: {"requests", "rate_limit_exceeded", "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1. " +
		"Please try again in 2s. Visit https://platform.openai.com/account/rate-limits to learn more."},
	500: {"server_error", "", "The server had an error while processing your request. Sorry about that!"},
	503: {"service_unavailable_error", "server_is_overloaded", "The model is overloaded. Please try again later."},
}

// Documented is the error answer that OpenAI documents for a status.
func Documented(status int) *wire.Failure {
	e, known := documentedErrors[status]
	if !known {
		e = [3]string{invalidRequest, "", http.StatusText(status)}
		if status >= 500 {
			e[0] = "server_error"
		}
	}
	f := fault{Message: e[2], Type: e[0]}
	if e[1] != "" {
		f.Code = &e[1]
	}
	answer := f.failure(status)
	switch status {
	case http.StatusUnauthorized:
		answer.Header = map[string]string{"Www-Authenticate": `Bearer realm="OpenAI API"`}
	case http.StatusTooManyRequests:
		answer.Header = map[string]string{
			"Retry-After": "2", "Retry-After-Ms": "2000",
			"X-Ratelimit-Limit-Requests": "3", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "2s",
		}
	case http.StatusServiceUnavailable:
		answer.Header = map[string]string{"Retry-After": "2"}
	}
	return answer
}
