package anthropic

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/providers"
)

var (
	errNoMessage    = errors.New("the answer is not a message")
	errNoEvents     = errors.New("the answer is not a stream of events")
	errNoStart      = errors.New("the stream does not begin with message_start")
	errOtherMessage = errors.New("another message begins inside the answer")
	errNoCount      = errors.New("the answer is not a number of tokens")
	errManyBlocks   = errors.New("the answer has too many blocks that are open")
	errNoModels     = errors.New("the answer is not a list of models")
)

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

// statuses are the HTTP statuses of the error types. An error inside a stream,
// or under status 200, has no status of its own.
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

// spendLimit is the error code of a 429 that waiting does not end.
const spendLimit = "enforced_spend_limit_reached"

// problem is the error object of a body or of an event.
type problem struct {
	Type    string         `json:"type"`
	Message string         `json:"message"`
	Details jsontext.Value `json:"details"`
}

// refused reads the body of an answer whose status is not 2xx. The proxies in
// front of the API sometimes answer with HTML, which is not passed on to
// clients.
func refused(status int, body []byte) providers.Refusal {
	var answer struct {
		Error problem `json:"error"`
	}
	if json.Unmarshal(body, &answer, api.Lenient) != nil {
		return providers.Refusal{Status: status}
	}
	r := answer.Error.refusal()
	r.Status = status
	return r
}

func (p *problem) refusal() providers.Refusal {
	r := providers.Refusal{Status: statuses[p.Type], Message: p.Message, Code: p.Type, Spent: p.code() == spendLimit}
	if p.code() == api.CodeThreadNotFound { // else a 404 says that there is no such model
		r.Code = api.CodeThreadNotFound
	}
	if r.Status == 0 {
		r.Status = http.StatusInternalServerError
	}
	// Also where a proxy sent it with another status.
	r.Key = r.KeyRefused() || r.Status == http.StatusBadRequest && p.ofAccount()
	return r
}

// accountMessages begin the messages about the operator's account that come as an
// invalid_request_error with status 400: no credit, a spend limit of the
// organisation or of the workspace, a disabled organisation. Nothing else marks
// them (https://docs.claude.com/en/api/errors, 2026-08), and nothing from a
// request can stand at the beginning of a message.
var accountMessages = []string{
	"Your credit balance is too low", "You have reached your specified", "This organization has been disabled",
}

// ofAccount says whether the problem is the gateway's own account.
func (p *problem) ofAccount() bool {
	return slices.ContainsFunc(accountMessages, func(begin string) bool { return strings.HasPrefix(p.Message, begin) })
}

func (p *problem) code() string {
	var details struct {
		ErrorCode string `json:"error_code"`
	}
	if json.Unmarshal(p.Details, &details, api.Lenient) != nil {
		return "" // no details, or of another form
	}
	return details.ErrorCode
}
