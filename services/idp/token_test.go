package idp

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/services/audit"
	"modelgateway/services/idp/idptest"
)

// forged puts a head, a payload and a signature together.
func forged(head string, c jwt.MapClaims, signature string) string {
	payload, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + signature
}

func hmacSigned(c jwt.MapClaims, key []byte) string {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
	token.Header["kid"] = "first"
	text, _ := token.SignedString(key)
	return text
}

// hostile are the ID tokens that no login may come of.
func hostile(t *testing.T, m *idptest.Provider) map[string]func(jwt.MapClaims) any {
	stranger := idptest.New(t)
	public, err := x509.MarshalPKIXPublicKey(&m.Key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	// with signs claims after a change of them.
	with := func(name string, value any) func(jwt.MapClaims) any {
		return func(c jwt.MapClaims) any { c[name] = value; return m.Signed(c) }
	}
	without := func(name string) func(jwt.MapClaims) any {
		return func(c jwt.MapClaims) any { delete(c, name); return m.Signed(c) }
	}
	payload := func(text string) func(jwt.MapClaims) any {
		return func(jwt.MapClaims) any { return m.SignedPayload([]byte(text)) }
	}
	// spliced signs the claims with more members written behind them.
	spliced := func(more string) func(jwt.MapClaims) any {
		return func(c jwt.MapClaims) any {
			text, _ := json.Marshal(c)
			return m.SignedPayload([]byte(strings.TrimSuffix(string(text), "}") + "," + more + "}"))
		}
	}
	hash := sha256.Sum256([]byte("another access token"))
	return map[string]func(jwt.MapClaims) any{
		"signed by a stranger": func(c jwt.MapClaims) any { return stranger.Signed(c) },
		"signature changed":    func(c jwt.MapClaims) any { s := m.Signed(c); return s[:len(s)-10] + "AAAAAAAAAA" },
		"signature of another token": func(c jwt.MapClaims) any {
			s := m.Signed(c)
			return forged(`{"alg":"ES256","kid":"first"}`, jwt.MapClaims{"sub": "x"}, s[strings.LastIndex(s, ".")+1:])
		},
		"no signature":              func(c jwt.MapClaims) any { return forged(`{"alg":"ES256","kid":"first"}`, c, "") },
		"alg none":                  func(c jwt.MapClaims) any { return forged(`{"alg":"none"}`, c, "") },
		"alg none, FORGED":          func(c jwt.MapClaims) any { return forged(`{"alg":"none","kid":"first"}`, c, "FORGED") },
		"alg None":                  func(c jwt.MapClaims) any { return forged(`{"alg":"None"}`, c, "") },
		"no alg":                    func(c jwt.MapClaims) any { return forged(`{"kid":"first"}`, c, "FORGED") },
		"HS256 with our secret":     func(c jwt.MapClaims) any { return hmacSigned(c, []byte(idptest.ClientSecret)) },
		"HS256 with the public key": func(c jwt.MapClaims) any { return hmacSigned(c, public) },
		"unknown key":               func(c jwt.MapClaims) any { stranger.KeyID = "unknown"; return stranger.Signed(c) },
		"key in its own head": func(c jwt.MapClaims) any {
			jwk, _ := json.Marshal(stranger.JWK())
			return headed(stranger, `{"alg":"ES256","jwk":`+string(jwk)+`}`, c)
		},
		"wrong iss":           with("iss", "https://evil.example.com"),
		"iss with a slash":    with("iss", m.URL+"/"),
		"no iss":              without("iss"),
		"iss a list":          with("iss", []string{m.URL}),
		"wrong aud":           with("aud", "another client"),
		"no aud":              without("aud"),
		"empty aud":           with("aud", []string{}),
		"aud an object":       with("aud", map[string]any{idptest.ClientID: true}),
		"several aud, no azp": with("aud", []string{idptest.ClientID, "another client"}),
		"several aud, wrong azp": func(c jwt.MapClaims) any {
			c["aud"], c["azp"] = []string{idptest.ClientID, "x"}, "x"
			return m.Signed(c)
		},
		"one aud, wrong azp":              with("azp", "another client"),
		"no exp":                          without("exp"),
		"exp null":                        with("exp", nil),
		"exp a text":                      with("exp", "99999999999"),
		"exp an object":                   with("exp", map[string]any{}),
		"exp 0":                           with("exp", 0),
		"exp negative":                    with("exp", -1),
		"exp beyond dates":                with("exp", int64(1e18)),
		"exp beyond numbers":              spliced(`"exp":1e999`),
		"exp only as EXP":                 func(c jwt.MapClaims) any { c["EXP"] = c["exp"]; delete(c, "exp"); return m.Signed(c) },
		"exp twice":                       spliced(`"exp":99999999999`),
		"exp a text behind the number":    spliced(`"EXP":99999999999,"exp":"99999999999"`),
		"expired":                         with("exp", time.Now().Add(-time.Second).Unix()),
		"expired long ago":                with("exp", 1),
		"not yet valid":                   with("nbf", time.Now().Add(time.Hour).Unix()),
		"wrong nonce":                     with("nonce", "of the attacker"),
		"no nonce":                        without("nonce"),
		"nonce a list":                    with("nonce", []string{"x"}),
		"no sub":                          without("sub"),
		"empty sub":                       with("sub", ""),
		"sub a number":                    with("sub", 5),
		"sub too long":                    with("sub", strings.Repeat("x", 256)),
		"sub with NUL":                    with("sub", "ada\x00"),
		"at_hash of another access token": with("at_hash", base64.RawURLEncoding.EncodeToString(hash[:16])),
		"invalid UTF-8":                   spliced(`"name":"` + "\xff" + `"`),
		"e-mail twice":                    spliced(`"email":"victim@example.com"`),
		"claims from elsewhere":           spliced(`"_claim_names":{"email":"x"},"_claim_sources":{}`),
		"payload null":                    payload(`null`),
		"payload a list":                  payload(`[]`),
		"payload a number":                payload(`5`),
		"payload not JSON":                payload(`{`),
		"payload deep":                    payload(strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)),
		"payload empty":                   payload(``),
		"no ID token":                     func(jwt.MapClaims) any { return nil },
		"empty ID token":                  func(jwt.MapClaims) any { return "" },
		"ID token a number":               func(jwt.MapClaims) any { return 5 },
		"ID token an object":              func(jwt.MapClaims) any { return map[string]any{} },
		"ID token not a JWT":              func(jwt.MapClaims) any { return "not.a.jwt" },
		"ID token of dots":                func(jwt.MapClaims) any { return strings.Repeat(".", 500000) },
		"encrypted ID token":              func(jwt.MapClaims) any { return "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d" },
		"JSON serialisation, two signings": func(c jwt.MapClaims) any {
			return `{"payload":"e30","signatures":[{"signature":"e30"},{"signature":"e30"}]}`
		},
	}
}

