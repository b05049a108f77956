package accounts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

func TestUsersRegisterLogInAndCreateAndRevokeKeys(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)...)
		if a := p.Chat(t, gatewaytest.HelloRequest); a.Status != 401 || a.APIError(t).Code != "missing_credentials" ||
			a.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("without a credential: %d %s", a.Status, a.Body)
		}
		a := p.Call(t, "POST", "/auth/register", gatewaytest.AdaAccount)
		if a.Status != 201 || gatewaytest.Field(t, a, "email") != "ada@example.com" || strings.Contains(a.Body, "horse") ||
			strings.Contains(a.Body, "hash") {
			t.Errorf("register: %d %s", a.Status, a.Body)
		}
		if a := p.Call(t, "POST", "/auth/register", gatewaytest.AdaAccount); a.Status != 409 || a.APIError(t).Code != "email_taken" {
			t.Errorf("register again: %d %s", a.Status, a.Body)
		}
		token := p.Login(t)
		id, key := p.CreateKey(t, token)
		bearer, header := []string{"Authorization", "Bearer " + key}, []string{"X-API-Key", key}
		for _, credential := range [][]string{token, bearer, header, append(bearer, header...)} {
			if a := p.Chat(t, gatewaytest.HelloRequest, credential...); a.Status != 200 {
				t.Errorf("%v: %d %s", credential[0], a.Status, a.Body)
			}
			if a := p.Call(t, "GET", "/v1/models", "", credential...); a.Status != 200 {
				t.Errorf("models: %d", a.Status)
			}
		}
		list := p.Call(t, "GET", "/auth/keys", "", token...)
		if list.Status != 200 || !strings.Contains(list.Body, id) || strings.Contains(list.Body, key) ||
			strings.Contains(list.Body, `"last_used_at":null`) {
			t.Errorf("list: %d %s", list.Status, list.Body)
		}
		if a := p.Call(t, "DELETE", "/auth/keys/"+id, "", token...); a.Status != 200 ||
			a.Body != `{"id":"`+id+`","object":"api_key","deleted":true}` {
			t.Errorf("revoke: %d %s", a.Status, a.Body)
		}
		for _, credential := range [][]string{bearer, header} {
			if a := p.Chat(t, gatewaytest.HelloRequest, credential...); a.Status != 401 || a.APIError(t).Code != "invalid_api_key" {
				t.Errorf("a revoked key: %d %s", a.Status, a.Body)
			}
		}
		if a := p.Call(t, "DELETE", "/auth/keys/"+id, "", token...); a.Status != 404 || a.APIError(t).Code != "key_not_found" {
			t.Errorf("revoke again: %d %s", a.Status, a.Body)
		}
		if a := p.Get(t, "/health"); a.Status != 200 {
			t.Errorf("health needs a credential: %d", a.Status)
		}
	})
}

func TestMisplacedOrConflictingCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	token := p.Login(t)
	_, key := p.CreateKey(t, token)
	_, other := p.CreateKey(t, token)
	typo := key[:len(key)-1] + "x"
	if typo == key {
		typo = key[:len(key)-1] + "y"
	}
	for name, tt := range map[string]struct {
		path    string
		headers []string
	}{
		"an API key on /auth/keys":        {"/auth/keys", []string{"Authorization", "Bearer " + key}},
		"an API key header on /auth/keys": {"/auth/keys", []string{"X-API-Key", key}},
		"a JWT as API key":                {"/v1/models", []string{"X-API-Key", strings.TrimPrefix(token[1], "Bearer ")}},
		"two that disagree":               {"/v1/models", []string{"Authorization", "Bearer " + key, "X-API-Key", other}},
		"a token and a key":               {"/v1/models", append([]string{"X-API-Key", key}, token...)},
		"no credential behind it":         {"/v1/models", []string{"Authorization", "Bearer "}},
		"two spaces":                      {"/v1/models", []string{"Authorization", "Bearer  " + key}},
		"a tab":                           {"/v1/models", []string{"Authorization", "Bearer\t" + key}},
		"another scheme":                  {"/v1/models", []string{"Authorization", "Basic " + key}},
		"no scheme":                       {"/v1/models", []string{"Authorization", key}},
		"a typo":                          {"/v1/models", []string{"Authorization", "Bearer " + typo}},
		"huge":                            {"/v1/models", []string{"Authorization", "Bearer " + strings.Repeat("a.", 10_000)}},
	} {
		if a := p.Call(t, "GET", tt.path, "", tt.headers...); a.Status != 401 || a.APIError(t).Type != "authentication_error" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/v1/models", "", "Authorization", "bearer "+key); a.Status != 200 {
		t.Errorf("in lower case: %d %s", a.Status, a.Body)
	}
}

