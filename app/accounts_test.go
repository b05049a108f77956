package app

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/models/servertest"
)

// storages are the kinds of storage that everything about callers is tried on.
func storages(t *testing.T, test func(t *testing.T, settings []string)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		test(t, []string{"DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "gateway.db")})
	})
	t.Run("servers", func(t *testing.T) {
		test(t, []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)})
	})
}

const (
	goodSecret = "JWT_SECRET=0f9c2b7a64d18e5330bb1f6ad2c4e8971b"
	ada        = `{"email":"Ada@Example.com ","password":"correct horse battery","name":"Ada"}`
	hello      = `{"model":"gpt-4",` + hi + `}`
)

func field(t testing.TB, a answer, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(a.body), &fields); err != nil {
		t.Fatalf("%d %s", a.status, a.body)
	}
	value, _ := fields[name].(string)
	return value
}

// login registers and logs in, and returns the header of the token.
func (p *program) login(t testing.TB) []string {
	t.Helper()
	if a := p.call(t, "POST", "/auth/register", ada); a.status != 201 && a.status != 409 {
		t.Fatalf("register: %d %s", a.status, a.body)
	}
	a := p.call(t, "POST", "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`)
	if a.status != 200 || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("login: %d %s", a.status, a.body)
	}
	return []string{"Authorization", "Bearer " + field(t, a, "token")}
}

func (p *program) createKey(t testing.TB, token []string) (id, key string) {
	t.Helper()
	a := p.call(t, "POST", "/auth/keys", `{"name":"app"}`, token...)
	if a.status != 201 || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("create key: %d %s", a.status, a.body)
	}
	return field(t, a, "id"), field(t, a, "key")
}

func TestTheWalkFromRegistrationToRevocation(t *testing.T) {
	storages(t, func(t *testing.T, settings []string) {
		p := start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret)...)
		if a := p.chat(t, hello); a.status != 401 || a.fault(t).Code != "missing_credentials" || a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("without a credential: %d %s", a.status, a.body)
		}
		a := p.call(t, "POST", "/auth/register", ada)
		if a.status != 201 || field(t, a, "email") != "ada@example.com" || strings.Contains(a.body, "horse") || strings.Contains(a.body, "hash") {
			t.Errorf("register: %d %s", a.status, a.body)
		}
		if a := p.call(t, "POST", "/auth/register", ada); a.status != 409 || a.fault(t).Code != "email_taken" {
			t.Errorf("register again: %d %s", a.status, a.body)
		}
		token := p.login(t)
		id, key := p.createKey(t, token)
		bearer, header := []string{"Authorization", "Bearer " + key}, []string{"X-API-Key", key}
		for _, credential := range [][]string{token, bearer, header, append(bearer, header...)} {
			if a := p.chat(t, hello, credential...); a.status != 200 {
				t.Errorf("%v: %d %s", credential[0], a.status, a.body)
			}
			if a := p.call(t, "GET", "/v1/models", "", credential...); a.status != 200 {
				t.Errorf("models: %d", a.status)
			}
		}
		list := p.call(t, "GET", "/auth/keys", "", token...)
		if list.status != 200 || !strings.Contains(list.body, id) || strings.Contains(list.body, key) || strings.Contains(list.body, `"last_used_at":null`) {
			t.Errorf("list: %d %s", list.status, list.body)
		}
		if a := p.call(t, "DELETE", "/auth/keys/"+id, "", token...); a.status != 200 || a.body != `{"id":"`+id+`","object":"api_key","deleted":true}` {
			t.Errorf("revoke: %d %s", a.status, a.body)
		}
		for _, credential := range [][]string{bearer, header} {
			if a := p.chat(t, hello, credential...); a.status != 401 || a.fault(t).Code != "invalid_api_key" {
				t.Errorf("a revoked key: %d %s", a.status, a.body)
			}
		}
		if a := p.call(t, "DELETE", "/auth/keys/"+id, "", token...); a.status != 404 || a.fault(t).Code != "key_not_found" {
			t.Errorf("revoke again: %d %s", a.status, a.body)
		}
		if a := p.get(t, "/health"); a.status != 200 {
			t.Errorf("health needs a credential: %d", a.status)
		}
	})
}

