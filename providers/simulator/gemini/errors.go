package gemini

import (
	"fmt"
	"net/http"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/wire"
)

// codes are the names of google.rpc.Code by HTTP status.
// Source: https://cloud.google.com/apis/design/errors
var codes = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
	429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

const seeListModels = "Call ModelService.ListModels to see the list of available models and their supported methods."

// documentedTexts are the messages of errors that a prompt asks for.
var documentedTexts = map[int]string{
	400: "Request contains an invalid argument.",
	401: "Request had invalid authentication credentials. " +
		"Expected OAuth 2 access token, login cookie or other valid authentication credential.",
	403: "Permission denied",
	404: "models/simulated is not found for API version v1beta, or is not supported for generateContent. " + seeListModels,
	429: "You exceeded your current quota, please check your plan and billing details. \n" +
		"* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count, limit: 1000000\n" +
		"Please retry in 1.5s.",
	500: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
	503: "The model is overloaded. Please try again later.",
	504: "Deadline expired before operation could complete.",
}

type errorBody struct {
	Error status `json:"error"`
}

type status struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Status  string           `json:"status"`
	Details []rawjson.Object `json:"details,omitempty"`
}

// Failure is an error answer of a status, with details.
func Failure(code int, message string, details ...rawjson.Object) *wire.Failure {
	name := codes[code]
	if name == "" {
		name = "UNKNOWN"
		if code < 500 {
			name = "FAILED_PRECONDITION"
		}
	}
	body := errorBody{status{Code: code, Message: message, Status: name, Details: details}}
	return &wire.Failure{Status: code, Body: body, Header: map[string]string{"Content-Type": contentType}}
}

// Refusal is the error answer of status 400 to a request that Google does not
// take.
func Refusal(format string, args ...any) *wire.Failure {
	return Failure(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

func unknownModel(id, method string) *wire.Failure {
	return Failure(http.StatusNotFound,
		fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for %s. %s", id, method, seeListModels))
}

// documented is the error answer that Google documents for a status.
func documented(code int) *wire.Failure {
	text := documentedTexts[code]
	if text == "" {
		text = http.StatusText(code)
	}
	if code != http.StatusTooManyRequests {
		return Failure(code, text)
	}
	return Failure(code, text,
		rawjson.Object{"@type", "type.googleapis.com/google.rpc.Help", "links", []rawjson.Object{{
			"description", "Learn more about Gemini API quotas", "url", "https://ai.google.dev/gemini-api/docs/rate-limits"}}},
		rawjson.Object{"@type", "type.googleapis.com/google.rpc.QuotaFailure", "violations", []rawjson.Object{{
			"quotaMetric", "generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count",
			"quotaId", "GenerateContentPaidTierInputTokensPerModelPerMinute", "quotaValue", "1000000"}}},
		rawjson.Object{"@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", "1.5s"},
	)
}
