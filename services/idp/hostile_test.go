package idp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/services/audit"
	"modelgateway/services/idp/idptest"
)

// stall answers nothing until the client has gone or the test is over.
func stall(t *testing.T, before func(http.ResponseWriter)) http.HandlerFunc {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server sees its client go only then
		before(w)
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}
}

// trickle sends a byte now and then, and never an end.
func trickle(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(" ")); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

// endless sends as much as the client takes, and counts it.
func endless(sent *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"`))
		block := []byte(strings.Repeat("a", 64<<10))
		for r.Context().Err() == nil && sent.Load() < 10<<30 {
			n, err := w.Write(block)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}
}

func says(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// modes are ways to break. What was sent a secret of ours may well echo it.
func modes(t *testing.T, sent *atomic.Int64, elsewhere, echo string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"silent":          stall(t, func(http.ResponseWriter) {}),
		"silent in body":  stall(t, func(w http.ResponseWriter) { w.WriteHeader(200); _ = http.NewResponseController(w).Flush() }),
		"slow":            trickle,
		"endless":         endless(sent),
		"redirecting 302": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) },
		"redirecting 307": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		},
		"hanging up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"garbage":    says(200, "application/json", "{garbage"),
		"empty":      says(200, "application/json", ""),
		"null":       says(200, "application/json", "null"),
		"HTML":       says(200, "text/html", "<html>log in to the proxy first</html>"),
		"a list":     says(200, "application/json", "[1,2,3]"),
		"500":        says(500, "text/plain", echo+strings.Repeat(" stack", 10000)),
		"429":        says(429, "application/json", `{"error":"slow_down `+echo+`"}`),
		"404":        says(404, "application/json", `{}`),
	}
}

// bounded answers in the time that a login may take.
func bounded10(t *testing.T, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestBrokenEndpointsAreBounded(t *testing.T) {
	var visited atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited.Add(1) }))
	t.Cleanup(elsewhere.Close)
	for _, path := range []string{"/token", "/keys", "/userinfo"} {
		var sent atomic.Int64
		echo := "canary"
		if path == "/keys" {
			echo = "nothing"
		}
		for name, handler := range modes(t, &sent, elsewhere.URL, echo) {
			t.Run(strings.TrimPrefix(path, "/")+" "+name, func(t *testing.T) {
				r := newRig(t, impatient)
				r.idp.Person = jwt.MapClaims{"sub": "ada-1"} // the rest has to be asked for
				r.idp.Told = map[string]any{"email": "ada@example.com", "email_verified": true}
				status, code := 503, "idp_unavailable"
				switch path + " " + name {
				case "/userinfo null": // well formed, and without a subject
					status, code = 401, "idp_rejected"
				case "/keys null": // a key set without keys
					status, code = 401, "idp_rejected"
				}
				b := r.begin()
				back := r.consent(b)
				r.idp.Set(func(m *idptest.Provider) { m.Instead[path] = handler })
				bounded10(t, func() {
					token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
					r.refuses(token, err, status, code)
				})
				r.noUser()
			})
		}
		if sent.Load() > 64<<20 {
			t.Errorf("%d bytes were taken from %s", sent.Load(), path)
		}
	}
	if visited.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestGatewayStartsWhileItsProviderIsDown(t *testing.T) {
	r := newRig(t, impatient)
	discovery := "/.well-known/openid-configuration"
	var sent atomic.Int64
	broken := modes(t, &sent, r.idp.URL+"/elsewhere", "nothing")
	document := func(name string, value any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			r.idp.Mutex.Lock()
			defer r.idp.Mutex.Unlock()
			r.idp.Document = func(doc map[string]any) { doc[name] = value }
			r.idp.ServeDocument(w)
			r.idp.Document = nil
		}
	}
	broken["another issuer"] = document("issuer", "https://evil.example.com")
	broken["issuer with a slash"] = document("issuer", r.idp.URL+"/")
	broken["no keys"] = document("jwks_uri", "")
	broken["no token endpoint"] = document("token_endpoint", "")
	broken["token endpoint a path"] = document("token_endpoint", "/token")
	broken["token endpoint a number"] = document("token_endpoint", 5)
	broken["token endpoint not http"] = document("token_endpoint", "file:///etc/passwd")
	broken["token endpoint with a password"] = document("token_endpoint", "http://u:p@example.com/token")
	broken["userinfo endpoint no URL"] = document("userinfo_endpoint", "http://[::1")
	broken["userinfo endpoint with a line end"] = document("userinfo_endpoint", "http://x\n/")
	broken["authorization endpoint a script"] = document("authorization_endpoint", "javascript:alert(1)")
	broken["methods of a wrong type"] = document("token_endpoint_auth_methods_supported", "client_secret_basic")
	for name, handler := range broken {
		t.Run(name, func(t *testing.T) {
			r.idp.Set(func(m *idptest.Provider) { m.Instead[discovery] = handler })
			bounded10(t, func() {
				redirect, cookie, err := r.Begin(t.Context())
				if e := wants(t, err, 503, "idp_unavailable"); !e.ShouldRetry() || redirect != "" || cookie != "" {
					t.Errorf("%+v, %q, %q", e, redirect, cookie)
				}
			})
		})
	}
	r.idp.Set(func(m *idptest.Provider) { delete(m.Instead, discovery) })
	if user := r.must(); user.Email != "ada@example.com" {
		t.Error("the provider is back, and the login is not")
	}
}

