package idp

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
	"modelgateway/services/idp/idptest"
)

func TestCorrectProviderYieldsATokenThatWorks(t *testing.T) {
	r := newRig(t)
	user := r.must()
	if user.Email != "ada@example.com" || user.Name != "Ada Lovelace" || user.PasswordHash != "" || user.CreatedAt == 0 {
		t.Errorf("made %+v", user)
	}
	again, err := r.store.UserByIdentity(t.Context(), r.idp.URL, "ada-1")
	if err != nil || again.ID != user.ID {
		t.Errorf("the identity leads to %v, %v", again, err)
	}
	if next := r.must(); next.ID != user.ID {
		t.Error("a second login makes a second user")
	}
}

func TestBeginSendsTheBrowserWithStatePKCEAndNonce(t *testing.T) {
	r := newRig(t)
	one, two := r.begin(), r.begin()
	u, err := url.Parse(one.redirect)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := url.Parse(two.redirect)
	q := u.Query()
	if got := u.Scheme + "://" + u.Host + u.Path; got != r.idp.URL+"/authorize" {
		t.Error(got)
	}
	for name, want := range map[string]string{"client_id": idptest.ClientID, "response_type": "code", "redirect_uri": callback, "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			t.Errorf("%s is %q", name, q.Get(name))
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(q.Get(name)) != 43 || q.Get(name) == other.Query().Get(name) || q.Get(name) == q.Get("redirect_uri") {
			t.Errorf("%s is %q, and %q the next time", name, q.Get(name), other.Query().Get(name))
		}
	}
	if strings.Contains(one.redirect, url.QueryEscape(idptest.ClientSecret)) || one.cookie == two.cookie {
		t.Error("the secret is in the address, or all cookies are one")
	}
}

func TestCookieHidesItsContentAndKnowsItsKey(t *testing.T) {
	r := newRig(t)
	b := r.begin()
	a, err := r.open(b.cookie)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []secret{a.state, a.verifier, a.nonce} {
		if strings.Contains(b.cookie, s.text()[:20]) {
			t.Error("the cookie shows a secret")
		}
	}
	if len(b.cookie) > 400 {
		t.Errorf("%d bytes", len(b.cookie))
	}
	elsewhere := newRigWith(t, r.idp, func(o *Options) { o.Secret = []byte("another secret, of 32 bytes or more") })
	if _, err := elsewhere.open(b.cookie); err == nil {
		t.Error("opens with another secret")
	}
	moved := newRigWith(t, r.idp, func(o *Options) { o.Config.ClientID = "another client" })
	if _, err := moved.open(b.cookie); err == nil {
		t.Error("opens for another client")
	}
	replica := newRigWith(t, r.idp)
	if got, err := replica.open(b.cookie); err != nil || got != a {
		t.Error("another replica does not open it: ", err)
	}
}

func TestCookieIsForTheCallbackAlone(t *testing.T) {
	l := &Login{opts: Options{PublicURL: "https://example.com/ai"}}
	c := l.Cookie("value")
	if c.Name != CookieName || c.Value != "value" || c.Path != "/ai/auth/idp" || !c.HttpOnly || !c.Secure ||
		c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 || c.Domain != "" {
		t.Errorf("%+v", c)
	}
	l.opts.PublicURL = "http://localhost:8080"
	if c := l.Cookie(""); c.MaxAge >= 0 || c.Secure || c.Path != "/auth/idp" {
		t.Errorf("%+v", c)
	}
}

func TestWithoutSettingsThereIsNoLogin(t *testing.T) {
	l, err := New(Options{})
	if err != nil || l.Configured() {
		t.Fatal(err)
	}
	_, _, err = l.Begin(t.Context())
	wants(t, err, 404, "idp_not_configured")
	_, err = l.Finish(t.Context(), url.Values{"error": {"access_denied"}}, "cookie", audit.Entry{})
	wants(t, err, 404, "idp_not_configured")
}

func TestCallbackComesFromTheSettings(t *testing.T) {
	r := newRig(t)
	b := r.begin()
	back := r.consent(b)
	back.Set("redirect_uri", "https://evil.example.com/")
	if _, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{}); err != nil {
		t.Fatal(err)
	}
	if got := r.idp.Seen[0].Get("redirect_uri"); got != callback {
		t.Error(got)
	}
}

func TestProviderRefusesTheLogin(t *testing.T) {
	r := newRig(t)
	b := r.begin()
	state := r.consent(b).Get("state")
	for _, row := range []struct {
		code, shown string
		status      int
		want        string
	}{
		{"access_denied", "access_denied", 401, "idp_rejected"},
		{"login_required", "login_required", 401, "idp_rejected"},
		{"<script>alert(1)</script>", "", 401, "idp_rejected"},
		{"Your account is locked, call +1 555 0100", "", 401, "idp_rejected"},
		{strings.Repeat("a", 5000), "", 401, "idp_rejected"},
		{"\xff\r\n", "", 401, "idp_rejected"},
		{"server_error", "", 503, "idp_unavailable"},
	} {
		query := url.Values{"error": {row.code}, "error_description": {"canary text"}, "state": {state}, "code": {"x"}}
		token, err := r.Finish(t.Context(), query, b.cookie, audit.Entry{})
		e := r.refuses(token, err, row.status, row.want)
		if strings.Contains(e.Message, row.code) != (row.shown != "") {
			t.Errorf("%.40q: %s", row.code, e.Message)
		}
	}
	_, err := r.Finish(t.Context(), url.Values{"error": {"access_denied"}}, "", audit.Entry{}) // the cookie has run out meanwhile
	wants(t, err, 401, "idp_rejected")
	r.noUser()
}

