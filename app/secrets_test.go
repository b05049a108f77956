package app

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/models/servertest"
	"modelgateway/providers/providertest"
)

// TestNoSecretIsEverToldToTheLog plants secrets everywhere they can be and
// drives what could tell them, at debug. Neither the log nor an answer, nor the
// database, may hold one, in any encoding.
func TestNoSecretIsEverToldToTheLog(t *testing.T) {
	const (
		jwtSecret = "canary-jwt-0f9c2b7a64d18e5330bb1f6ad2c4e8971b"
		collector = "canary-metrics-token-5d1e9c"
		clientID  = "canary-idp-client-secret-91b2"
		password  = "canary password 7731"
		upstream  = "sk-canary-upstream-55ab"
	)
	database, cache := servertest.StartPostgres(t), servertest.StartRedis(t)
	secrets := map[string]string{"JWT_SECRET": jwtSecret, "IDP_CLIENT_SECRET": clientID, "password": password, "OPENAI_API_KEY": upstream, "METRICS_TOKEN": collector}
	for name, address := range map[string]string{"database": database.URL, "redis": cache.URL} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if secret, ok := u.User.Password(); ok {
			secrets[name] = secret
		}
	}
	f := families()[0]
	u := providertest.Serve(t, jsonScript(401, `{"error":{"message":"Incorrect API key provided: `+upstream+`"}}`))
	p := start(t, "DATABASE_URL="+database.URL, "REDIS_URL="+cache.URL, "REQUIRE_AUTH=true", "JWT_SECRET="+jwtSecret, "METRICS_TOKEN="+collector,
		"IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET="+clientID, "IDP_PROVIDER=oidc", "IDP_ISSUER=http://127.0.0.1:1",
		"OPENAI_API_KEY="+upstream, "OPENAI_BASE_URL="+u.URL)
	var told strings.Builder
	say := func(a answer) answer {
		told.WriteString(a.body)
		for name, values := range a.header {
			told.WriteString(name + strings.Join(values, " "))
		}
		return a
	}
	say(p.call(t, "POST", "/auth/register", `{"email":"c@x.com","password":"`+password+`","name":"c"}`))
	say(p.call(t, "POST", "/auth/register", `{"email":"c@x.com","password":"`+password+`","name":"c"}`))
	say(p.call(t, "POST", "/auth/login", `{"email":"c@x.com","password":"`+password+`x"}`))
	say(p.call(t, "POST", "/auth/login", `{"email":5,"password":"`+password+`"}`))
	token := field(t, p.call(t, "POST", "/auth/login", `{"email":"c@x.com","password":"`+password+`"}`), "token")
	secrets["token"] = token
	bearer := []string{"Authorization", "Bearer " + token}
	id, key := p.createKey(t, bearer)
	secrets["key"] = key
	credentials := [][]string{bearer, {"Authorization", "Bearer " + key}, {"X-API-Key", key}, {"Authorization", "Bearer " + key, "X-API-Key", token}}
	drive := func() {
		for _, credential := range credentials {
			say(p.chat(t, f.request(""), credential...))
			say(p.chat(t, `{"model":`, credential...))
			say(p.call(t, "GET", "/v1/models?key="+url.QueryEscape(key), "", credential...))
			say(p.call(t, "GET", "/auth/keys", "", credential...))
			say(p.call(t, "GET", "/nope/"+key, "", credential...))
		}
		say(p.get(t, "/auth/idp"))
		say(p.get(t, "/auth/idp/callback?state=s&code="+url.QueryEscape(token)))
		say(p.get(t, "/health"))
	}
	drive()
	say(p.call(t, "DELETE", "/auth/keys/"+id, "", bearer...))
	drive()
	cache.Kill()
	database.Kill()
	drive()
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	log := p.log.String()
	for name, secret := range secrets {
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if strings.Contains(log, form) {
				t.Errorf("the log holds the %s", name)
			}
			if strings.Contains(told.String(), form) {
				t.Errorf("an answer holds the %s", name)
			}
		}
	}
	if !strings.Contains(log, `"level":"WARN"`) || len(log) < 5000 {
		t.Error("the log says next to nothing: this test proves nothing")
	}
}

// TestK1TheDatabaseHoldsNoUsableKey looks at the bytes on the disk.
func TestK1TheDatabaseHoldsNoUsableKey(t *testing.T) {
	folder := t.TempDir()
	p := start(t, "SIMULATOR=true", "DATABASE_URL=sqlite:"+filepath.Join(folder, "gateway.db"))
	token := p.login(t)
	_, key := p.createKey(t, token)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{key, key[4:], key[8:30], "correct horse battery"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds %q", filepath.Base(file), secret)
			}
		}
	}
}
