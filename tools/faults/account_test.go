package faults

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// authSettings are the settings of a gateway that requires a credential.
func authSettings() []string {
	return []string{"REQUIRE_AUTH=true", "JWT_SECRET=7d1f0c9b2e64a8535330bb1f6ad2c4e8971b"}
}

// wholeAnswer is an answer that came to its end.
type wholeAnswer struct {
	status int
	header http.Header
	body   string
}

// field is a member of an answer, or "".
func (a wholeAnswer) field(name string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(a.body), &fields) != nil {
		return ""
	}
	value, _ := fields[name].(string)
	return value
}

// code is the code of an answer's error, or "".
func (a wholeAnswer) code() string {
	var body struct{ Error struct{ Code string } }
	if json.Unmarshal([]byte(a.body), &body) != nil {
		return ""
	}
	return body.Error.Code
}

// failureLog returns the lines of the gateway's log about a failed answer. The
// log is written shortly after the answer.
func (g *gateway) failureLog(a wholeAnswer) string {
	time.Sleep(50 * time.Millisecond)
	return g.logLines(a.header.Get("X-Request-Id"))
}

// logLines returns the lines of the gateway's log about a request.
func (g *gateway) logLines(id string) string {
	var text strings.Builder
	for line := range strings.Lines(g.log()) {
		if strings.Contains(line, `"request_id":`+quote(id)) {
			text.WriteString(line)
		}
	}
	return text.String()
}

// open sends a request whose answer the caller reads. A header without a value
// is left out.
func (g *gateway) open(method, path, body string, headers ...string) (*http.Response, error) {
	req, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return g.client.Do(req)
}

// call sends a request and reads its answer. It returns an error when no answer
// came, or only a part.
func (g *gateway) call(method, path, body string, headers ...string) (wholeAnswer, error) {
	resp, err := g.open(method, path, body, headers...)
	if err != nil {
		return wholeAnswer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return wholeAnswer{resp.StatusCode, resp.Header, string(text)}, err
}

// mustCall is call for an answer that must have this status.
func (g *gateway) mustCall(t testing.TB, status int, method, path, body string, headers ...string) wholeAnswer {
	t.Helper()
	a, err := g.call(method, path, body, headers...)
	if err != nil || a.status != status {
		t.Fatalf("%s %s: %d %s %v, not %d", method, path, a.status, a.body, err, status)
	}
	return a
}

func registration(email string) string {
	return `{"email":` + quote(email) + `,"name":"Ada","password":"correct horse battery"}`
}

func credentials(email string) string {
	return `{"email":` + quote(email) + `,"password":"correct horse battery"}`
}

// account registers a user, and returns the user's Authorization header.
func (g *gateway) account(t testing.TB, email string) string {
	t.Helper()
	g.mustCall(t, http.StatusCreated, "POST", "/auth/register", registration(email))
	return "Bearer " + g.mustCall(t, http.StatusOK, "POST", "/auth/login", credentials(email)).field("token")
}

// newKey makes an API key.
func (g *gateway) newKey(t testing.TB, authorization string) (id, key string) {
	t.Helper()
	a := g.mustCall(t, http.StatusCreated, "POST", "/auth/keys", `{"name":"app"}`, "Authorization", authorization)
	return a.field("id"), a.field("key")
}

// status is that of a GET, 0 when no answer came.
func (g *gateway) status(path string) int {
	a, err := g.call("GET", path, "")
	if err != nil {
		return 0
	}
	return a.status
}

// within waits for a condition, and returns how long that took.
func within(t testing.TB, limit time.Duration, what string, condition func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !condition() {
		if time.Since(began) > limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(began)
}
