package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha512" // HS384 and HS512
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

const testIssuer = "https://gateway.example"

// tokenDatabase is a database and the tokens of its users.
type tokenDatabase struct {
	*storetest.Database
	tokens *Tokens
	clock  *clock
}

func newTokenDatabase(t testing.TB, d *storetest.Database) *tokenDatabase {
	t.Helper()
	h := &tokenDatabase{Database: d, clock: &clock{november}}
	h.tokens = NewTokens(TokenOptions{
		Secret: []byte("the secret of this very gateway!"), Expiry: time.Hour, Issuer: testIssuer, Store: d.Store, Now: h.clock.now,
	})
	return h
}

func (h *tokenDatabase) register(t testing.TB, email string) *models.User {
	t.Helper()
	u := &models.User{
		ID:           "usr_" + rand.Text(),
		Email:        email,
		Name:         "Ada",
		PasswordHash: "$argon2id$" + rand.Text(),
		CreatedAt:    h.clock.at.UnixMicro(),
	}
	if err := h.Store.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func (h *tokenDatabase) login(t testing.TB, email string) Token {
	t.Helper()
	u, err := h.Store.UserByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	token, err := h.tokens.Issue(u)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// exec changes a user's row past the store.
func (h *tokenDatabase) exec(t *testing.T, statement string) {
	t.Helper()
	if len(h.Query(t, statement+" RETURNING id")) == 0 {
		t.Fatalf("%s changed nothing", statement)
	}
}

// smith makes tokens that Issue would not.
type smith struct {
	*tokenDatabase
	user   string
	claims map[string]any // of a good token
}

func newSmith(t testing.TB) *smith {
	t.Helper()
	return smithOn(t, storetest.SQLite(t))
}

func smithOn(t testing.TB, d *storetest.Database) *smith {
	t.Helper()
	h := newTokenDatabase(t, d)
	u := h.register(t, "ada@x.com")
	now := h.clock.at.Unix()
	return &smith{tokenDatabase: h, user: u.ID, claims: map[string]any{
		"sub": u.ID, "email": u.Email, "iss": testIssuer, "jti": "j", "gen": 1, "iat": now, "nbf": now, "exp": now + 3600,
	}}
}

// with is the claims of a good token but for these; nil takes one away.
func (s *smith) with(changes map[string]any) string {
	changed := maps.Clone(s.claims)
	maps.Copy(changed, changes)
	maps.DeleteFunc(changed, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(changed, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(text)
}

const hs256 = `{"alg":"HS256","typ":"JWT"}`

func (s *smith) forge(header, payload string) string {
	return forge(header, payload, s.tokens.secret, crypto.SHA256)
}

func forge(header, payload string, secret []byte, hash crypto.Hash) string {
	text := encode(header) + "." + encode(payload)
	mac := hmac.New(hash.New, secret)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func (s *smith) accepts(t *testing.T, what, token string) {
	t.Helper()
	if id, err := s.tokens.Verify(t.Context(), token); id != s.user || err != nil {
		t.Errorf("%s: %q, %v", what, id, err)
	}
}

func (s *smith) refuses(t *testing.T, what, token, wantCode string) {
	t.Helper()
	id, err := s.tokens.Verify(t.Context(), token)
	if e := api.AsError(err); id != "" || err == nil || e.Status != 401 || e.Type != api.TypeAuthentication || e.Code != wantCode {
		t.Errorf("%s: %q, %v", what, id, err)
	}
}

func (s *smith) foreign(t *testing.T, what, token string) {
	t.Helper()
	s.refuses(t, what, token, api.CodeInvalidToken)
	if s.tokens.Ours(token) {
		t.Errorf("%s is taken for ours", what)
	}
}

func TestATokenWithAlgNoneIsRefused(t *testing.T) {
	s := newSmith(t)
	s.accepts(t, "a good one", s.forge(hs256, s.with(nil)))
	for _, alg := range []string{"none", "None", "NONE", "nOnE", ""} {
		header := fmt.Sprintf(`{"alg":%q,"typ":"JWT"}`, alg)
		s.foreign(t, alg+" without a signature", encode(header)+"."+encode(s.with(nil))+".")
		s.foreign(t, alg+" in two parts", encode(header)+"."+encode(s.with(nil)))
		s.foreign(t, alg+" with a right signature", s.forge(header, s.with(nil)))
	}
	for _, header := range []string{`{}`, `{"alg":null}`, `{"alg":256}`, `{"alg":["HS256"]}`, `null`, `[]`, `"HS256"`, ``, `{"alg":"hs256"}`, `{"ALG":"HS256"}`} {
		s.foreign(t, header, s.forge(header, s.with(nil)))
	}
}

func TestTokensWithOtherHMACsAreRefused(t *testing.T) {
	s := newSmith(t)
	for alg, hash := range map[string]crypto.Hash{"HS384": crypto.SHA384, "HS512": crypto.SHA512} {
		s.foreign(t, alg, forge(`{"alg":"`+alg+`","typ":"JWT"}`, s.with(nil), s.tokens.secret, hash))
	}
}

func TestTokensWithOtherAlgorithmsAreRefused(t *testing.T) {
	s := newSmith(t)
	claims := jwt.MapClaims{}
	if err := json.Unmarshal([]byte(s.with(nil)), &claims); err != nil {
		t.Fatal(err)
	}
	for _, alg := range []string{"RS256", "RS512", "PS256", "ES256", "EdDSA", "HS1", "X"} {
		s.foreign(t, alg+" over the secret", s.forge(`{"alg":"`+alg+`","typ":"JWT"}`, s.with(nil)))
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for method, key := range map[jwt.SigningMethod]any{jwt.SigningMethodRS256: rsaKey, jwt.SigningMethodES256: ecKey} {
		token, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		s.foreign(t, method.Alg(), token)
	}
}

func TestATokenWithoutAnExpiryIsRefused(t *testing.T) {
	s := newSmith(t)
	s.refuses(t, "no exp", s.forge(hs256, s.with(map[string]any{"exp": nil})), api.CodeInvalidToken)
	s.refuses(
		t,
		"exp null",
		s.forge(hs256, strings.Replace(s.with(map[string]any{"exp": 1}), `"exp":1`, `"exp":null`, 1)),
		api.CodeInvalidToken,
	)
	s.refuses(t, "no claims", s.forge(hs256, `{}`), api.CodeInvalidToken)
	for _, payload := range []string{`null`, `[]`, `"x"`, `1`, ``, `{`, `{} {}`} {
		s.refuses(t, payload, s.forge(hs256, payload), api.CodeInvalidToken)
	}
}

func TestStrangeTimesAreRefused(t *testing.T) {
	s := newSmith(t)
	now := november.Unix()
	for _, name := range []string{"exp", "iat", "nbf"} {
		for _, value := range []string{
			fmt.Sprintf(`"%d"`, now+3600), `1e18`, `1e300`, `1e999`, `-1`, `-1e18`, `NaN`, `Infinity`, `true`, `{}`, `[1]`, `""`, `253402300800`,
			fmt.Sprint((now + 3600) * 1000),
		} {
			payload := strings.Replace(s.with(map[string]any{name: 4711}), `4711`, value, 1)
			s.refuses(t, name+" "+value, s.forge(hs256, payload), api.CodeInvalidToken)
		}
	}
	at := func(iat, exp int64) string { return s.forge(hs256, s.with(map[string]any{"iat": iat, "exp": exp})) }
	s.accepts(t, "the longest life", at(now, now+3600))
	s.refuses(t, "a longer life than the expiry", at(now, now+3600+61), api.CodeInvalidToken)
	s.refuses(t, "an hour more", at(now, now+7200), api.CodeInvalidToken)
	s.refuses(t, "without iat it could be", s.forge(hs256, s.with(map[string]any{"iat": nil})), api.CodeInvalidToken)
	s.accepts(t, "a fraction of a second", s.forge(hs256, s.with(map[string]any{"iat": float64(now) - 0.5, "exp": float64(now) + 0.5})))
	s.refuses(t, "one that is over", s.forge(hs256, s.with(map[string]any{"exp": float64(now) - 0.5})), api.CodeTokenExpired)
}

func TestTokensFromAClockAheadOfOurs(t *testing.T) {
	s := newSmith(t)
	now := november.Unix()
	for _, name := range []string{"iat", "nbf"} {
		ahead := func(seconds int64) string {
			return s.forge(hs256, s.with(map[string]any{name: now + seconds}))
		}
		s.accepts(t, name+" 30 s ahead", ahead(30))
		s.accepts(t, name+" 60 s ahead", ahead(60))
		s.refuses(t, name+" 61 s ahead", ahead(61), api.CodeInvalidToken)
		s.refuses(t, name+" 1 h ahead", ahead(3600), api.CodeInvalidToken)
	}
	s.accepts(t, "no nbf", s.forge(hs256, s.with(map[string]any{"nbf": nil})))
}

func TestForeignClaimsAreRefused(t *testing.T) {
	s := newSmith(t)
	for name, changes := range map[string]map[string]any{
		"another issuer":   {"iss": "https://evil.example"},
		"no issuer":        {"iss": nil},
		"issuer prefix":    {"iss": testIssuer + "/"},
		"issuers":          {"iss": []string{testIssuer}},
		"an audience":      {"aud": "another service"},
		"audiences":        {"aud": []string{"another service", testIssuer}},
		"no subject":       {"sub": nil},
		"an empty subject": {"sub": ""},
		"a number":         {"sub": 1},
		"an unknown user":  {"sub": "usr_unknown"},
		"SQL":              {"sub": "' OR 1=1 --"},
		"no generation":    {"gen": nil},
		"generation 0":     {"gen": 0},
		"generation -1":    {"gen": -1},
		"a fraction":       {"gen": 1.5},
		"a text":           {"gen": "1"},
		"a password's":     {"gen": nil, "ver": "AAAAAAAAAAAA"},
		"no id":            {"jti": nil},
	} {
		s.refuses(t, name, s.forge(hs256, s.with(changes)), api.CodeInvalidToken)
	}
	twice := strings.Replace(s.with(nil), `"sub":`, `"sub":"usr_other","sub":`, 1)
	s.refuses(t, "two subjects", s.forge(hs256, twice), api.CodeInvalidToken)
	upper := strings.Replace(s.with(nil), `"sub":`, `"Sub":`, 1)
	s.refuses(t, "a subject in another case", s.forge(hs256, upper), api.CodeInvalidToken)
	s.accepts(t, "claims we do not know", s.forge(hs256, s.with(map[string]any{"role": "admin", "scope": []string{"x"}})))
}

func TestKeysThatTheHeaderNamesAreIgnored(t *testing.T) {
	s := newSmith(t)
	const evil = "the secret of another service: evil"
	named := []string{
		`"kid":"../../../../dev/null"`, `"kid":"' UNION SELECT 'x' --"`, `"jku":"http://127.0.0.1:1/keys"`, `"x5u":"http://127.0.0.1:1/cert"`,
		`"jwk":{"kty":"oct","k":"` + encode(evil) + `"}`, `"x5c":["AAAA"]`, `"kid":1`,
	}
	for _, member := range named {
		header := `{"alg":"HS256","typ":"JWT",` + member + `}`
		s.accepts(t, member, s.forge(header, s.with(nil)))
		for _, secret := range []string{evil, "", "\x00"} {
			s.foreign(t, member+" with a key of its own", forge(header, s.with(nil), []byte(secret), crypto.SHA256))
		}
	}
	s.foreign(t, "crit", s.forge(`{"alg":"HS256","crit":["b64"],"b64":false}`, s.with(nil)))
}

func TestHugeTokensAreRefusedFast(t *testing.T) {
	s := newSmith(t)
	deep := strings.Repeat(`[`, 2900)
	for name, token := range map[string]string{
		"100 kB":           strings.Repeat("a", 100_000),
		"a million dots":   strings.Repeat(".", 1_000_000),
		"8 kB of dots":     strings.Repeat(".", longestToken),
		"a long payload":   s.forge(hs256, s.with(map[string]any{"x": strings.Repeat("a", 100_000)})),
		"deep header":      encode(deep) + "." + encode(deep) + ".AA",
		"deep payload":     encode(hs256) + "." + encode(deep+deep[:0]) + "." + encode("x"),
		"deep and signed":  s.forge(hs256, `{"x":`+deep),
		"many members":     encode(`{`+strings.Repeat(`"a":0,`, 900)) + ".e30.AA",
		"a long signature": encode(hs256) + "." + encode(s.with(nil)) + "." + strings.Repeat("A", 7000),
	} {
		best := time.Hour // of a few, for the machine may be busy with something else
		for range 5 {
			start := time.Now()
			s.foreign(t, name, token)
			best = min(best, time.Since(start))
		}
		if best > 5*time.Millisecond {
			t.Errorf("%s took %v", name, best)
		}
	}
}

func TestATokenHasOneSpelling(t *testing.T) {
	s := newSmith(t)
	good := s.login(t, "ada@x.com").Text
	s.accepts(t, "as it was issued", good)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, good[len(good)-1])
	for i := last &^ 3; i < last|3; i++ { // the two bits that no byte of the signature uses
		if i != last {
			s.foreign(t, "another tail", good[:len(good)-1]+alphabet[i:i+1])
		}
	}
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"padding":              good + "=",
		"a line end":           good + "\n",
		"a line end inside":    good[:10] + "\r\n" + good[10:],
		"a space":              " " + good,
		"a dot":                good + ".",
		"a dot before":         "." + good,
		"two parts":            parts[0] + "." + parts[1],
		"no signature":         parts[0] + "." + parts[1] + ".",
		"half a signature":     good[:len(good)-20],
		"parts exchanged":      parts[1] + "." + parts[0] + "." + parts[2],
		"the other alphabet":   strings.NewReplacer("-", "+", "_", "/").Replace(good) + "+",
		"NUL":                  good + "\x00",
		"Bearer":               "Bearer " + good,
		"nothing":              "",
		"dots":                 "..",
		"an encrypted one":     good + "." + parts[2] + "." + parts[2],
		"another's payload":    parts[0] + "." + encode(s.with(map[string]any{"sub": "usr_other"})) + "." + parts[2],
		"invalid UTF-8 inside": forge(hs256, "{\"sub\":\"\xff\"}", []byte("x"), crypto.SHA256),
	} {
		s.foreign(t, name, token)
	}
}