func TestA17A18A19A20CredentialsInTheWrongPlace(t *testing.T) {
	p := start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret)
	token := p.login(t)
	_, key := p.createKey(t, token)
	_, other := p.createKey(t, token)
	typo := key[:len(key)-1] + "x"
	if typo == key {
		typo = key[:len(key)-1] + "y"
	}
	for name, tt := range map[string]struct {
		path    string
		headers []string
	}{
		"A17 an API key on /auth/keys":        {"/auth/keys", []string{"Authorization", "Bearer " + key}},
		"A17 an API key header on /auth/keys": {"/auth/keys", []string{"X-API-Key", key}},
		"A18 a JWT as API key":                {"/v1/models", []string{"X-API-Key", strings.TrimPrefix(token[1], "Bearer ")}},
		"A19 two that disagree":               {"/v1/models", []string{"Authorization", "Bearer " + key, "X-API-Key", other}},
		"A19 a token and a key":               {"/v1/models", append([]string{"X-API-Key", key}, token...)},
		"A20 no credential behind it":         {"/v1/models", []string{"Authorization", "Bearer "}},
		"A20 two spaces":                      {"/v1/models", []string{"Authorization", "Bearer  " + key}},
		"A20 a tab":                           {"/v1/models", []string{"Authorization", "Bearer\t" + key}},
		"A20 another scheme":                  {"/v1/models", []string{"Authorization", "Basic " + key}},
		"no scheme":                           {"/v1/models", []string{"Authorization", key}},
		"a typo":                              {"/v1/models", []string{"Authorization", "Bearer " + typo}},
		"A9 huge":                             {"/v1/models", []string{"Authorization", "Bearer " + strings.Repeat("a.", 10_000)}},
	} {
		if a := p.call(t, "GET", tt.path, "", tt.headers...); a.status != 401 || a.fault(t).Type != "authentication_error" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := p.call(t, "GET", "/v1/models", "", "Authorization", "bearer "+key); a.status != 200 {
		t.Errorf("A20 in lower case: %d %s", a.status, a.body)
	}
}

func TestA13OpenModeIgnoresWhatIsNotOurs(t *testing.T) {
	p := start(t, "SIMULATOR=true")
	token := p.login(t)
	id, key := p.createKey(t, token)
	for _, credential := range [][]string{nil, {"Authorization", "Bearer sk-dummy"}, {"X-API-Key", "anything"}, {"Authorization", "Basic x"}, {"Authorization", "Bearer a.b.c"}, token, {"Authorization", "Bearer " + key}, {"Authorization", "Bearer sk-dummy", "X-API-Key", key}} {
		if a := p.chat(t, hello, credential...); a.status != 200 {
			t.Errorf("%v: %d %s", credential, a.status, a.body)
		}
	}
	if a := p.call(t, "DELETE", "/auth/keys/"+id, "", token...); a.status != 200 {
		t.Fatalf("%d", a.status)
	}
	for _, credential := range [][]string{{"Authorization", "Bearer " + key}, {"X-API-Key", key}, {"Authorization", token[1][:len(token[1])-3] + "AAA"}} {
		a := p.chat(t, hello, credential...)
		ours := !strings.HasSuffix(credential[1], "AAA") // a broken signature is not ours
		if (a.status == 401) != ours {
			t.Errorf("%.30v: %d %s", credential, a.status, a.body)
		}
	}
	if a := p.call(t, "GET", "/auth/keys", ""); a.status != 401 {
		t.Errorf("keys need an owner in open mode as well: %d", a.status)
	}
}

