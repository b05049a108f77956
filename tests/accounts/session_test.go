package accounts

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"modelgateway/services/idp/idptest"
	"modelgateway/tests/gatewaytest"
)

const adaLogin = `{"email":"ada@example.com","password":"correct horse battery"}`

// cookieOf returns the console's cookie that an answer sets; nil: it sets none.
func cookieOf(a gatewaytest.Answer) *http.Cookie {
	for _, cookie := range (&http.Response{Header: a.Header}).Cookies() {
		if cookie.Name == "mgw_session" {
			return cookie
		}
	}
	return nil
}

// signIn returns the header of a new session of the console.
func signIn(t testing.TB, p *gatewaytest.Program, login string) []string {
	t.Helper()
	cookie := cookieOf(must(t, 204, p.Call(t, "POST", "/auth/session", login)))
	if cookie == nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.MaxAge < 3600 {
		t.Fatalf("the cookie is %v", cookie)
	}
	return []string{"Cookie", cookie.Name + "=" + cookie.Value}
}

// wantEnded wants the cookie to open nothing any more, and to be removed.
func wantEnded(t testing.TB, p *gatewaytest.Program, what string, session []string) {
	t.Helper()
	for _, path := range []string{"/auth/session", "/v1/models", "/auth/keys"} {
		a := p.Call(t, "GET", path, "", session...)
		if cookie := cookieOf(a); a.Status != 401 || cookie == nil || cookie.MaxAge >= 0 || cookie.Value != "" {
			t.Errorf("%s: %s is %d, the cookie %v", what, path, a.Status, cookie)
		}
	}
}

func TestConsolesCookieOpensWhatATokenOpensUntilItEnds(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)...)
		admin := p.Administrator(t)
		p.Login(t) // registers Ada
		wantRefusal(t, 401, "missing_credentials", p.Get(t, "/auth/session"))
		wantRefusal(t, 401, "invalid_credentials",
			p.Call(t, "POST", "/auth/session", `{"email":"ada@example.com","password":"wrong wrong"}`))

		session := signIn(t, p, adaLogin)
		var shown struct {
			User             struct{ ID, Email string }
			Password         bool
			IdentityProvider *string `json:"identity_provider"`
		}
		must(t, 200, p.Call(t, "GET", "/auth/session", "", session...)).JSON(t, &shown)
		if shown.User.Email != "ada@example.com" || !shown.Password || shown.IdentityProvider != nil {
			t.Errorf("%+v", shown)
		}
		must(t, 200, p.Call(t, "GET", "/v1/models", "", session...))
		key := gatewaytest.Field(t, must(t, 201, p.Call(t, "POST", "/auth/keys", `{"name":"app"}`, session...)), "key")
		must(t, 200, p.Chat(t, gatewaytest.HelloRequest, session...))
		wantRefusal(t, 403, "admin_required", p.Call(t, "GET", "/admin/users", "", session...))

		// A credential in a header comes first.
		wantRefusal(t, 401, "invalid_token", p.Call(t, "GET", "/auth/keys", "", append(session, "Authorization", "Bearer a.b.c")...))
		must(t, 200, p.Call(t, "GET", "/admin/users", "", append(session, admin...)...))
		wantRefusal(t, 401, "invalid_api_key", p.Chat(t, gatewaytest.HelloRequest, append(session, "X-API-Key", key[:len(key)-1]+"_")...))

		must(t, 204, p.Call(t, "DELETE", "/auth/session", "", session...))
		wantEnded(t, p, "signed out", session)

		session, other := signIn(t, p, adaLogin), signIn(t, p, adaLogin)
		out := must(t, 200, p.Call(t, "POST", "/auth/logout", `{"everywhere":true}`, session...))
		if cookie := cookieOf(out); cookie == nil || cookie.MaxAge >= 0 {
			t.Errorf("a logout leaves the cookie %v", cookie)
		}
		wantEnded(t, p, "signed out everywhere", session)
		wantEnded(t, p, "signed out everywhere, another browser", other)

		session, other = signIn(t, p, adaLogin), signIn(t, p, adaLogin)
		wrong := p.Call(t, "POST", "/auth/password", `{"current_password":"wrong wrong","new_password":"battery horse correct"}`, session...)
		wantRefusal(t, 401, "invalid_credentials", wrong)
		if cookie := cookieOf(wrong); cookie != nil {
			t.Errorf("a wrong password changes the cookie: %v", cookie)
		}
		changed := must(t, 204, p.Call(t, "POST", "/auth/password",
			`{"current_password":"correct horse battery","new_password":"battery horse correct"}`, session...))
		wantEnded(t, p, "after another password", session)
		wantEnded(t, p, "after another password, another browser", other)
		session = []string{"Cookie", "mgw_session=" + cookieOf(changed).Value}
		must(t, 200, p.Call(t, "GET", "/auth/session", "", session...))

		must(t, 200, p.Call(t, "PATCH", "/admin/users/"+shown.User.ID, `{"disabled":true}`, admin...))
		gatewaytest.Until(t, "the session of a disabled user ends", func() bool {
			return p.Call(t, "GET", "/auth/session", "", session...).Status == 401
		})
		wantEnded(t, p, "disabled", session)
	})
}

