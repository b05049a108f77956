package console

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"testing"

	"modelgateway/services/idp/idptest"
	"modelgateway/tests/gatewaytest"
)

func TestPersonSignsInThroughTheIdentityProvider(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	port := gatewaytest.FreePort(t) // the provider sends the browser to a port that is known before
	public := "http://127.0.0.1:" + port
	provider := idptest.New(t)
	provider.Instead["/authorize"] = func(w http.ResponseWriter, r *http.Request) {
		code := rand.Text()
		provider.Set(func(m *idptest.Provider) { m.Codes[code] = r.URL.Query() })
		back := url.Values{"code": {code}, "state": {r.URL.Query().Get("state")}}
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	}
	provider.Start(t)
	gateway := start(t, "PORT="+port,
		"PUBLIC_URL="+public, "IDP_CLIENT_ID="+idptest.ClientID, "IDP_CLIENT_SECRET="+idptest.ClientSecret, "IDP_PROVIDER=oidc",
		"IDP_ISSUER="+provider.URL)
	gateway.SetUp(t, root)
	for _, v := range []view{desktop, phone} {
		p := open(browser, t, gateway, v)
		p.visit("/signin")
		p.see("Continue with")
		p.inspect("signin-idp")
		p.click("Continue with")
		p.at("/")
		p.visit("/account")
		p.see("ada@example.com")
	}

	// An identity that is linked to another account goes with a sign-out everywhere, if one says so.
	provider.Set(func(m *idptest.Provider) { m.Person["sub"], m.Person["email"] = "root-1", root })
	p := open(browser, t, gateway, desktop)
	p.signIn(root)
	p.visit("/account")
	p.click("Link your organization")
	p.at("/")
	p.visit("/account")
	p.see("You can sign in with")
	p.click("Sign out everywhere")
	p.see("Also remove my linked identities")
	p.inspect("sign-out-unlink")
	ask[any](p, `document.querySelector("dialog input").click()`)
	ask[any](p, `document.querySelector("dialog .danger").click()`)
	p.see("No account?")
	p.signIn(root)
	p.visit("/account")
	p.see("Link your identity at")
}