func TestRateLimitsAnswerAsTheSpecificationSays(t *testing.T) {
	storages(t, func(t *testing.T, settings []string) {
		p := start(t, append(settings, "SIMULATOR=true", "RATE_LIMIT_RPM=5", "AUTH_RATE_LIMIT_RPM=3")...)
		for i := range 7 {
			a := p.chat(t, hello)
			if remaining := a.header.Get("X-Ratelimit-Remaining-Requests"); a.header.Get("X-Ratelimit-Limit-Requests") != "5" || remaining != strconv.Itoa(max(4-i, 0)) || a.header.Get("X-Ratelimit-Reset-Requests") == "" {
				t.Errorf("call %d: %v", i, a.header)
			}
			if i < 5 {
				if a.status != 200 {
					t.Errorf("call %d: %d %s", i, a.status, a.body)
				}
				continue
			}
			f := a.fault(t)
			wait := a.header.Get("Retry-After")
			if a.status != 429 || f.Type != "rate_limit_error" || f.Code != "rate_limit_exceeded" || wait == "" || !strings.Contains(f.Message, wait+"s") || a.header.Get("X-Should-Retry") != "true" {
				t.Errorf("call %d: %d %s, Retry-After %s", i, a.status, a.body, wait)
			}
		}
		for i := range 4 {
			a := p.call(t, "POST", "/auth/login", `{"email":"nobody@example.com","password":"wrong password"}`)
			if want := map[bool]int{true: 401, false: 429}[i < 3]; a.status != want {
				t.Errorf("login %d: %d %s", i, a.status, a.body)
			}
		}
	})
}

func TestForwardedAddressesAreBelievedFromTrustedProxiesAlone(t *testing.T) {
	forge := func(p *program) int {
		limited := 0
		for i := range 6 {
			if a := p.call(t, "GET", "/v1/models", "", "X-Forwarded-For", "203.0.113."+strconv.Itoa(i)); a.status == 429 {
				limited++
			}
		}
		return limited
	}
	if n := forge(start(t, "RATE_LIMIT_RPM=3")); n != 3 {
		t.Errorf("forged addresses passed the limit: %d of 6 refused", n)
	}
	if n := forge(start(t, "RATE_LIMIT_RPM=3", "TRUSTED_PROXIES=127.0.0.0/8")); n != 0 {
		t.Errorf("a trusted proxy is not believed: %d of 6 refused", n)
	}
}

func TestO1O2ADatabaseThatComesLate(t *testing.T) {
	server := servertest.StartPostgres(t)
	server.Stop()
	p := start(t, "SIMULATOR=true", "DATABASE_URL="+server.URL, "REQUIRE_AUTH=true", goodSecret)
	if a := p.get(t, "/health"); a.status != 503 || !strings.Contains(a.body, `"status":"unhealthy"`) {
		t.Errorf("O1 health: %d %s", a.status, a.body)
	}
	key := "mgw_" + strings.Repeat("a", 40)
	if a := p.chat(t, hello, "Authorization", "Bearer "+key); a.status != 401 && a.status != 503 {
		t.Errorf("O1 chat: %d %s", a.status, a.body)
	}
	if a := p.call(t, "POST", "/auth/register", ada); a.status != 503 || a.fault(t).Code != "service_unavailable" {
		t.Errorf("O1 register: %d %s", a.status, a.body)
	}
	server.Restart()
	until(t, "the gateway is ready", func() bool { return p.get(t, "/readyz").status == 200 })
	token := p.login(t)
	_, key = p.createKey(t, token)
	if a := p.chat(t, hello, "Authorization", "Bearer "+key); a.status != 200 {
		t.Errorf("after its return: %d %s", a.status, a.body)
	}
	server.Kill()
	time.Sleep(1500 * time.Millisecond) // what is cached is good for a second
	for _, credential := range [][]string{{"Authorization", "Bearer " + key}, token} {
		if a := p.chat(t, hello, credential...); a.status != 503 || a.fault(t).Code != "service_unavailable" {
			t.Errorf("O2 a good credential while the database is gone: %d %s", a.status, a.body)
		}
	}
	server.Restart()
	until(t, "the key works again", func() bool { return p.chat(t, hello, "Authorization", "Bearer "+key).status == 200 })
}

