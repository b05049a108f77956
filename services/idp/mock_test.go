package idp

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

const (
	mockClient = "gateway client"
	mockSecret = "canary/secret of the client+%"
)

// mock is a correct OpenID Connect provider, which logs in every user. Tests
// turn it hostile by what they replace.
type mock struct {
	URL    string
	server *httptest.Server
	key    *ecdsa.PrivateKey
	kid    string

	mu       sync.Mutex
	person   jwt.MapClaims                   // who logs in: members of the ID token
	told     map[string]any                  // the userinfo answer beside sub
	claims   func(jwt.MapClaims)             // changes the ID token's claims
	sign     func(jwt.MapClaims) any         // makes the id_token member
	document func(map[string]any)            // changes the discovery document
	instead  map[string]http.HandlerFunc     // by path
	codes    map[string]url.Values           // the authorization request of each code
	asked    map[string]int                  // requests by path
	auth     func(r *http.Request) (ok bool) // of the token endpoint
	seen     []url.Values                    // forms of the token endpoint
}

func newMock(t testing.TB) *mock {
	m := newHandler(t)
	m.server = httptest.NewServer(m)
	t.Cleanup(m.server.Close)
	m.URL = m.server.URL
	return m
}

// newHandler is a mock without a network.
func newHandler(t testing.TB) *mock {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &mock{
		key: key, kid: "first", instead: map[string]http.HandlerFunc{}, codes: map[string]url.Values{}, asked: map[string]int{},
		person: jwt.MapClaims{"sub": "ada-1", "email": "Ada@Example.com", "email_verified": true, "name": "Ada Lovelace"},
		told:   map[string]any{},
		auth: func(r *http.Request) bool {
			id, secret, ok := r.BasicAuth()
			return ok && id == url.QueryEscape(mockClient) && secret == url.QueryEscape(mockSecret)
		},
	}
}

// set changes the mock while it runs.
func (m *mock) set(change func(*mock)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *mock) count(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[path]
}

func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked[r.URL.Path]++
	instead := m.instead[r.URL.Path]
	m.mu.Unlock()
	if instead != nil {
		instead(w, r)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		m.serveDocument(w)
	case "/authorize":
		m.serveAuthorize(w, r)
	case "/token":
		m.serveToken(w, r)
	case "/userinfo":
		m.serveUserinfo(w, r)
	case "/keys":
		answer(w, http.StatusOK, map[string]any{"keys": []any{m.jwk()}})
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (m *mock) serveDocument(w http.ResponseWriter) {
	doc := map[string]any{
		"issuer": m.URL, "authorization_endpoint": m.URL + "/authorize", "token_endpoint": m.URL + "/token",
		"userinfo_endpoint": m.URL + "/userinfo", "jwks_uri": m.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
	}
	if m.document != nil {
		m.document(doc)
	}
	answer(w, http.StatusOK, doc)
}

func (m *mock) jwk() map[string]any {
	point, _ := m.key.PublicKey.Bytes()
	return map[string]any{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": m.kid,
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}
}

// serveAuthorize wants everything that OpenID Connect Core 1.0, section
// 3.1.2.1, and PKCE want.
func (m *mock) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("response_type") != "code", q.Get("client_id") != mockClient, q.Get("redirect_uri") != callback,
		!slices.Contains(strings.Fields(q.Get("scope")), "openid"), !slices.Contains(strings.Fields(q.Get("scope")), "email"),
		q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43, len(q.Get("nonce")) < 43, len(q.Get("state")) < 43:
		http.Error(w, "not a good request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	m.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, callback+"?"+back.Encode(), http.StatusFound)
}

func (m *mock) serveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	m.seen = append(m.seen, r.PostForm)
	if !m.auth(r) {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": mockSecret})
		return
	}
	asked, known := m.codes[r.PostForm.Get("code")]
	challenge := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !known || r.Method != http.MethodPost || r.PostForm.Get("grant_type") != "authorization_code" ||
		r.PostForm.Get("redirect_uri") != asked.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	delete(m.codes, r.PostForm.Get("code"))
	answer(w, http.StatusOK, map[string]any{
		"access_token": "canary-access-token", "token_type": "Bearer", "expires_in": 60, "id_token": m.idToken(asked.Get("nonce")),
	})
}

func (m *mock) idToken(nonce string) any {
	now := time.Now()
	c := jwt.MapClaims{"iss": m.URL, "aud": mockClient, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": nonce}
	for name, value := range m.person {
		c[name] = value
	}
	if m.claims != nil {
		m.claims(c)
	}
	if m.sign != nil {
		return m.sign(c)
	}
	return m.signed(c)
}

func (m *mock) signed(c jwt.MapClaims) string {
	payload, _ := json.Marshal(c)
	return m.signedPayload(payload)
}

// signedPayload signs what need not be JSON.
func (m *mock) signedPayload(payload []byte) string {
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"` + m.kid + `"}`))
	text := head + "." + base64.RawURLEncoding.EncodeToString(payload)
	signature, err := jwt.SigningMethodES256.Sign(text, m.key)
	if err != nil {
		panic(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (m *mock) serveUserinfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer canary-access-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	told := map[string]any{"sub": m.person["sub"]}
	for name, value := range m.told {
		told[name] = value
	}
	answer(w, http.StatusOK, told)
}

// inProcess answers a client without a network.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
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
