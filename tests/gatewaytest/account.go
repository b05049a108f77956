// Package gatewaytest starts the real program for tests, with scripted upstreams
// and clients.
package gatewaytest

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/servertest"
)

// EachStorage runs a test in parallel with the settings of each kind of storage:
// SQLite and memory, PostgreSQL and Redis.
func EachStorage(t *testing.T, test func(t *testing.T, settings []string)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, []string{"DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "gateway.db")})
	})
	t.Run("servers", func(t *testing.T) {
		t.Parallel()
		test(t, []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)})
	})
}

const (
	// JWTSecret is a setting with a signing secret that is long enough.
	JWTSecret = "JWT_SECRET=0f9c2b7a64d18e5330bb1f6ad2c4e8971b"
	// AdaAccount is the body of a registration.
	AdaAccount = `{"email":"Ada@Example.com ","password":"correct horse battery","name":"Ada"}`
	// HelloRequest is the body of a chat completion.
	HelloRequest = `{"model":"gpt-6-sol",` + HiMessages + `}`
)

// Field returns a text member of an answer, or "".
func Field(t testing.TB, a Answer, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(a.Body), &fields); err != nil {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	value, _ := fields[name].(string)
	return value
}

// Patiently posts what a test needs for its own question: again, as the answer
// says, while a busy machine has no time for it.
func (p *Program) Patiently(t testing.TB, path, body string, headers ...string) (a Answer) {
	t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(100 * time.Millisecond) {
		if a = p.Call(t, http.MethodPost, path, body, headers...); a.Status != http.StatusServiceUnavailable || time.Now().After(end) {
			return a
		}
	}
}

// Login registers and logs in, and returns the header of the token.
func (p *Program) Login(t testing.TB) []string {
	t.Helper()
	if a := p.Patiently(t, "/auth/register", AdaAccount); a.Status != 201 && a.Status != 409 {
		t.Fatalf("register: %d %s", a.Status, a.Body)
	}
	a := p.Patiently(t, "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`)
	if a.Status != 200 || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	return []string{"Authorization", "Bearer " + Field(t, a, "token")}
}

// SignUp registers a user of this name, and returns the header of their token.
func (p *Program) SignUp(t testing.TB, name string) []string {
	t.Helper()
	account := `{"email":"` + name + `@example.com","password":"correct horse battery","name":"` + name + `"}`
	if a := p.Patiently(t, "/auth/register", account); a.Status != 201 {
		t.Fatalf("register: %d %s", a.Status, a.Body)
	}
	return []string{"Authorization", "Bearer " + Field(t, p.Patiently(t, "/auth/login", account), "token")}
}

// CreateKey creates a key and returns its id and its text.
func (p *Program) CreateKey(t testing.TB, token []string) (id, key string) {
	t.Helper()
	a := p.Patiently(t, "/auth/keys", `{"name":"app"}`, token...)
	if a.Status != 201 || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("create key: %d %s", a.Status, a.Body)
	}
	return Field(t, a, "id"), Field(t, a, "key")
}

// HiMessages is the member messages of a short chat request.
const HiMessages = `"messages":[{"role":"user","content":"hi"}]`

// CreateLimitedKey creates a key with limits, given as members of JSON, and
// returns its id and its text.
func (p *Program) CreateLimitedKey(t testing.TB, token []string, limits string) (id, key string) {
	t.Helper()
	a := p.Patiently(t, "/auth/keys", `{"name":"app",`+limits+`}`, token...)
	if a.Status != 201 {
		t.Fatalf("%s: %d %s", limits, a.Status, a.Body)
	}
	return Field(t, a, "id"), Field(t, a, "key")
}

// SetupToken returns the token of the set-up that the log of the start shows; empty
// when there was an administrator already.
func (p *Program) SetupToken() string {
	for line := range strings.Lines(p.Log.String()) {
		if _, rest, ok := strings.Cut(line, "/signin#token="); ok && strings.HasPrefix(rest, "mgw_setup_") {
			return rest[:len("mgw_setup_")+26]
		}
	}
	return ""
}

// SetUp makes the user with this address the first administrator, with the token of the
// log, unless that was done before.
func (p *Program) SetUp(t testing.TB, email string) {
	t.Helper()
	var token string
	Until(t, "the log has the set-up link, or there is an administrator", func() bool {
		token = p.SetupToken()
		return token != "" || strings.Contains(p.Get(t, "/auth/methods").Body, `"setup":false`)
	})
	if token == "" {
		return
	}
	a := p.Patiently(t, "/auth/setup", `{"token":"`+token+`","email":"`+email+`","password":"correct horse battery","name":"root"}`)
	if a.Status != 201 && a.Status != 403 {
		t.Fatalf("set up: %d %s", a.Status, a.Body)
	}
}

// Administrator makes a first administrator, and returns the header of their token.
func (p *Program) Administrator(t testing.TB) []string {
	t.Helper()
	p.SetUp(t, "root@example.com")
	a := p.Patiently(t, "/auth/login", `{"email":"root@example.com","password":"correct horse battery"}`)
	if a.Status != 200 {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	return []string{"Authorization", "Bearer " + Field(t, a, "token")}
}

// JSON decodes an answer, which is an object.
func (a Answer) JSON(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
}
