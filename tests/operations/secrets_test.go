package operations

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// TestNoDebugEndpointOrStackTraceShowsASecret requests the paths of debugging
// tools, and reads what signals make the program print.
func TestNoDebugEndpointOrStackTraceShowsASecret(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"JWT_SECRET": "canary-jwt-0f9c2b7a64d18e5330bb1f6ad2c4e8971b", "JWT_SECRET_PREVIOUS": "canary-old-7be23d18e5330bb1f6ad2c4e8971b",
		"OPENAI_API_KEY": "sk-canary-openai-91ab", "ANTHROPIC_API_KEY": "sk-canary-anthropic-27cd", "GEMINI_API_KEY": "canary-gemini-55ef",
		"METRICS_TOKEN": "canary-metrics-5d1e9c", "IDP_CLIENT_SECRET": "canary-idp-91b2c3d4", "IDP_CLIENT_ID": "canary-client", "REDIS_URL": "redis://:canary-redis-77aa@127.0.0.1:1/0",
	}
	u := providertest.Serve(t, gatewaytest.Events(providertest.Hold))
	settings := []string{"REQUIRE_AUTH=true", "IDP_PROVIDER=oidc", "IDP_ISSUER=http://127.0.0.1:1", "OPENAI_BASE_URL=" + u.URL}
	for name, secret := range secrets {
		settings = append(settings, name+"="+secret)
	}
	secrets["REDIS_URL"] = "canary-redis-77aa"
	p := gatewaytest.Launch(t, nil, settings...)
	token := p.Login(t)
	_, key := p.CreateKey(t, token)
	secrets["token"], secrets["key"], secrets["password"] = token[1], key, "correct horse battery"
	for _, path := range []string{
		"/debug", "/debug/", "/debug/pprof", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline", "/debug/pprof/profile?seconds=1", "/debug/vars", "/debug/requests",
		"/debug/events", "/pprof", "/vars", "/expvar", "/config", "/env", "/dump", "/trace", "/actuator/env", "/admin", "/status", "/server-status", "/.env", "/.git/config", "/internal", "/_debug", "/v1/debug", "/swagger",
	} {
		for _, headers := range [][]string{nil, token} {
			if a := p.Call(t, "GET", path, "", headers...); a.Status != 404 ||
				a.APIError(t).Code != "route_not_found" && a.APIError(t).Code != "model_not_found" {
				t.Errorf("%s: %d %.200s", path, a.Status, a.Body)
			}
		}
	}
	if _, pattern := http.DefaultServeMux.Handler(&http.Request{Method: "GET", URL: &url.URL{Path: "/debug/pprof/"}}); pattern != "" {
		t.Errorf("something imports net/http/pprof: %s", pattern)
	}
	if a := p.Call(t, "GET", "/metrics", "", "Authorization", "Bearer "+secrets["METRICS_TOKEN"]); a.Status != 200 ||
		findSecret(a.Body, secrets) != "" {
		t.Errorf("the metrics: %d, they hold the %s", a.Status, findSecret(a.Body, secrets))
	}
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGWINCH} {
		p.Signal(t, s)
		p.AwaitServing(t, "after "+s.String())
	}
	if text := p.Stderr.String(); text != "" {
		t.Errorf("a signal made it say %s", text)
	}
	// A request with all secrets is in flight when SIGQUIT prints the stacks.
	go func() {
		req, err := http.NewRequest(
			http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(gatewaytest.Providers()[0].Request("")),
		)
		if err != nil {
			return
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {key}}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	gatewaytest.Until(t, "the request is under way", func() bool { return len(u.Requests()) > 0 })
	p.Signal(t, syscall.SIGQUIT)
	code, stacks := p.Wait(t), p.Stderr.String()
	if code == 0 || !strings.Contains(stacks, "SIGQUIT") || !strings.Contains(stacks, "goroutine ") {
		t.Errorf("it ended with %d and said %s", code, stacks)
	}
	if name := findSecret(stacks+p.Log.String(), secrets); name != "" {
		t.Errorf("the stacks or the log hold the %s", name)
	}
}

// findSecret returns the name of a secret that the text holds in some encoding, or
// "".
func findSecret(text string, secrets map[string]string) string {
	for name, secret := range secrets {
		for _, form := range []string{secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, form) {
				return name
			}
		}
	}
	return ""
}