func TestO2OpenModeServesWithoutItsDatabase(t *testing.T) {
	server := servertest.StartPostgres(t)
	p := start(t, "SIMULATOR=true", "DATABASE_URL="+server.URL)
	token := p.login(t)
	_, key := p.createKey(t, token)
	server.Freeze()
	defer server.Thaw()
	for _, credential := range [][]string{nil, {"Authorization", "Bearer " + key}, token, {"Authorization", "Bearer sk-x"}} {
		began := time.Now()
		if a := p.chat(t, hello, credential...); a.status != 200 || time.Since(began) > 5*time.Second {
			t.Errorf("%.30v: %d after %s %s", credential, a.status, time.Since(began), a.body)
		}
	}
	if a := p.call(t, http.MethodPost, "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`); a.status != 503 {
		t.Errorf("login: %d %s", a.status, a.body)
	}
}

func TestRevocationReachesTheOtherReplica(t *testing.T) {
	settings := []string{"SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret, "DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)}
	a, b := start(t, settings...), start(t, settings...)
	token := a.login(t)
	for range 5 {
		id, key := a.createKey(t, token)
		if r := b.call(t, "GET", "/v1/models", "", "X-API-Key", key); r.status != 200 {
			t.Fatalf("the other replica does not know the key: %d %s", r.status, r.body)
		}
		if r := a.call(t, "DELETE", "/auth/keys/"+id, "", token...); r.status != 200 {
			t.Fatalf("%d", r.status)
		}
		began := time.Now()
		for b.call(t, "GET", "/v1/models", "", "X-API-Key", key).status == 200 {
			if time.Since(began) > time.Second {
				t.Fatal("still accepted a second later")
			}
		}
	}
}

func TestK4ACreatedKeyIsNotCached(t *testing.T) {
	p := start(t)
	a := p.call(t, "POST", "/auth/keys", `{"name":"x"}`, p.login(t)...)
	if a.status != 201 || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

func TestO5ADatabaseWithoutConnectionsLeftIsOurFaultNotTheCallers(t *testing.T) {
	server := servertest.StartPostgres(t, "max_connections=8")
	settings := []string{"SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret, "DATABASE_URL=" + server.URL}
	first := start(t, settings...)
	_, key := first.createKey(t, first.login(t))
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	var held []*pgx.Conn
	defer func() {
		for _, c := range held {
			_ = c.Close(context.Background())
		}
	}()
	for {
		c, err := pgx.Connect(t.Context(), server.URL)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	p := start(t, settings...)
	began := time.Now()
	a := p.chat(t, hello, "X-API-Key", key)
	if a.status != 503 || a.fault(t).Code != "service_unavailable" || time.Since(began) > 3*time.Second {
		t.Errorf("%d after %s %s", a.status, time.Since(began), a.body)
	}
}

func TestIdentityProviderLoginIsOffUnlessConfigured(t *testing.T) {
	p := start(t)
	for _, path := range []string{"/auth/idp", "/auth/idp/callback?state=x&code=y"} {
		if a := p.get(t, path); a.status != 404 || a.fault(t).Code != "idp_not_configured" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	dead := start(t, "IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET=secret-of-the-client", "IDP_PROVIDER=oidc", "IDP_ISSUER=http://127.0.0.1:1")
	if a := dead.get(t, "/auth/idp"); a.status != 503 || a.fault(t).Code != "idp_unavailable" {
		t.Errorf("A34 a dead provider: %d %s", a.status, a.body)
	}
}
