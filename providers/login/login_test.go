package login_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/providers"
)

// none clears the settings of the clouds that the machine of the test may have.
func none(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, cloud := range []string{"AWS_", "GOOGLE_", "AZURE_", "IDENTITY_", "GCE_"} {
			if strings.HasPrefix(name, cloud) {
				t.Setenv(name, "")
			}
		}
	}
	t.Setenv("HOME", t.TempDir())
}

// serve starts a server that counts its calls.
func serve(t *testing.T, answer http.HandlerFunc) (address string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, calls
}

// write makes a file.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// signed is the header of a call.
func signed(t *testing.T, sign providers.Sign, key string) http.Header {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://cloud.example/v1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sign(t.Context(), r, key, nil); err != nil {
		t.Fatal(err)
	}
	return r.Header
}

// failing is the error of a call, which has no secret and names a setting.
func failing(t *testing.T, sign providers.Sign, names string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://cloud.example/v1/x", nil)
	err := sign(t.Context(), r, "", nil)
	if err == nil || !strings.Contains(err.Error(), names) {
		t.Fatalf("got %v, want an error that names %s", err, names)
	}
	if strings.Contains(err.Error(), "HUSH") || len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("the error has a secret, is too long or of several lines: %s", err)
	}
	return err.Error()
}

// bearer is that a login sends a token.
func bearer(t *testing.T, sign providers.Sign, token string) http.Header {
	t.Helper()
	header := signed(t, sign, "")
	if got := header.Get("Authorization"); got != "Bearer "+token {
		t.Errorf("Authorization is %q, want %q", got, "Bearer "+token)
	}
	return header
}

// together signs a thousand calls at once.
func together(t *testing.T, sign providers.Sign) {
	t.Helper()
	var wait sync.WaitGroup
	for range 1000 {
		wait.Go(func() {
			r := httptest.NewRequest(http.MethodPost, "https://cloud.example/v1/x", nil)
			if err := sign(context.Background(), r, "", nil); err != nil || r.Header.Get("Authorization") == "" {
				t.Errorf("not signed: %v", err)
			}
		})
	}
	wait.Wait()
}

// eventually waits for a condition.
func eventually(t *testing.T, holds func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// token is an answer of a token endpoint.
func token(w http.ResponseWriter, access string, seconds int) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, access, seconds)
}

// refuse is an answer of a token endpoint that repeats a secret.
func refuse(w http.ResponseWriter, code, description string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":%q}`, code, description)
}
