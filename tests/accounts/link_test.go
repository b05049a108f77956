package accounts

import (
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/services/idp/idptest"
	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
)

// browser is a person's browser, which keeps cookies, between a gateway and an identity
// provider.
type browser struct {
	*http.Client
	gateway *gatewaytest.Program
	host    *url.URL // of the gateway, as its cookies know it
}

func newBrowser(t testing.TB, p *gatewaytest.Program) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	host, err := url.Parse(idptest.Callback)
	if err != nil {
		t.Fatal(err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{&http.Client{Jar: jar, Transport: p.Client.Transport, CheckRedirect: stay}, p, host}
}

// send sends a request to the gateway with the browser's cookies.
func (b *browser) send(t testing.TB, method, path string, token []string) gatewaytest.Answer {
	t.Helper()
	headers := append([]string(nil), token...)
	var cookies []string
	for _, cookie := range b.Jar.Cookies(b.host) {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	if len(cookies) > 0 {
		headers = append(headers, "Cookie", strings.Join(cookies, "; "))
	}
	client := *b.gateway.Client
	client.CheckRedirect = b.CheckRedirect
	at := *b.gateway
	at.Client = &client
	a := at.Call(t, method, path, "", headers...)
	b.Jar.SetCookies(b.host, (&http.Response{Header: a.Header}).Cookies())
	return a
}

// consent opens an address of the provider, and follows it back to the gateway.
func (b *browser) consent(t testing.TB, address string) gatewaytest.Answer {
	t.Helper()
	client := &http.Client{CheckRedirect: b.CheckRedirect}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	back, err := resp.Location()
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(resp.StatusCode, err)
	}
	return b.send(t, "GET", back.RequestURI(), nil)
}

func (b *browser) login(t testing.TB) gatewaytest.Answer {
	t.Helper()
	return b.consent(t, must(t, 302, b.send(t, "GET", "/auth/idp", nil)).Header.Get("Location"))
}

func (b *browser) link(t testing.TB, token []string) gatewaytest.Answer {
	t.Helper()
	return b.consent(t, gatewaytest.Field(t, must(t, 200, b.send(t, "POST", "/auth/idp/link", token)), "url"))
}

func bearer(t testing.TB, a gatewaytest.Answer) []string {
	t.Helper()
	return []string{"Authorization", "Bearer " + gatewaytest.Field(t, must(t, 200, a), "token")}
}

func wantRefusal(t testing.TB, status int, code string, a gatewaytest.Answer) {
	t.Helper()
	if a.Status != status || a.APIError(t).Code != code {
		t.Errorf("%d %s, not %d %s", a.Status, a.Body, status, code)
	}
}

// startWithIDP starts a gateway with a provider at which ada@example.com logs in.
func startWithIDP(t *testing.T, settings ...string) (*gatewaytest.Program, *idptest.Provider) {
	t.Helper()
	provider := idptest.Serve(t)
	return gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret,
		"PUBLIC_URL="+strings.TrimSuffix(idptest.Callback, "/auth/idp/callback"), "IDP_CLIENT_ID="+idptest.ClientID,
		"IDP_CLIENT_SECRET="+idptest.ClientSecret, "IDP_PROVIDER=oidc", "IDP_ISSUER="+provider.URL)...), provider
}

// checkConfirmed checks that the token of an old login links nothing without the password.
func checkConfirmed(t *testing.T, p *gatewaytest.Program, token []string) {
	t.Helper()
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(strings.TrimPrefix(token[1], "Bearer "), claims); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"iat", "exp"} {
		claims[at] = claims[at].(float64) - 301
	}
	old, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(strings.TrimPrefix(gatewaytest.JWTSecret, "JWT_SECRET=")))
	if err != nil {
		t.Fatal(err)
	}
	link := func(body string) gatewaytest.Answer {
		return p.Call(t, "POST", "/auth/idp/link", body, "Authorization", "Bearer "+old)
	}
	wantRefusal(t, 403, "password_required", link(""))
	wantRefusal(t, 401, "invalid_credentials", link(`{"current_password":"correct horse"}`))
	must(t, 200, link(`{"current_password":"correct horse battery"}`))
}