// TestNoLogLineOrAnswerHoldsASecret configures secrets in every setting that takes
// one and sends requests that could reveal them, at level debug. Neither the log
// nor an answer may hold one, in any encoding.
func TestNoLogLineOrAnswerHoldsASecret(t *testing.T) {
	t.Parallel()
	const (
		jwtSecret = "canary-jwt-0f9c2b7a64d18e5330bb1f6ad2c4e8971b"
		collector = "canary-metrics-token-5d1e9c"
		clientID  = "canary-idp-client-secret-91b2"
		password  = "canary password 7731"
		upstream  = "sk-canary-upstream-55ab"
	)
	database, cache := servertest.StartPostgres(t), servertest.StartRedis(t)
	secrets := map[string]string{
		"JWT_SECRET":        jwtSecret,
		"IDP_CLIENT_SECRET": clientID,
		"password":          password,
		"OPENAI_API_KEY":    upstream,
		"METRICS_TOKEN":     collector,
	}
	for name, address := range map[string]string{"database": database.URL, "redis": cache.URL} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if secret, ok := u.User.Password(); ok {
			secrets[name] = secret
		}
	}
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t, gatewaytest.JSON(401, `{"error":{"message":"Incorrect API key provided: `+upstream+`"}}`))
	p := gatewaytest.Start(
		t,
		"DATABASE_URL="+database.URL,
		"REDIS_URL="+cache.URL,
		"REQUIRE_AUTH=true",
		"JWT_SECRET="+jwtSecret,
		"METRICS_TOKEN="+collector,
		"IDP_CLIENT_ID=id",
		"IDP_CLIENT_SECRET="+clientID,
		"IDP_PROVIDER=oidc",
		"IDP_ISSUER=http://127.0.0.1:1",
		"OPENAI_API_KEY="+upstream,
		"OPENAI_BASE_URL="+u.URL,
	)
	var answers strings.Builder
	say := func(a gatewaytest.Answer) gatewaytest.Answer {
		answers.WriteString(a.Body)
		for name, values := range a.Header {
			answers.WriteString(name + strings.Join(values, " "))
		}
		return a
	}
	say(p.Patiently(t, "/auth/register", `{"email":"c@x.com","password":"`+password+`","name":"c"}`))
	say(p.Call(t, "POST", "/auth/register", `{"email":"c@x.com","password":"`+password+`","name":"c"}`))
	say(p.Call(t, "POST", "/auth/login", `{"email":"c@x.com","password":"`+password+`x"}`))
	say(p.Call(t, "POST", "/auth/login", `{"email":5,"password":"`+password+`"}`))
	token := gatewaytest.Field(t, p.Patiently(t, "/auth/login", `{"email":"c@x.com","password":"`+password+`"}`), "token")
	secrets["token"] = token
	bearer := []string{"Authorization", "Bearer " + token}
	id, key := p.CreateKey(t, bearer)
	secrets["key"] = key
	credentials := [][]string{
		bearer,
		{"Authorization", "Bearer " + key},
		{"X-API-Key", key},
		{"Authorization", "Bearer " + key, "X-API-Key", token},
	}
	drive := func() {
		for _, credential := range credentials {
			say(p.Chat(t, f.Request(""), credential...))
			say(p.Chat(t, `{"model":`, credential...))
			say(p.Call(t, "GET", "/v1/models?key="+url.QueryEscape(key), "", credential...))
			say(p.Call(t, "GET", "/auth/keys", "", credential...))
			say(p.Call(t, "GET", "/nope/"+key, "", credential...))
		}
		say(p.Get(t, "/auth/idp"))
		say(p.Get(t, "/auth/idp/callback?state=s&code="+url.QueryEscape(token)))
		say(p.Get(t, "/health"))
	}
	drive()
	say(p.Call(t, "DELETE", "/auth/keys/"+id, "", bearer...))
	drive()
	cache.Kill()
	database.Kill()
	drive()
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	log := p.Log.String()
	for name, secret := range secrets {
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if strings.Contains(log, form) {
				t.Errorf("the log holds the %s", name)
			}
			if strings.Contains(answers.String(), form) {
				t.Errorf("an answer holds the %s", name)
			}
		}
	}
	if !strings.Contains(log, `"level":"WARN"`) || len(log) < 5000 {
		t.Error("the log says next to nothing: this test proves nothing")
	}
}
