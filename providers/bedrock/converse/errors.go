package converse

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/providers"
)

var (
	errNoAnswer = errors.New("the answer is no message with a reason for its end")
	errNoCount  = errors.New("the answer holds no count of tokens")
	errSource   = errors.New("a request for embeddings has the source of another dialect")
	errVectors  = errors.New("the answer has not one vector for each text")
)

// tooLong finds a prompt that does not fit, for which Bedrock has no exception of its own.
var tooLong = regexp.MustCompile(`(?i)input is too long|input tokens? (count )?exceed|exceeds? (the )?max(imum)? (input|context|number of tokens)`)

// Refused reads the body of an answer whose status is not 2xx. The name of the exception is in a
// header, which is not read: it says no more than the status.
func Refused(status int, body []byte) providers.Refusal {
	var p struct {
		Message string `json:"message"`
		Capital string `json:"Message"` // of errors by Amazon's own front end
	}
	if json.Unmarshal(body, &p, api.Lenient) != nil {
		return providers.Refusal{Status: status}
	}
	return refusal(status, "", cmp.Or(p.Message, p.Capital))
}

func refusal(status int, code, message string) providers.Refusal {
	if status == http.StatusBadRequest && tooLong.MatchString(message) {
		code = api.CodeContextLength
	}
	// A daily quota is not available again within any useful wait.
	final := status == http.StatusTooManyRequests && strings.Contains(message, "per day")
	return providers.Refusal{Status: status, Code: code, Message: message, Final: final}
}

// statuses are those of exceptions inside a stream.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"timeout_error":         http.StatusRequestTimeout,
	"rate_limit_error":      http.StatusTooManyRequests,
	"overloaded_error":      http.StatusServiceUnavailable,
}
