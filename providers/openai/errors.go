package openai

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"modelgateway/providers"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var errNoChoices = errors.New("the answer has no choices")

// problem is the error object of a body or of an event. Compatible servers
// put numbers where OpenAI has strings.
type problem struct {
	Message string         `json:"message"`
	Type    string         `json:"type"`
	Code    jsontext.Value `json:"code"`
}

// spent are the types and codes of an account without credit.
var spent = []string{"insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"}

func refused(status int, body []byte) providers.Refusal {
	var answer struct {
		Error *problem `json:"error"`
	}
	if json.Unmarshal(body, &answer, lenient) != nil || answer.Error == nil {
		return providers.Refusal{Status: status}
	}
	return answer.Error.refusal(status)
}

// refusal reads the problem; status is used if the problem has none.
func (p *problem) refusal(status int) providers.Refusal {
	code := p.code()
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		status = n
	}
	r := providers.Refusal{Status: status, Message: p.Message}
	r.Spent = slices.Contains(spent, code) || slices.Contains(spent, p.Type)
	r.Key = code == "invalid_api_key" || code == "account_deactivated" || r.Spent && status != http.StatusTooManyRequests
	if status == http.StatusTooManyRequests {
		r.RetryAfter = wait(p.Message)
	}
	return r
}

func (p *problem) code() string {
	if p.Code.Kind() != jsontext.KindString {
		return string(p.Code)
	}
	var s string
	_ = json.Unmarshal(p.Code, &s) // Code is known to be a string
	return s
}

// streamStatus is the HTTP status for an error inside a stream.
func (p *problem) streamStatus() int {
	switch p.Type {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "requests", "tokens", "rate_limit_error", "insufficient_quota":
		return http.StatusTooManyRequests
	case "service_unavailable_error":
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// asked is OpenAI's wording of a wait in a message without a Retry-After header.
var asked = regexp.MustCompile(`try again in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)`)

func wait(message string) time.Duration {
	m := asked.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return min(d, 24*time.Hour)
}