func TestOpenModeIgnoresForeignCredentialsButRefusesRevokedKeys(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	token := p.Login(t)
	id, key := p.CreateKey(t, token)
	for _, credential := range [][]string{nil, {"Authorization", "Bearer sk-dummy"}, {"X-API-Key", "anything"}, {"Authorization", "Basic x"}, {"Authorization", "Bearer a.b.c"}, token, {"Authorization", "Bearer " + key}, {"Authorization", "Bearer sk-dummy", "X-API-Key", key}} {
		if a := p.Chat(t, gatewaytest.HelloRequest, credential...); a.Status != 200 {
			t.Errorf("%v: %d %s", credential, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "DELETE", "/auth/keys/"+id, "", token...); a.Status != 200 {
		t.Fatalf("%d", a.Status)
	}
	for _, credential := range [][]string{{"Authorization", "Bearer " + key}, {"X-API-Key", key}, {"Authorization", token[1][:len(token[1])-3] + "AAA"}} {
		a := p.Chat(t, gatewaytest.HelloRequest, credential...)
		ours := !strings.HasSuffix(credential[1], "AAA") // a token with a broken signature is foreign
		if (a.Status == 401) != ours {
			t.Errorf("%.30v: %d %s", credential, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "GET", "/auth/keys", ""); a.Status != 401 {
		t.Errorf("keys need an owner in open mode as well: %d", a.Status)
	}
}

func TestRevocationReachesTheOtherReplicaWithinASecond(t *testing.T) {
	settings := []string{
		"SIMULATOR=true",
		"REQUIRE_AUTH=true",
		gatewaytest.JWTSecret,
		"DATABASE_URL=" + servertest.Postgres(t),
		"REDIS_URL=" + servertest.Redis(t),
	}
	a, b := gatewaytest.Start(t, settings...), gatewaytest.Start(t, settings...)
	token := a.Login(t)
	for range 5 {
		id, key := a.CreateKey(t, token)
		if r := b.Call(t, "GET", "/v1/models", "", "X-API-Key", key); r.Status != 200 {
			t.Fatalf("the other replica does not know the key: %d %s", r.Status, r.Body)
		}
		if r := a.Call(t, "DELETE", "/auth/keys/"+id, "", token...); r.Status != 200 {
			t.Fatalf("%d", r.Status)
		}
		began := time.Now()
		for b.Call(t, "GET", "/v1/models", "", "X-API-Key", key).Status == 200 {
			if time.Since(began) > time.Second {
				t.Fatal("still accepted a second later")
			}
		}
	}
}

func TestResponseWithANewKeyIsNotCacheable(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	a := p.Call(t, "POST", "/auth/keys", `{"name":"x"}`, p.Login(t)...)
	if a.Status != 201 || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
}

func TestAnswersToCredentialsAreNotCacheable(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "ADMIN_EMAILS=ada@example.com")
	p.SetUp(t, "ada@example.com")
	token := p.Login(t)
	for _, path := range []string{
		"/auth/keys", "/v1/usage", "/v1/models", "/v1/models/gpt-4", "/v1/models/none", "/admin/users", "/admin/keys", "/admin/usage", "/admin/audit",
		"/auth/idp", "/none",
	} {
		for _, headers := range [][]string{token, nil} {
			if a := p.Call(t, "GET", path, "", headers...); a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %v", path, a.Status, a.Header)
			}
		}
	}
	for _, path := range []string{"/auth/register", "/auth/login"} {
		for _, body := range []string{gatewaytest.AdaAccount, "{"} {
			if a := p.Call(t, "POST", path, body); a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %v", path, a.Status, a.Header)
			}
		}
	}
}

// GitHub's login needs no request of the gateway before the browser is sent there.
func TestOnlyItsOwnCallbackEndsALogin(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "IDP_PROVIDER=github", "IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET=secret-of-the-client")
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(path, cookie string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", cookie)
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	began := get("/auth/idp", "")
	to, err := began.Location()
	if err != nil {
		t.Fatal(err)
	}
	cookie, _, _ := strings.Cut(began.Header.Get("Set-Cookie"), ";")
	for path, ends := range map[string]bool{
		"?error=access_denied": false, "?error=x&state=forged": false, "?code=x": false, "": false,
		"?error=access_denied&state=" + to.Query().Get("state"): true,
	} {
		resp := get("/auth/idp/callback"+path, cookie)
		if cleared := strings.Contains(resp.Header.Get("Set-Cookie"), "Max-Age=0"); cleared != ends || resp.StatusCode < 400 {
			t.Errorf("%q: %d %v", path, resp.StatusCode, resp.Header)
		}
	}
}

func TestIdentityProviderLoginIsOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	for _, path := range []string{"/auth/idp", "/auth/idp/callback?state=x&code=y"} {
		if a := p.Get(t, path); a.Status != 404 || a.APIError(t).Code != "idp_not_configured" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	dead := gatewaytest.Start(t, "IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET=secret-of-the-client", "IDP_PROVIDER=oidc",
		"IDP_ISSUER=http://127.0.0.1:1")
	if a := dead.Get(t, "/auth/idp"); a.Status != 503 || a.APIError(t).Code != "idp_unavailable" {
		t.Errorf("a dead provider: %d %s", a.Status, a.Body)
	}
}
