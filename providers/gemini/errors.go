package gemini

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers"
)

// problem is Google's error object, the google.rpc.Status of
// https://google.aip.dev/193 with the HTTP status as its code.
type problem struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Status  string          `json:"status"`
	Details []problemDetail `json:"details"`
}

// problemDetail is a RetryInfo, a QuotaFailure or an ErrorInfo.
type problemDetail struct {
	RetryDelay string `json:"retryDelay"` // such as 34.4s
	Reason     string `json:"reason"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

// readRefusal reads the body of an answer that is not 2xx: the error object,
// the same inside an array (of the stream method), or the text of a proxy.
func readRefusal(status int, body []byte) providers.Refusal {
	p := readProblem(body)
	if p == nil {
		return providers.Refusal{Status: status}
	}
	return p.refusal(status)
}

func readProblem(body []byte) *problem {
	var one answer
	if jsontext.Value(body).Kind() != jsontext.KindBeginArray {
		if json.Unmarshal(body, &one, lenient) != nil {
			return nil
		}
		return one.Error
	}
	var several []answer
	if json.Unmarshal(body, &several, lenient) != nil || len(several) == 0 {
		return nil
	}
	return several[0].Error
}

// refusal is the problem with the status of its answer.
func (p *problem) refusal(status int) providers.Refusal {
	r := providers.Refusal{Status: status, Message: p.Message, Code: p.Status, RetryAfter: p.retryAfter()}
	// A 400 of this status is about the gateway's country or its billing, not
	// the request.
	r.Key = status == http.StatusBadRequest && p.Status == "FAILED_PRECONDITION"
	for _, d := range p.Details {
		r.Key = r.Key || d.Reason == "API_KEY_INVALID"
		for _, v := range d.Violations {
			// A daily quota is not available again within any useful wait.
			r.Final = r.Final || strings.Contains(v.QuotaID, "PerDay")
		}
	}
	return r
}

// statuses are the HTTP statuses of google.rpc.Code, for errors whose code is
// not one.
var statuses = map[string]int{
	"INVALID_ARGUMENT":    http.StatusBadRequest,
	"FAILED_PRECONDITION": http.StatusBadRequest,
	"OUT_OF_RANGE":        http.StatusBadRequest,
	"UNAUTHENTICATED":     http.StatusUnauthorized,
	"PERMISSION_DENIED":   http.StatusForbidden,
	"NOT_FOUND":           http.StatusNotFound,
	"RESOURCE_EXHAUSTED":  http.StatusTooManyRequests,
	"UNAVAILABLE":         http.StatusServiceUnavailable,
	"DEADLINE_EXCEEDED":   http.StatusGatewayTimeout,
}

// streamStatus is the status that fits a problem that came under status 200.
func (p *problem) streamStatus() int {
	if p.Code >= 400 && p.Code < 600 {
		return p.Code
	}
	if status, ok := statuses[p.Status]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// retryIn is the wording of a wait in Google's messages, in addition to
// RetryInfo or instead of it.
var retryIn = regexp.MustCompile(`retry in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)`)

// retryAfter is the longest wait that the problem asks for: RetryInfo rounds down
// what the message says exactly.
func (p *problem) retryAfter() time.Duration {
	var longest time.Duration
	for _, d := range p.Details {
		longest = max(longest, duration(d.RetryDelay))
	}
	if m := retryIn.FindStringSubmatch(p.Message); m != nil {
		longest = max(longest, duration(m[1]))
	}
	return min(longest, 24*time.Hour)
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}
