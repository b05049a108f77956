package gatewaytest

import (
	"encoding/json"
	"net/http"
	"testing"
)

// Answer is a response that has been read to its end, or to where it broke.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error // of reading the body
}

// APIError is the error of a body in the one error shape.
type APIError struct {
	Type, Message, Code, Provider string
	Param                         *string
	UpstreamStatus                int `json:"upstream_status"`
}

// APIError is the error that an answer holds.
func (a Answer) APIError(t testing.TB) APIError {
	t.Helper()
	var body struct{ Error *APIError }
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil || body.Error == nil {
		t.Fatalf("not an error: %d %s", a.Status, a.Body)
	}
	return *body.Error
}