func TestConsolesCookieIsRefusedToOtherOrigins(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, "CORS_ALLOWED_ORIGINS=https://evil.example.com")
	token := p.Login(t)
	session := signIn(t, p, adaLogin)
	p.Client = new(http.Client) // the document has this refusal once, not with each operation
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example.com"}, {"Origin", "null"},
		{"Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site"},
	} {
		for _, path := range []string{"/auth/keys", "/auth/logout", "/auth/password", "/v1/chat/completions", "/admin/users"} {
			wantRefusal(t, 403, "cross_origin", p.Call(t, "POST", path, `{"name":"app"}`, append(headers, session...)...))
		}
		if headers[0] == "Sec-Fetch-Site" {
			wantRefusal(t, 403, "cross_origin", p.Call(t, "GET", "/auth/session", "", append(headers, session...)...))
		}
		if a := p.Call(t, "POST", "/auth/keys", `{"name":"app"}`, append(headers, append(session, token...)...)...); a.Status != 201 {
			t.Errorf("%v: a token in a header gets %d %s", headers, a.Status, a.Body)
		}
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}, {"Origin", p.URL}} {
		must(t, 201, p.Call(t, "POST", "/auth/keys", `{"name":"app"}`, append(headers, session...)...))
	}
}

func TestConsolesCookieIsSecureUnderHTTPS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public, trusted, scheme string
		want                    bool
	}{
		{"http://gateway.example.com", "", "", false}, {"https://gateway.example.com", "", "", true},
		{"http://gateway.example.com", "127.0.0.0/8", "https, http", true}, {"http://gateway.example.com", "127.0.0.0/8", "http, https", false},
		{"http://gateway.example.com", "", "https", false}, {"http://gateway.example.com", "192.0.2.0/24", "https", false},
	} {
		p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, "PUBLIC_URL="+c.public, "TRUSTED_PROXIES="+c.trusted)
		p.Login(t)
		cookie := cookieOf(must(t, 204, p.Call(t, "POST", "/auth/session", adaLogin, "X-Forwarded-Proto", c.scheme)))
		if cookie.Secure != c.want {
			t.Errorf("%+v: %v", c, cookie)
		}
	}
}

func TestLoginOfTheConsoleThroughTheIdentityProviderEndsWithItsCookie(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p, provider := startWithIDP(t, settings...)
		b := newBrowser(t, p)
		back := must(t, 302, b.consent(t, must(t, 302, b.send(t, "GET", "/auth/idp?console=1", nil)).Header.Get("Location")))
		cookie := cookieOf(back)
		if cookie == nil || !cookie.Secure || back.Header.Get("Location") != "/" || strings.Contains(back.Body, "token") {
			t.Fatalf("%v %q", back.Header, back.Body)
		}
		shown := must(t, 200, p.Call(t, "GET", "/auth/session", "", "Cookie", "mgw_session="+cookie.Value))
		if !strings.Contains(shown.Body, `"identity_provider":"oidc"`) || !strings.Contains(shown.Body, `"password":false`) {
			t.Errorf("%s", shown.Body)
		}
		// A provider on the same site comes back with the cookie of a session, which links an identity.
		wantRefusal(t, 400, "invalid_state", p.Call(t, "GET", "/auth/idp/callback?code=c&state=s", "", "Cookie", "mgw_session="+cookie.Value,
			"Sec-Fetch-Site", "same-site"))
		provider.Set(func(m *idptest.Provider) { m.Person["email_verified"] = false })
		provider.Set(func(m *idptest.Provider) { m.Person["sub"] = "another" })
		back = must(t, 302, b.consent(t, must(t, 302, b.send(t, "GET", "/auth/idp?console=1", nil)).Header.Get("Location")))
		if back.Header.Get("Location") != "/signin?error=email_not_verified" || cookieOf(back) != nil {
			t.Errorf("refused: %v", back.Header)
		}
	})
}

func TestLoginOfTheConsoleIsLimitedAsALogin(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "AUTH_RATE_LIMIT_RPM=5")
	last := 0
	for range 6 {
		last = p.Call(t, "POST", "/auth/session", adaLogin).Status
	}
	if last != 429 {
		t.Errorf("the sixth login gets %d", last)
	}
}

func TestLoginMethodsTellWhatALoginPageNeeds(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, "REGISTRATION=invite")
	for _, setup := range []bool{true, false} {
		var methods map[string]any
		if err := json.Unmarshal([]byte(must(t, 200, p.Get(t, "/auth/methods")).Body), &methods); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{
			"registration": "invite", "identity_provider": nil, "setup": setup, "open": true, "mail": false, "simulated": true,
		} {
			if methods[name] != want {
				t.Errorf("%s: %v", name, methods[name])
			}
		}
		p.SetUp(t, "root@example.com")
	}
}
