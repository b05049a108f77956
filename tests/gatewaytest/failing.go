package gatewaytest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
)

// Upstreams are the scripted upstreams of a gateway that has all three providers, by their names.
type Upstreams map[string]*providertest.Upstream

// StartAll starts a gateway with all three providers.
func StartAll(t testing.TB, settings ...string) (*Program, Upstreams) {
	t.Helper()
	u := Upstreams{}
	own := []string{"MAX_RETRIES=0"}
	for _, f := range Providers() {
		u[f.Name] = providertest.Serve(t)
		own = append(own, f.EnvPrefix+"_API_KEY=sk-"+f.Name, f.EnvPrefix+"_BASE_URL="+u[f.Name].URL)
	}
	return Start(t, append(own, settings...)...), u
}

// Problem is an error in the form of Anthropic's API.
type Problem struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

// Problem reads the error of an answer, which must have no other members, and whose
// request_id must be that of the header.
func (a Answer) Problem(t testing.TB) (p Problem) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(a.Body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil || p.Type != "error" || p.Error.Message == "" {
		t.Errorf("%d %s: %v", a.Status, a.Body, err)
	}
	if p.RequestID == "" || p.RequestID != a.Header.Get("Request-Id") {
		t.Errorf("the header request-id is %q: %s", a.Header.Get("Request-Id"), a.Body)
	}
	return p
}

// Failing is a request and the error that answers it.
type Failing struct {
	Name, Path, Body string
	Headers          []string
	Status           int
	Kind, Code, Says string // of the error; those of the Messages API have no code
	Retry            string // x-should-retry
	After            string // retry-after; empty: any, or none but with 429
}

// Check sends the request, and checks the error that answers it.
func (r Failing) Check(t testing.TB, p *Program) {
	t.Helper()
	a := p.Call(t, http.MethodPost, r.Path, r.Body, r.Headers...)
	if strings.HasPrefix(r.Path, "/v1/messages") {
		a.Problem(t)
	}
	if e := a.APIError(t); a.Status != r.Status || e.Type != r.Kind || e.Code != r.Code || !strings.Contains(e.Message, r.Says) {
		t.Errorf("%s: %d %s", r.Name, a.Status, a.Body)
	}
	if a.Header.Get("X-Should-Retry") != r.Retry || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s: %v", r.Name, a.Header)
	}
	after := a.Header.Get("Retry-After")
	if n, err := strconv.Atoi(after); r.After != "" && after != r.After || a.Status == http.StatusTooManyRequests && (err != nil || n < 1) {
		t.Errorf("%s: Retry-After %q", r.Name, after)
	}
}
