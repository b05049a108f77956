package idp

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
	"modelgateway/services/idp/idptest"
)

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// stage plays Google, GitHub, GitLab and Microsoft, each at its own addresses.
type stage struct {
	t       *testing.T
	mux     *http.ServeMux
	sent    url.Values // to the token endpoint
	asked   url.Values // of the authorization request
	idToken jwt.MapClaims
	bodies  map[string]string // by address
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, mux: http.NewServeMux(), bodies: map[string]string{}}
	for _, address := range []string{
		"oauth2.googleapis.com/token", "github.com/login/oauth/access_token", "gitlab.com/oauth/token", "login.microsoftonline.com/common/oauth2/v2.0/token",
	} {
		s.mux.HandleFunc("POST "+address, s.token)
	}
	for _, address := range []string{"www.googleapis.com/oauth2/v3/certs", "login.microsoftonline.com/common/discovery/v2.0/keys"} {
		s.mux.HandleFunc("GET "+address, func(w http.ResponseWriter, _ *http.Request) {
			key := rsaKey().PublicKey
			idptest.Answer(w, 200, map[string]any{"keys": []any{map[string]any{
				"kty": "RSA", "alg": "RS256", "kid": "one", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
				"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
			}}})
		})
	}
	for _, address := range []string{
		"www.googleapis.com/oauth2/v2/userinfo", "api.github.com/user", "api.github.com/user/emails", "gitlab.com/api/v4/user", "graph.microsoft.com/v1.0/me",
	} {
		s.mux.HandleFunc("GET "+address, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer canary-access-token" && r.URL.Query().Get("access_token") != "canary-access-token" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			body, ok := s.bodies[address]
			if !ok {
				w.WriteHeader(http.StatusForbidden)
			}
			_, _ = w.Write([]byte(body))
		})
	}
	return s
}

func (s *stage) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.sent = r.PostForm
	challenge := sha256.Sum256([]byte(s.sent.Get("code_verifier")))
	if s.sent.Get("client_id") != idptest.ClientID || s.sent.Get("client_secret") != idptest.ClientSecret || s.sent.Get("code") != "the-code" ||
		s.sent.Get("redirect_uri") != callback || base64.RawURLEncoding.EncodeToString(challenge[:]) != s.asked.Get("code_challenge") {
		idptest.Answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	told := map[string]any{"access_token": "canary-access-token", "token_type": "bearer"}
	if s.idToken != nil {
		c := jwt.MapClaims{
			"aud":   idptest.ClientID,
			"iat":   time.Now().Unix(),
			"exp":   time.Now().Add(time.Minute).Unix(),
			"nonce": s.asked.Get("nonce"),
		}
		for name, value := range s.idToken {
			c[name] = value
		}
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, c)
		token.Header["kid"] = "one"
		told["id_token"], _ = token.SignedString(rsaKey())
	}
	idptest.Answer(w, 200, told)
}

// login goes through one login and returns its user.
func (s *stage) login(r *rig) (*models.User, error) {
	b := r.begin()
	u, err := url.Parse(b.redirect)
	if err != nil {
		s.t.Fatal(err)
	}
	s.asked = u.Query()
	token, err := r.Finish(s.t.Context(), url.Values{"code": {"the-code"}, "state": {s.asked.Get("state")}}, b.cookie, audit.Entry{})
	if err != nil {
		if token != (auth.Token{}) {
			s.t.Error("there is a token beside the failure")
		}
		return nil, err
	}
	return r.userOf(token), nil
}

func (s *stage) rig(name string) *rig {
	store := openStore(s.t, "sqlite:"+filepath.Join(s.t.TempDir(), "gateway.db"))
	return newRigOn(s.t, &idptest.Provider{}, store, func(o *Options) {
		o.Config.Name, o.Config.Issuer = name, ""
		o.HTTP = &http.Client{Transport: idptest.InProcess{Handler: s.mux}}
	})
}

const tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"

// cast is each provider with the person it logs in when all is well.
var cast = []struct {
	name, begins string
	scopes       []string
	openID       bool
	idToken      jwt.MapClaims
	bodies       map[string]string
	issuer       string
	subject      string
}{
	{
		name: "google", begins: "https://accounts.google.com/", scopes: []string{"openid", "email", "profile"}, openID: true,
		idToken: jwt.MapClaims{"iss": googleIssuer, "sub": "117", "email": "ada@example.com", "email_verified": true, "azp": idptest.ClientID},
		bodies: map[string]string{
			"www.googleapis.com/oauth2/v2/userinfo": `{"id":"117","email":"ada@example.com","verified_email":true,"name":"Ada"}`,
		},
		issuer: googleIssuer, subject: "117",
	},
	{
		name: "github", begins: "https://github.com/login/oauth/authorize", scopes: []string{"read:user", "user:email"},
		bodies: map[string]string{
			"api.github.com/user":        `{"id":117,"login":"ada","name":"Ada","email":"public@elsewhere.example.com"}`,
			"api.github.com/user/emails": `[{"email":"old@example.com","verified":true,"primary":false},{"email":"ada@example.com","verified":true,"primary":true,"visibility":null}]`,
		},
		issuer: githubIssuer, subject: "117",
	},
	{
		name: "gitlab", begins: "https://gitlab.com/oauth/authorize", scopes: []string{"read_user"},
		bodies: map[string]string{
			"gitlab.com/api/v4/user": `{"id":117,"username":"ada","name":"Ada","email":"ada@example.com","confirmed_at":"2020-02-24T10:53:32.767Z"}`,
		},
		issuer: gitlabIssuer, subject: "117",
	},
	{
		name: "azureadv2", begins: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize", scopes: []string{"openid", "email", "profile"}, openID: true,
		idToken: jwt.MapClaims{
			"iss":      microsoft + tenant + "/v2.0",
			"tid":      tenant,
			"sub":      "117",
			"email":    "ada@example.com",
			"xms_edov": true,
		},
		bodies: map[string]string{
			"graph.microsoft.com/v1.0/me": `{"id":"5c71","displayName":"Ada","mail":"victim@example.com","userPrincipalName":"victim@example.com"}`,
		},
		issuer: microsoft + tenant + "/v2.0", subject: "117",
	},
}

