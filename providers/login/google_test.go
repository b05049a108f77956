package login_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/providers/login"
)

const scope = "https://www.googleapis.com/auth/cloud-platform"

// googleOf makes a log-in of a file that must be right.
func googleOf(t *testing.T, path string) *login.GoogleLogin {
	t.Helper()
	l, err := login.NewGoogle(login.Google{CredentialsFile: path})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// text is the JSON of a file.
func text(t *testing.T, file map[string]any) string {
	t.Helper()
	b, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// account is a file of a service account, and its key.
func account(t *testing.T, tokenURI string) (string, *rsa.PrivateKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return text(t, map[string]any{
		"type": "service_account", "project_id": "our-project", "private_key_id": "k1", "client_email": "gateway@our-project.example",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURI,
	}), key
}

func TestGoogleExchangesTheAssertionOfAServiceAccount(t *testing.T) {
	none(t)
	var public atomic.Pointer[rsa.PublicKey]
	var address string
	var life atomic.Int64
	life.Store(11) // is used for a second
	address, calls := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var claims struct {
			jwt.RegisteredClaims
			Scope string `json:"scope"`
		}
		_, err := jwt.ParseWithClaims(r.FormValue("assertion"), &claims, func(*jwt.Token) (any, error) { return public.Load(), nil },
			jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer("gateway@our-project.example"), jwt.WithAudience("http://"+r.Host+"/token"),
			jwt.WithExpirationRequired())
		if err != nil || claims.Scope != scope || r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature: %s HUSH"}`, r.FormValue("assertion"))
			return
		}
		token(w, "of the account", int(life.Load()))
	})
	file, key := account(t, address+"/token")
	public.Store(&key.PublicKey)
	path := write(t, "key.json", file)
	l := googleOf(t, path)
	if calls.Load() != 0 {
		t.Errorf("NewGoogle asked %d times", calls.Load())
	}
	together(t, l.Sign)
	header := bearer(t, l.Sign, "of the account")
	if calls.Load() != 1 || header.Get("X-Goog-User-Project") != "" {
		t.Errorf("asked %d times; the header is %v", calls.Load(), header)
	}

	// The key of the account is replaced in the same file.
	replaced, second := account(t, address+"/token")
	public.Store(&second.PublicKey)
	if err := os.WriteFile(path, []byte(replaced), 0o600); err != nil {
		t.Fatal(err)
	}
	life.Store(3600)
	time.Sleep(1100 * time.Millisecond)
	bearer(t, l.Sign, "of the account")

	public.Store(&key.PublicKey)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	refused, err := login.NewGoogle(login.Google{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cloud.example", nil)
	err = refused.Sign(t.Context(), r, "", nil)
	if err == nil || !strings.Contains(err.Error(), "answered 400") || !strings.HasSuffix(err.Error(), "check GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("got %v", err)
	}
	if err != nil && (strings.Contains(err.Error(), "eyJ") || strings.Contains(err.Error(), "PRIVATE")) {
		t.Errorf("the error has a secret: %v", err)
	}
}

func TestGoogleRefreshesTheTokenOfAUser(t *testing.T) {
	none(t)
	var fails atomic.Bool
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() {
			refuse(w, "invalid_grant", "Token has been expired or revoked: "+r.FormValue("refresh_token"))
			return
		}
		form(t, r, url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {"HUSH refresh"}, "client_id": {"gcloud"}, "client_secret": {"HUSH client"},
		})
		token(w, "of the user", 3600)
	})
	file := text(t, map[string]any{
		"type": "authorized_user", "client_id": "gcloud", "client_secret": "HUSH client", "refresh_token": "HUSH refresh",
		"quota_project_id": "pays", "token_uri": address,
	})
	folder := filepath.Join(os.Getenv("HOME"), ".config", "gcloud")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "application_default_credentials.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	l := googleOf(t, "")
	if header := bearer(t, l.Sign, "of the user"); header.Get("X-Goog-User-Project") != "pays" {
		t.Errorf("the header is %v", header)
	}
	fails.Store(true)
	failing(t, googleOf(t, "").Sign, "gcloud auth application-default login")
}

