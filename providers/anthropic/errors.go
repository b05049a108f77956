package anthropic

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/upstream"
)

var (
	errNoMessage = errors.New("the answer is not a message")
	errNoEvents  = errors.New("the answer is not a stream of events")
	errNoStart   = errors.New("the stream does not begin with message_start")
	errNoModels  = errors.New("the answer is not a list of models")
)

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

// statuses are what the error types stand for, where an error has no status of
// its own: inside a stream, or under a 200.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"conflict_error":        http.StatusConflict,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      statusOverloaded,
}

// spendLimit is the error code of a 429 that no wait cures.
const spendLimit = "enforced_spend_limit_reached"

// problem is the error object of a body or of an event.
type problem struct {
	Type    string         `json:"type"`
	Message string         `json:"message"`
	Details jsontext.Value `json:"details"`
}

// refused reads the body of an answer whose status is not 2xx. The edge in
// front of the API answers with HTML at times, which says nothing to anyone.
func refused(status int, body []byte) upstream.Refusal {
	var answer struct {
		Error problem `json:"error"`
	}
	if json.Unmarshal(body, &answer, lenient) != nil {
		return upstream.Refusal{Status: status}
	}
	r := answer.Error.refusal()
	r.Status = status
	return r
}

func (p *problem) refusal() upstream.Refusal {
	r := upstream.Refusal{Status: statuses[p.Type], Message: p.Message, Spent: p.code() == spendLimit}
	if r.Status == 0 {
		r.Status = http.StatusInternalServerError
	}
	switch r.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		r.Credentials = true // whatever status a proxy sent it with
	}
	return r
}

func (p *problem) code() string {
	var details struct {
		ErrorCode string `json:"error_code"`
	}
	if json.Unmarshal(p.Details, &details, lenient) != nil {
		return "" // there are none, or none of this form
	}
	return details.ErrorCode
}

// lenient lets pass what an upstream may get wrong without harm.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
