// Package idptest is an OpenID Connect provider for tests.
package idptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// What the gateway is registered with.
const (
	ClientID     = "gateway/client+1"
	ClientSecret = "canary/secret-of-the-client+%"
	Callback     = "https://gateway.example.com/auth/idp/callback"
)

// Provider is a correct OpenID Connect provider, which logs in every user. Tests turn it
// hostile by what they replace: before it is called, or with Set.
type Provider struct {
	URL    string
	Server *httptest.Server // nil: without a network
	Key    *ecdsa.PrivateKey
	KeyID  string

	Mutex    sync.Mutex
	Person   jwt.MapClaims                   // who logs in: members of the ID token
	Told     map[string]any                  // the userinfo answer beside sub
	Claims   func(jwt.MapClaims)             // changes the ID token's claims
	Sign     func(jwt.MapClaims) any         // makes the id_token member
	Document func(map[string]any)            // changes the discovery document
	Instead  map[string]http.HandlerFunc     // by path
	Codes    map[string]url.Values           // the authorization request of each code
	Auth     func(r *http.Request) (ok bool) // of the token endpoint
	Seen     []url.Values                    // forms of the token endpoint
	asked    map[string]int                  // requests by path
}

// Serve starts a provider for the time of the test.
func Serve(t testing.TB) *Provider {
	m := New(t)
	m.Start(t)
	return m
}

// Start serves the provider for the time of the test.
func (m *Provider) Start(t testing.TB) {
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Server.Close)
	m.URL = m.Server.URL
}

// New returns a provider without a network.
func New(t testing.TB) *Provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &Provider{
		Key: key, KeyID: "first", Instead: map[string]http.HandlerFunc{}, Codes: map[string]url.Values{}, asked: map[string]int{},
		Person: jwt.MapClaims{"sub": "ada-1", "email": "Ada@Example.com", "email_verified": true, "name": "Ada Lovelace"},
		Told:   map[string]any{},
		Auth: func(r *http.Request) bool {
			id, secret, ok := r.BasicAuth()
			return ok && id == url.QueryEscape(ClientID) && secret == url.QueryEscape(ClientSecret)
		},
	}
}

// Set changes the provider while it runs.
func (m *Provider) Set(change func(*Provider)) {
	m.Mutex.Lock()
	defer m.Mutex.Unlock()
	change(m)
}

// Count returns how often a path was requested.
func (m *Provider) Count(path string) int {
	m.Mutex.Lock()
	defer m.Mutex.Unlock()
	return m.asked[path]
}

// ServeHTTP answers the gateway and browsers.
func (m *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.Mutex.Lock()
	m.asked[r.URL.Path]++
	instead := m.Instead[r.URL.Path]
	m.Mutex.Unlock()
	if instead != nil {
		instead(w, r)
		return
	}
	m.Mutex.Lock()
	defer m.Mutex.Unlock()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		m.ServeDocument(w)
	case "/authorize":
		m.serveAuthorize(w, r)
	case "/token":
		m.serveToken(w, r)
	case "/userinfo":
		m.serveUserinfo(w, r)
	case "/keys":
		Answer(w, http.StatusOK, map[string]any{"keys": []any{m.JWK()}})
	default:
		http.NotFound(w, r)
	}
}

// Answer writes JSON.
func Answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// ServeDocument answers with the discovery document. The Mutex is held.
func (m *Provider) ServeDocument(w http.ResponseWriter) {
	doc := map[string]any{
		"issuer": m.URL, "authorization_endpoint": m.URL + "/authorize", "token_endpoint": m.URL + "/token",
		"userinfo_endpoint": m.URL + "/userinfo", "jwks_uri": m.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
	}
	if m.Document != nil {
		m.Document(doc)
	}
	Answer(w, http.StatusOK, doc)
}

// JWK is the public key, as the provider publishes it.
func (m *Provider) JWK() map[string]any {
	point, _ := m.Key.PublicKey.Bytes()
	return map[string]any{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": m.KeyID,
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}
}

// serveAuthorize wants everything that OpenID Connect Core 1.0, section
// 3.1.2.1, and PKCE want.
func (m *Provider) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("response_type") != "code", q.Get("client_id") != ClientID, q.Get("redirect_uri") != Callback,
		!slices.Contains(strings.Fields(q.Get("scope")), "openid"), !slices.Contains(strings.Fields(q.Get("scope")), "email"),
		q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43, len(q.Get("nonce")) < 43, len(q.Get("state")) < 43:
		http.Error(w, "not a good request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	m.Codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, Callback+"?"+back.Encode(), http.StatusFound)
}

func (m *Provider) serveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	m.Seen = append(m.Seen, r.PostForm)
	if !m.Auth(r) {
		Answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": ClientSecret})
		return
	}
	asked, known := m.Codes[r.PostForm.Get("code")]
	challenge := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !known || r.Method != http.MethodPost || r.PostForm.Get("grant_type") != "authorization_code" ||
		r.PostForm.Get("redirect_uri") != asked.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") {
		Answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	delete(m.Codes, r.PostForm.Get("code"))
	Answer(w, http.StatusOK, map[string]any{
		"access_token": "canary-access-token", "token_type": "Bearer", "expires_in": 60, "id_token": m.idToken(asked.Get("nonce")),
	})
}

func (m *Provider) idToken(nonce string) any {
	now := time.Now()
	c := jwt.MapClaims{"iss": m.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": nonce}
	for name, value := range m.Person {
		c[name] = value
	}
	if m.Claims != nil {
		m.Claims(c)
	}
	if m.Sign != nil {
		return m.Sign(c)
	}
	return m.Signed(c)
}

// Signed returns an ID token with these claims.
func (m *Provider) Signed(c jwt.MapClaims) string {
	payload, _ := json.Marshal(c)
	return m.SignedPayload(payload)
}

// SignedPayload signs what need not be JSON.
func (m *Provider) SignedPayload(payload []byte) string {
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"` + m.KeyID + `"}`))
	text := head + "." + base64.RawURLEncoding.EncodeToString(payload)
	signature, err := jwt.SigningMethodES256.Sign(text, m.Key)
	if err != nil {
		panic(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (m *Provider) serveUserinfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer canary-access-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	told := map[string]any{"sub": m.Person["sub"]}
	for name, value := range m.Told {
		told[name] = value
	}
	Answer(w, http.StatusOK, told)
}

// InProcess answers a client without a network.
type InProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (h InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	asked := r.Clone(r.Context())
	asked.Host = r.URL.Host
	if asked.Body == nil {
		asked.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, asked)
	return w.Result(), nil
}