func TestGoogleExchangesTheTokenOfAnotherCloud(t *testing.T) {
	none(t)
	var fails atomic.Bool
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sts":
			if fails.Load() {
				refuse(w, "invalid_grant", "no match for the token "+r.FormValue("subject_token"))
				return
			}
			if r.FormValue("subject_token") != "eyJhbGciOiJSUzI1NiJ9.HUSH.of-the-pod" || r.FormValue("audience") != "//iam.googleapis.com/pool" {
				t.Errorf("sent %v", r.Form)
			}
			token(w, "federated", 3600)
		case "/impersonate":
			if r.Header.Get("Authorization") != "Bearer federated" {
				t.Errorf("impersonated with %v", r.Header)
			}
			end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			_, _ = fmt.Fprintf(w, `{"accessToken":"of the account","expireTime":%q}`, end)
		}
	})
	file := map[string]any{
		"type": "external_account", "audience": "//iam.googleapis.com/pool", "token_url": address + "/sts",
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"credential_source":  map[string]any{"file": write(t, "token", "eyJhbGciOiJSUzI1NiJ9.HUSH.of-the-pod")},
	}
	bearer(t, googleOf(t, write(t, "pool.json", text(t, file))).Sign, "federated")
	file["service_account_impersonation_url"] = address + "/impersonate"
	path := write(t, "pool.json", text(t, file))
	l := googleOf(t, path)
	together(t, l.Sign)
	bearer(t, l.Sign, "of the account")
	fails.Store(true)
	failing(t, googleOf(t, path).Sign, "the credentials file")
}

func TestGoogleAsksTheMetadataServer(t *testing.T) {
	none(t)
	var fails atomic.Bool
	address, calls := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case fails.Load() || r.Header.Get("Metadata-Flavor") != "Google":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/computeMetadata/v1/instance/service-accounts/default/token" && r.URL.Query().Get("scopes") == scope:
			token(w, "of the machine", 3600)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(address, "http://"))
	l := googleOf(t, "")
	if calls.Load() != 0 {
		t.Error("NewGoogle asked the server")
	}
	together(t, l.Sign)
	bearer(t, l.Sign, "of the machine")
	if calls.Load() != 1 {
		t.Errorf("asked %d times, want once", calls.Load())
	}
	fails.Store(true)
	l = googleOf(t, "")
	failing(t, l.Sign, "GOOGLE_APPLICATION_CREDENTIALS")
}

func TestGoogleRefusesWhatCannotWork(t *testing.T) {
	external := func(change string, value any) map[string]any {
		file := map[string]any{
			"type": "external_account", "audience": "a", "subject_token_type": "t", "token_url": "https://sts.googleapis.com/v1/token",
			"credential_source": map[string]any{"file": "/token"}, "client_secret": "HUSH",
		}
		file[change] = value
		return file
	}
	for name, c := range map[string]struct {
		file any // a text or an object
		says string
	}{
		"no JSON":                   {`{"private_key": "HUSH`, "is not the JSON"},
		"no type":                   {map[string]any{"web": map[string]any{"client_secret": "HUSH"}}, `type ""`},
		"another type":              {map[string]any{"type": "gdch_service_account"}, "gdch_service_account"},
		"a program":                 {external("credential_source", map[string]any{"executable": map[string]any{"command": "/bin/x"}}), "executable"},
		"a program in other case":   {external("credential_source", map[string]any{"Executable": map[string]any{"command": "/bin/x"}}), "executable"},
		"tokens in the open":        {external("token_url", "http://sts.example/v1/token"), "token_url"},
		"impersonation in the open": {external("service_account_impersonation_url", "http://10.0.0.1/x"), "service_account_impersonation_url"},
		"a program behind an account": {map[string]any{
			"type": "impersonated_service_account", "service_account_impersonation_url": "https://iamcredentials.googleapis.com/x",
			"source_credentials": external("credential_source", map[string]any{"executable": map[string]any{"command": "/bin/x"}}),
		}, "executable"},
	} {
		t.Run(name, func(t *testing.T) {
			none(t)
			body, ok := c.file.(string)
			if !ok {
				body = text(t, c.file.(map[string]any))
			}
			_, err := login.NewGoogle(login.Google{CredentialsFile: write(t, "file.json", body)})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "HUSH") {
				t.Errorf("got %v, want an error with %s", err, c.says)
			}
		})
	}
	none(t)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file")
	if _, err := login.NewGoogle(login.Google{}); err == nil || !strings.Contains(err.Error(), "check GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("without the file: %v", err)
	}
}