func TestExchangeAsTheProviderWantsTheSecret(t *testing.T) {
	inForm := func(r *http.Request) bool {
		return r.PostForm.Get("client_id") == idptest.ClientID && r.PostForm.Get("client_secret") == idptest.ClientSecret
	}
	for _, row := range []struct {
		name    string
		methods any
		auth    func(*http.Request) bool
		tries   int
	}{
		{"in the header", []string{"client_secret_basic"}, nil, 1},
		{"in the form", []string{"client_secret_post"}, inForm, 1},
		{"either, in the header", []string{"client_secret_post", "client_secret_basic"}, nil, 1},
		{"either, in the form for this client", []string{"client_secret_post", "client_secret_basic"}, inForm, 2},
		{"by default", nil, nil, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t)
			r.idp.Document = func(doc map[string]any) { doc["token_endpoint_auth_methods_supported"] = row.methods }
			if row.auth != nil {
				r.idp.Auth = row.auth
			}
			r.must()
			if got := r.idp.Count("/token"); got != row.tries {
				t.Errorf("%d requests", got)
			}
		})
	}
}

func TestWrongClientSecretIs503(t *testing.T) {
	r := newRig(t)
	r.idp.Auth = func(*http.Request) bool { return false }
	token, err := r.login()
	if e := r.refuses(token, err, 503, "idp_unavailable"); e.ShouldRetry() {
		t.Error("the state is used up: trying again is of no use")
	}
}

func TestRotatedKeysAreFetched(t *testing.T) {
	r := newRig(t)
	r.must()
	next := idptest.New(t)
	r.idp.Set(func(m *idptest.Provider) { m.Key, m.KeyID = next.Key, "second" })
	r.must()
	if got := r.idp.Count("/keys"); got != 2 {
		t.Errorf("keys were fetched %d times", got)
	}
}

func TestTokensOfUnknownKeysDoNotFetchTheKeysEachTime(t *testing.T) {
	now := time.Now()
	r := newRig(t, func(o *Options) { o.Now = func() time.Time { return now } })
	stranger := idptest.New(t)
	stranger.KeyID = "unknown"
	r.idp.Set(func(m *idptest.Provider) { m.Sign = func(c jwt.MapClaims) any { return stranger.Signed(c) } })
	for range 10 {
		token, err := r.login()
		r.refuses(token, err, 401, "idp_rejected")
	}
	if got := r.idp.Count("/keys"); got != mostFetches {
		t.Errorf("keys were fetched %d times", got)
	}
	now = now.Add(fetchWindow)
	r.idp.Set(func(m *idptest.Provider) { m.Sign, m.Key, m.KeyID = nil, stranger.Key, "unknown" })
	r.must()
}

func TestLoginWithoutTheDatabaseIs503(t *testing.T) {
	r := newRig(t)
	b := r.begin()
	back := r.consent(b)
	_ = r.store.Close()
	token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
	r.refuses(token, err, 503, "service_unavailable")
}

func TestFailureToIssueIsPassedOn(t *testing.T) {
	failure := errors.New("no secret to sign with")
	r := newRig(t, func(o *Options) {
		o.Issue = func(*models.User) (auth.Token, error) { return auth.Token{}, failure }
	})
	if _, err := r.login(); !errors.Is(err, failure) {
		t.Error(err)
	}
}

func TestSeveralAudiencesWithOurPartyAreAccepted(t *testing.T) {
	r := newRig(t)
	r.idp.Claims = func(c jwt.MapClaims) { c["aud"], c["azp"] = []string{"other", idptest.ClientID}, idptest.ClientID }
	r.must()
}

func TestDiscoveryIsKeptAndRenewed(t *testing.T) {
	now := time.Now()
	r := newRig(t, func(o *Options) { o.Now = func() time.Time { return now } })
	discovered := func() int { return r.idp.Count("/.well-known/openid-configuration") }
	r.begin()
	r.begin()
	if discovered() != 1 {
		t.Errorf("discovered %d times", discovered())
	}
	now = now.Add(61 * time.Minute)
	r.begin()
	if discovered() != 2 {
		t.Errorf("discovered %d times", discovered())
	}
	r.idp.Set(func(m *idptest.Provider) { m.Instead["/.well-known/openid-configuration"] = http.NotFound })
	now = now.Add(61 * time.Minute)
	r.begin()
	r.begin()
	if discovered() != 3 {
		t.Errorf("a provider that was found is forgotten, or asked again at once: %d", discovered())
	}
}