func TestUsersLinkAnIdentityLogInWithItAndRemoveIt(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		mails := mailtest.Serve(t)
		p, provider := startWithIDP(t, append(settings, "SMTP_URL="+mails.URL, "SMTP_FROM=gateway@example.com")...)
		b := newBrowser(t, p)
		p.Login(t) // ada@example.com, with a password
		must(t, 200, p.Call(t, "POST", "/auth/verify", `{"token":"`+mails.Await(t, 1).Token()+`","new_password":"correct horse battery"}`))
		token := p.Login(t)
		id, _ := p.CreateKey(t, token)
		owns := func(token []string) bool { return findListed(t, p, "/auth/keys", id, token) != nil }

		wantRefusal(t, 409, "account_exists", b.login(t)) // a verified address: nothing is joined by itself
		wantRefusal(t, 404, "identity_not_found", b.send(t, "DELETE", "/auth/idp/link", token))
		checkConfirmed(t, p, token)
		linked := bearer(t, b.link(t, token))
		if m := mails.Await(t, 2); m.To != "<ada@example.com>" || !strings.Contains(m.Text, "ada@example.com of "+provider.URL+" can now log in") {
			t.Errorf("%+v", m)
		}
		if got := must(t, 200, p.Call(t, "GET", "/auth/session", "", linked...)).Body; !strings.Contains(got,
			`"identities":[{"issuer":"`+provider.URL+`","email":"ada@example.com","created_at":`) {
			t.Error(got)
		}
		if !owns(linked) || !owns(bearer(t, b.login(t))) {
			t.Error("the identity opens another account")
		}
		if !owns(p.Login(t)) {
			t.Error("the password does not work beside the identity")
		}
		must(t, 200, b.send(t, "DELETE", "/auth/idp/link", linked))
		wantRefusal(t, 409, "account_exists", b.login(t))
		if !owns(token) || !owns(p.Login(t)) {
			t.Error("the account is not as before")
		}
		rows := gatewaytest.Command(t, settings, "audit", "--json")
		for _, action := range []string{"identity.link", "identity.unlink"} {
			if strings.Count(rows, `"action":"`+action+`"`) != 1 || !strings.Contains(rows, provider.URL) {
				t.Errorf("%s: %s", action, rows)
			}
		}

		// Grace has the identity provider only.
		provider.Set(func(m *idptest.Provider) { m.Person["sub"], m.Person["email"] = "grace-1", "grace@example.com" })
		grace := bearer(t, b.login(t))
		wantRefusal(t, 409, "last_login", b.send(t, "DELETE", "/auth/idp/link", grace))
		wantRefusal(t, 409, "account_exists", b.link(t, token)) // the identity is hers
		if again := bearer(t, b.login(t)); owns(again) {
			t.Error("the identity opens another account")
		}
	})
}

// Who has lost the control of an account ends every way in: a reset and a logout everywhere remove identities too.
func TestAResetAndALogoutEverywhereRemoveIdentities(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		mails := mailtest.Serve(t)
		p, provider := startWithIDP(t, append(settings, "SMTP_URL="+mails.URL, "SMTP_FROM=gateway@example.com")...)
		b := newBrowser(t, p)
		p.Login(t)
		must(t, 200, p.Call(t, "POST", "/auth/verify", `{"token":"`+mails.Await(t, 1).Token()+`","new_password":"correct horse battery"}`))
		bearer(t, b.link(t, p.Login(t)))
		mails.Await(t, 2)
		reset := func(n int, body string) {
			t.Helper()
			must(t, 202, p.Call(t, "POST", "/auth/password/forgot", `{"email":"ada@example.com"}`))
			secret := mails.Await(t, n).Token()
			if o := openLink(t, p, secret); o.Ends != nil || len(o.Identities) != 1 || o.Identities[0].Issuer != provider.URL {
				t.Errorf("%+v", o)
			}
			must(t, 200, p.Call(t, "POST", "/auth/password/reset", `{"token":"`+secret+`","new_password":"correct horse battery"`+body+`}`))
		}
		reset(3, "")
		bearer(t, b.login(t)) // the identity stays unless the reset says otherwise
		reset(4, `,"unlink":true`)
		wantRefusal(t, 409, "account_exists", b.login(t))

		token := bearer(t, b.link(t, p.Login(t)))
		a := p.Call(t, "POST", "/auth/logout", `{"unlink":true}`, token...)
		if wantRefusal(t, 400, "invalid_value", a); !strings.Contains(a.Body, `"param":"unlink"`) {
			t.Error(a.Body)
		}
		must(t, 200, p.Call(t, "POST", "/auth/logout", `{"everywhere":true,"unlink":true}`, token...))
		wantRefusal(t, 401, "invalid_token", p.Call(t, "GET", "/auth/keys", "", token...))
		wantRefusal(t, 409, "account_exists", b.login(t))
		must(t, 200, p.Call(t, "POST", "/auth/logout", `{"everywhere":true,"unlink":true}`, p.Login(t)...)) // with none it is no error
		if rows := gatewaytest.Command(t, settings, "audit", "--json"); strings.Count(rows, `"action":"identity.unlink"`) != 2 {
			t.Error(rows)
		}

		provider.Set(func(m *idptest.Provider) { m.Person["sub"], m.Person["email"] = "grace-1", "grace@example.com" })
		grace := bearer(t, b.login(t))
		wantRefusal(t, 409, "last_login", p.Call(t, "POST", "/auth/logout", `{"everywhere":true,"unlink":true}`, grace...))
		must(t, 200, p.Call(t, "GET", "/auth/keys", "", grace...))
	})
}

func TestALinkNeedsTheTokenAndTheBrowserThatBeganIt(t *testing.T) {
	t.Parallel()
	p, _ := startWithIDP(t)
	token := p.Login(t)
	b := newBrowser(t, p)
	wantRefusal(t, 401, "missing_credentials", b.send(t, "POST", "/auth/idp/link", nil))
	_, key := p.CreateKey(t, token)
	if a := b.send(t, "POST", "/auth/idp/link", []string{"X-API-Key", key}); a.Status != 401 {
		t.Errorf("with a key: %d %s", a.Status, a.Body)
	}
	address := gatewaytest.Field(t, must(t, 200, b.send(t, "POST", "/auth/idp/link", token)), "url")
	wantRefusal(t, 400, "invalid_state", newBrowser(t, p).consent(t, address))
	must(t, 200, p.Call(t, "POST", "/auth/logout", `{"everywhere":true}`, token...))
	wantRefusal(t, 400, "invalid_state", b.consent(t, address))
	without := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret)
	wantRefusal(t, 404, "idp_not_configured", without.Call(t, "POST", "/auth/idp/link", "", without.Login(t)...))
}