func TestProviderThatRefusesConnections(t *testing.T) {
	m := idptest.Serve(t)
	m.Server.Close()
	r := newRigWith(t, m)
	_, _, err := r.Begin(t.Context())
	wants(t, err, 503, "idp_unavailable")
}

// The time-outs of the client that is used without a test's.
func TestSilentProviderTimesOutWithinSeconds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.begin()
	back := r.consent(b)
	r.idp.Set(func(m *idptest.Provider) {
		m.Instead["/token"] = trickle
		m.Instead["/.well-known/openid-configuration"] = stall(t, func(http.ResponseWriter) {})
	})
	fresh := newRigWith(t, r.idp)
	done := make(chan struct{})
	go func() {
		defer close(done)
		bounded10(t, func() {
			_, _, err := fresh.Begin(context.Background())
			if err == nil {
				t.Error("begins without a provider")
			}
		})
	}()
	bounded10(t, func() {
		token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
		r.refuses(token, err, 503, "idp_unavailable")
	})
	<-done
}

func TestManyLoginsWaitTogether(t *testing.T) {
	r := newRig(t, impatient)
	r.idp.Set(func(m *idptest.Provider) {
		m.Instead["/.well-known/openid-configuration"] = stall(t, func(http.ResponseWriter) {})
	})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	done := make(chan error)
	for range 20 {
		go func() {
			_, _, err := r.Begin(ctx)
			done <- err
		}()
	}
	bounded10(t, func() {
		for range 20 {
			wants(t, <-done, 503, "idp_unavailable")
		}
	})
}

func TestTokenEndpointsErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"invalid_grant","error_description":"canary"}`: "idp_rejected",
		`{"error":"bad_verification_code"}`:                      "idp_rejected",
		`{"error":"unverified_user_email"}`:                      "email_not_verified",
		`{"error":"invalid_client"}`:                             "idp_unavailable",
		`{"error":"redirect_uri_mismatch"}`:                      "idp_unavailable",
		`{"token_type":"Bearer"}`:                                "idp_unavailable",
		`{"access_token":5}`:                                     "idp_unavailable",
		`{"access_token":"canary","expires_in":"soon"}`:          "idp_unavailable",
	} {
		r := newRig(t)
		r.idp.Instead["/token"] = says(200, "application/json", body) // GitHub says 200 as well
		token, err := r.login()
		r.refuses(token, err, map[string]int{"idp_rejected": 401, "email_not_verified": 403, "idp_unavailable": 503}[want], want)
	}
}

func TestEndpointsAreNoLessProtectedThanTheIssuer(t *testing.T) {
	for _, row := range []struct {
		address, issuer string
		good            bool
	}{
		{"https://a.example/token", "https://b.example", true},
		{"http://a.example/token", "http://b.example", true},
		{"https://a.example/token", "http://b.example", true},
		{"http://a.example/token", "https://b.example", false},
		{"ftp://a.example/token", "http://b.example", false},
		{"//a.example/token", "http://b.example", false},
		{"https:/token", "https://b.example", false},
		{"https://a.example/#", "https://b.example", true},
		{"https://a.example/#x", "https://b.example", false},
		{"", "https://b.example", false},
	} {
		if err := checkEndpoint(row.address, row.issuer); (err == nil) != row.good {
			t.Errorf("%s of %s: %v", row.address, row.issuer, err)
		}
	}
}