func headed(m *idptest.Provider, head string, c jwt.MapClaims) string {
	text := forged(head, c, "")
	text = strings.TrimSuffix(text, ".")
	signature, _ := jwt.SigningMethodES256.Sign(text, m.Key)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestHostileIDTokensAreRefused(t *testing.T) {
	r := newRig(t)
	for name, sign := range hostile(t, r.idp) {
		t.Run(name, func(t *testing.T) {
			r.idp.Set(func(m *idptest.Provider) { m.Sign = sign })
			token, err := r.login()
			(&rig{t: t}).refuses(token, err, 401, "idp_rejected")
		})
	}
	r.noUser()
	if r.idp.Count("/userinfo") != 0 {
		t.Error("a hostile token was believed as far as to ask for more")
	}
	r.idp.Set(func(m *idptest.Provider) { m.Sign = nil })
	r.must()
}

func TestPKCEIsVerifiedByTheProvider(t *testing.T) {
	r := newRig(t)
	victim, attacker := r.begin(), r.begin()
	stolen := r.consent(victim)
	injected := url.Values{"code": stolen["code"], "state": r.consent(attacker)["state"]}
	token, err := r.Finish(t.Context(), injected, attacker.cookie, audit.Entry{})
	r.refuses(token, err, 401, "idp_rejected")
	if sent := r.idp.Seen[0]; len(sent.Get("code_verifier")) != 43 {
		t.Errorf("the token endpoint was sent %v", sent)
	}
	r.noUser()
}

func TestNonceOfAnotherLoginIsRefused(t *testing.T) {
	r := newRig(t)
	var first any
	r.idp.Sign = func(c jwt.MapClaims) any {
		if first == nil {
			first = c["nonce"]
		}
		c["nonce"] = first
		return r.idp.Signed(c)
	}
	r.must()
	token, err := r.login()
	r.refuses(token, err, 401, "idp_rejected")
}