func TestEachProviderLogsIn(t *testing.T) {
	for _, c := range cast {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.idToken, s.bodies = c.idToken, c.bodies
			r := s.rig(c.name)
			user, err := s.login(r)
			if err != nil {
				t.Fatal(err)
			}
			if user.Email != "ada@example.com" || user.Name != "Ada" {
				t.Errorf("%+v", user)
			}
			if known, err := r.store.UserByIdentity(t.Context(), c.issuer, c.subject); err != nil || known.ID != user.ID {
				t.Errorf("the identity leads to %v, %v", known, err)
			}
			if again, err := s.login(r); err != nil || again.ID != user.ID {
				t.Error("a second login: ", again, err)
			}
			if !strings.HasPrefix(r.begin().redirect, c.begins) {
				t.Error(r.begin().redirect)
			}
			for name, want := range map[string]string{"client_id": idptest.ClientID, "redirect_uri": callback, "response_type": "code", "code_challenge_method": "S256"} {
				if s.asked.Get(name) != want {
					t.Errorf("%s is %q", name, s.asked.Get(name))
				}
			}
			for _, scope := range c.scopes {
				if !strings.Contains(s.asked.Get("scope"), scope) {
					t.Errorf("scope %q lacks %s", s.asked.Get("scope"), scope)
				}
			}
			if len(s.asked.Get("state")) != 43 || len(s.asked.Get("code_challenge")) != 43 || s.asked.Has("nonce") != c.openID ||
				s.asked.Get("access_type") == "offline" {
				t.Errorf("asked %v", s.asked)
			}
		})
	}
}

// doubt is a change for the worse, and what comes of it: 200, or a failure.
type doubt struct {
	name   string
	what   string
	change func(*stage)
	want   string
}

// token changes one claim of the ID token; nil removes it.
func token(name string, value any) func(*stage) {
	return func(s *stage) {
		s.idToken = maps.Clone(s.idToken)
		if s.idToken[name] = value; value == nil {
			delete(s.idToken, name)
		}
	}
}

// body changes one of the answers.
func body(address, text string) func(*stage) {
	return func(s *stage) { s.bodies[address] = text }
}

