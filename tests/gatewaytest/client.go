package gatewaytest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/web/webtest"
)

// ReadFor reads a stream for as long as within, and returns what arrived.
func (p *Program) ReadFor(t *testing.T, body string, within time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// ValidatingClient returns a client that fails the test for an answer that does not
// match the OpenAPI document.
func ValidatingClient(t testing.TB) *http.Client {
	t.Helper()
	validator, err := webtest.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: validator.Transport(t, transport), Timeout: time.Minute}
}

// Call sends a request with a body, which may be empty.
func (p *Program) Call(t testing.TB, method, path, body string, headers ...string) Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, string(text), err}
}

// Chat sends a chat request with this body.
func (p *Program) Chat(t testing.TB, body string, headers ...string) Answer {
	t.Helper()
	return p.Call(t, http.MethodPost, "/v1/chat/completions", body, headers...)
}

// Get requests a path.
func (p *Program) Get(t testing.TB, path string) Answer {
	t.Helper()
	return p.Call(t, http.MethodGet, path, "")
}

// Outcome is an answer, or the error of a call, outside of the test's goroutine.
type Outcome struct {
	Status int
	Header http.Header
	Body   string
	Err    error
}

// ParallelClient returns a client that keeps up to 1000 idle connections.
func ParallelClient(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// Send sends a chat request with a key, or without one for "". Headers are names, each with its value.
func Send(ctx context.Context, client *http.Client, url, body, key string, headers ...string) Outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return Outcome{Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return Outcome{Err: err}
	}
	text, err := io.ReadAll(resp.Body)
	return Outcome{resp.StatusCode, resp.Header, string(text), errors.Join(err, resp.Body.Close())}
}

// Served reports whether the answer is complete. It fails the test for anything
// else but a refusal because the budget is spent or held.
func (o Outcome) Served(t testing.TB) bool {
	t.Helper()
	switch {
	case o.Err == nil && o.Status == 200 && strings.Contains(o.Body, "fine") &&
		(strings.HasSuffix(o.Body, "data: [DONE]\n\n") || strings.Contains(o.Body, `"usage"`)):
		return true
	case o.Err == nil && o.Status == 402 && o.Header.Get("X-Should-Retry") == "false" && o.Header.Get("Retry-After") == "":
		if f := (Answer{Status: o.Status, Body: o.Body}).APIError(t); f.Type == "budget_error" && strings.HasSuffix(f.Code, "budget_exceeded") &&
			f.Message != "" {
			return false
		}
	}
	if o.Err == nil && o.Status == 429 && o.Header.Get("X-Should-Retry") == "true" && o.Header.Get("Retry-After") == "1" {
		if f := (Answer{Status: o.Status, Body: o.Body}).APIError(t); f.Type == "rate_limit_error" && f.Code == "budget_held" {
			return false
		}
	}
	t.Errorf("%d %v %v %s", o.Status, o.Err, o.Header, o.Body)
	return false
}
