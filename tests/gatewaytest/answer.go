package gatewaytest

import (
	"encoding/json"
	"net/http"
	"testing"
)

// Answer is a response that was read until it ended or broke off.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error // of reading the body
}

// APIError is the error of an answer.
type APIError struct {
	Type, Message, Code, Provider string
	Param                         *string
	UpstreamStatus                int `json:"upstream_status"`
}

// APIError decodes the error, and fails the test where there is none.
func (a Answer) APIError(t testing.TB) APIError {
	t.Helper()
	var body struct{ Error *APIError }
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil || body.Error == nil {
		t.Fatalf("not an error: %d %s", a.Status, a.Body)
	}
	return *body.Error
}