func doubts() []doubt {
	const profile, emails, gitlabUser, googleUser, graph = "api.github.com/user", "api.github.com/user/emails", "gitlab.com/api/v4/user", "www.googleapis.com/oauth2/v2/userinfo", "graph.microsoft.com/v1.0/me"
	const verified, rejected, broken = "403 email_not_verified", "401 idp_rejected", "503 idp_unavailable"
	return []doubt{
		{"google", "of another issuer", token("iss", "https://evil.example.com"), rejected},
		{"google", "issuer without https", token("iss", "accounts.google.com"), "200"},
		{"google", "wrong aud", token("aud", "x"), rejected},
		{"google", "wrong azp", token("azp", "x"), rejected},
		{"google", "wrong nonce", token("nonce", "x"), rejected},
		{"google", "exp a text", token("exp", "x"), rejected},
		{"google", "expired", token("exp", 1), rejected},
		{"google", "unverified", token("email_verified", false), verified},
		{"google", "verified as a text", token("email_verified", "true"), verified},
		{"google", "no address", token("email", nil), verified},
		{"google", "another user's profile", body(googleUser, `{"id":"118","email":"ada@example.com"}`), rejected},
		{"google", "profile without a user", body(googleUser, `{}`), rejected},
		{"google", "no ID token", func(s *stage) { s.idToken = nil }, rejected},
		{"google", "garbage profile", body(googleUser, `{`), broken},
		{"google", "no profile", func(s *stage) { delete(s.bodies, googleUser) }, broken},

		{
			"github",
			"unverified primary",
			body(
				emails,
				`[{"email":"ada@example.com","verified":false,"primary":true},{"email":"b@example.com","verified":true,"primary":false}]`,
			),
			verified,
		},
		{"github", "verified as a text", body(emails, `[{"email":"ada@example.com","verified":"true","primary":true}]`), verified},
		{"github", "no addresses", body(emails, `[]`), verified},
		{"github", "addresses null", body(emails, `null`), verified},
		{"github", "addresses not a list", body(emails, `{"message":"canary"}`), broken},
		{"github", "addresses forbidden", func(s *stage) { delete(s.bodies, emails) }, broken},
		{"github", "profile without id", body(profile, `{"login":"ada"}`), broken},
		{"github", "profile null", body(profile, `null`), broken},
		{"github", "id a text", body(profile, `{"id":"117"}`), broken},
		{"github", "id 0", body(profile, `{"id":0}`), broken},
		{"github", "id negative", body(profile, `{"id":-1}`), broken},
		{"github", "id beyond numbers", body(profile, `{"id":1e99}`), broken},

		{"gitlab", "unconfirmed", body(gitlabUser, `{"id":117,"email":"ada@example.com","confirmed_at":null}`), verified},
		{"gitlab", "not said to be confirmed", body(gitlabUser, `{"id":117,"email":"ada@example.com"}`), verified},
		{"gitlab", "confirmed true", body(gitlabUser, `{"id":117,"email":"ada@example.com","confirmed_at":true}`), verified},
		{"gitlab", "no address", body(gitlabUser, `{"id":117,"confirmed_at":"2020-02-24T10:53:32.767Z"}`), verified},
		{"gitlab", "no id", body(gitlabUser, `{"email":"ada@example.com","confirmed_at":"2020-02-24T10:53:32.767Z"}`), broken},
		{"gitlab", "garbage", body(gitlabUser, `<html>`), broken},
		{"gitlab", "forbidden", func(s *stage) { delete(s.bodies, gitlabUser) }, broken},

		{"azureadv2", "domain not proven", token("xms_edov", false), verified},
		{"azureadv2", "domain not mentioned", token("xms_edov", nil), verified},
		{"azureadv2", "domain as its other spelling", token("xms_edov", "1"), "200"},
		{"azureadv2", "domain a text", token("xms_edov", "true"), verified},
		{"azureadv2", "another claim instead", func(s *stage) { token("xms_edov", nil)(s); token("email_verified", true)(s) }, verified},
		{"azureadv2", "no address", token("email", nil), verified},
		{"azureadv2", "issuer of another tenant", token("iss", microsoft+"00000000-86f1-41af-91ab-2d7cd011db47/v2.0"), rejected},
		{"azureadv2", "issuer elsewhere", token("iss", "https://evil.example.com/"+tenant+"/v2.0"), rejected},
		{"azureadv2", "no tenant", func(s *stage) { token("tid", nil)(s); token("iss", microsoft+"/v2.0")(s) }, rejected},
		{
			"azureadv2",
			"tenant with a path",
			func(s *stage) { token("tid", "a/../b")(s); token("iss", microsoft+"a/../b/v2.0")(s) },
			rejected,
		},
		{"azureadv2", "wrong aud", token("aud", "x"), rejected},
		{"azureadv2", "wrong nonce", token("nonce", "x"), rejected},
		{"azureadv2", "garbage profile", body(graph, `[`), broken},
	}
}

func TestInvalidProofOfEachProviderIsRefused(t *testing.T) {
	for _, row := range doubts() {
		t.Run(row.name+" "+row.what, func(t *testing.T) {
			s := newStage(t)
			for _, c := range cast {
				if c.name == row.name {
					s.idToken = c.idToken
					maps.Copy(s.bodies, c.bodies)
				}
			}
			row.change(s)
			_, err := s.login(s.rig(row.name))
			if row.want == "200" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var status int
			var code string
			if _, bad := fmt.Sscan(row.want, &status, &code); bad != nil {
				t.Fatal(bad)
			}
			wants(t, err, status, code)
		})
	}
}

func TestMicrosoftThroughDiscoveryNeedsTheSameProof(t *testing.T) {
	for edov, want := range map[string]bool{`true`: true, `"1"`: true, `1`: true, `false`: false, `"true"`: false, ``: false} {
		c := claims{Issuer: microsoft + tenant + "/v2.0", Email: "ada@example.com", DomainOwned: []byte(edov)}
		if _, verified := address(c, claims{}); verified != want {
			t.Errorf("xms_edov %s: %v", edov, verified)
		}
		c.EmailVerified = []byte("false")
		if _, verified := address(c, claims{}); verified {
			t.Errorf("xms_edov %s goes before email_verified false", edov)
		}
		c.Issuer, c.EmailVerified = "https://login.microsoftonline.com.evil.example.com/", nil
		if _, verified := address(c, claims{}); verified {
			t.Errorf("xms_edov %s of another issuer", edov)
		}
	}
}

func TestUnknownProviderFailsAtTheStart(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Config.Name = "myspace" },
		func(o *Options) { o.Secret = nil },
	} {
		o := Options{PublicURL: publicURL, Secret: []byte(jwtSecret), Now: time.Now}
		o.Config.ClientID, o.Config.Name = "id", "github"
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o.Config)
		}
	}
}
