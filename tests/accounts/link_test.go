package accounts

import (
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

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

func TestUsersLinkAnIdentityLogInWithItAndRemoveIt(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		mails := mailtest.Serve(t)
		p, provider := startWithIDP(t, append(settings, "SMTP_URL="+mails.URL, "SMTP_FROM=gateway@example.com")...)
		b := newBrowser(t, p)
		token := p.Login(t) // ada@example.com, with a password
		must(t, 200, p.Call(t, "POST", "/auth/verify", `{"token":"`+mails.Await(t, 1).Token()+`"}`))
		id, _ := p.CreateKey(t, token)
		owns := func(token []string) bool { return findListed(t, p, "/auth/keys", id, token) != nil }

		wantRefusal(t, 409, "account_exists", b.login(t)) // a verified address: nothing is joined by itself
		wantRefusal(t, 404, "identity_not_found", b.send(t, "DELETE", "/auth/idp/link", token))
		linked := bearer(t, b.link(t, token))
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
