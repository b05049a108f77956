package requests

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestValidRequestIDsAreKept(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	for given, kept := range map[string]bool{
		"abc-123_X.y:z": true, "": false, "a b": false, "a\"b": false, strings.Repeat("x", 129): false, "é": false, "{}": false,
	} {
		a := p.Call(t, "GET", "/health", "", "X-Request-Id", given)
		got := a.Header.Get("X-Request-Id")
		if (got == given) != kept || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
	if len(p.Log.String()) == 0 || strings.Contains(p.Log.String(), `a\"b`) {
		t.Error("the log repeats an unsafe id")
	}
}

func TestCORSIsOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	if a := gatewaytest.Start(t).Call(t, "GET", "/v1/models", "", "Origin", "https://a.example"); a.Header.Get(
		"Access-Control-Allow-Origin",
	) != "" {
		t.Error("on by default")
	}
	p := gatewaytest.Start(t, "CORS_ALLOWED_ORIGINS=https://a.example")
	if a := p.Call(t, "GET", "/v1/models", "", "Origin", "https://a.example"); a.Header.Get(
		"Access-Control-Allow-Origin",
	) != "https://a.example" ||
		a.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%v", a.Header)
	}
	if a := p.Call(t, "GET", "/v1/models", "", "Origin", "https://b.example"); a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("another origin is let in")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, p.URL+"/v1/chat/completions", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://a.example")
	req.Header.Set("Access-Control-Request-Method", "POST")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 204 || !strings.Contains(resp.Header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
}

func TestClientInputCannotBreakLogLinesOrHeaders(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := startWithAllProviders(t, u, "CORS_ALLOWED_ORIGINS=https://a.example")
	const evil = "a\r\nX-Injected: 1\r\n\r\n{\"level\":\"ERROR\"}\u001b[31m\u2028\u202e"
	text := gatewaytest.Quote(evil)
	count := 0
	judge := func(what string, a gatewaytest.Answer) {
		count++
		for name, values := range a.Header {
			if name == "X-Injected" || strings.ContainsAny(strings.Join(values, ""), "\r\n\x1b\u2028\u202e") {
				t.Errorf("%s: the answer's header %s is %q", what, name, values)
			}
		}
	}
	token := p.Login(t)
	count += 2 // of the login
	for _, f := range gatewaytest.Providers() {
		for _, members := range []string{"", gatewaytest.Streaming} {
			u.Play(gatewaytest.JSON(200, f.Answer("a")))
			if members != "" {
				u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text("a"), f.End))
			}
			a := p.Chat(
				t,
				`{"model":"`+f.Model+`","messages":[{"role":"user","name":`+text+`,"content":`+text+`}],"user":`+text+`,`+text+`:1`+members+`}`,
			)
			judge(f.Name+members, a)
			if a.Status != 200 && a.Status != 400 {
				t.Errorf("%s: %d %s", f.Name, a.Status, a.Body)
			}
		}
	}
	judge("the model", p.Chat(t, `{"model":`+text+`,`+gatewaytest.HiMessages+`}`))
	judge("a role", p.Chat(t, `{"model":"gpt-4","messages":[{"role":`+text+`,"content":"x"}]}`))
	judge("a path", p.Get(t, "/v1/models/"+url.PathEscape(evil)))
	judge("an unknown path", p.Get(t, "/"+url.PathEscape(evil)))
	judge("a query", p.Get(t, "/v1/models?"+url.QueryEscape(evil)))
	judge("a key's name", p.Call(t, "POST", "/auth/keys", `{"name":`+text+`}`, token...))
	judge("a user's name", p.Call(t, "POST", "/auth/register", `{"email":"evil@example.com","password":"correct horse","name":`+text+`}`))
	judge("a key's id", p.Call(t, "DELETE", "/auth/keys/"+url.PathEscape(evil), "", token...))
	judge("an address", p.Call(t, "POST", "/auth/login", `{"email":`+text+`,"password":"correct horse"}`))
	judge("the origin", p.Call(t, "GET", "/v1/models", "", "Origin", "https://a.example\u2028", "X-Request-Id", "a\u2028b"))
	answers, _ := sendRaw(t, p, probeHead+"X-Request-Id: a\r\n X-Injected: 1\r\nConnection: close\r\n\r\n")
	if len(answers) != 1 || strings.Contains(answers[0].Header.Get("X-Request-Id"), "Injected") {
		t.Errorf("a folded id: %+v", answers)
	}
	judge("a folded id", answers[0])
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	lines := 0
	for line := range strings.Lines(p.Log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("not one line of JSON: %q", line)
		}
		if fields["msg"] == "request" && fields["route"] != "/readyz" { // which the start asks on a slow machine
			lines++
		}
		for name, value := range fields {
			if text, ok := value.(string); ok && strings.ContainsFunc(name+text, api.Invisible) || strings.Contains(name, "Injected") {
				t.Errorf("the log repeats it: %q", line)
			}
		}
	}
	if lines != count {
		t.Errorf("%d requests left %d lines", count, lines)
	}
}

func TestHeadAndOptionsRevealNothing(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	for _, path := range []string{"/health", "/livez", "/readyz"} {
		if a := p.Call(t, "HEAD", path, ""); a.Status != 200 || a.Body != "" {
			t.Errorf("HEAD %s: %d %q", path, a.Status, a.Body)
		}
	}
	for path, allowed := range map[string]string{
		"/v1/models": "GET", "/v1/models/gpt-4": "GET", "/v1/chat/completions": "POST", "/auth/login": "POST", "/auth/register": "POST", "/health": "GET",
	} {
		for _, method := range []string{"OPTIONS", "TRACE", "PATCH"} {
			a := p.Call(t, method, path, "", "Origin", "https://a.example", "Access-Control-Request-Method", "POST", "X-Marked", "canary")
			if a.Status != 405 || !strings.Contains(a.Header.Get("Allow"), allowed) || strings.Contains(a.Body, "canary") {
				t.Errorf("%s %s: %d %v %s", method, path, a.Status, a.Header, a.Body)
			}
			for name := range a.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: %s without CORS_ALLOWED_ORIGINS", method, path, name)
				}
			}
		}
	}
	if a := p.Call(t, "HEAD", "/v1/models", ""); a.Status != 401 {
		t.Errorf("HEAD /v1/models: %d", a.Status)
	}
}

func TestHeadIsAnsweredWhereverGetIs(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	for _, path := range []string{"/v1/models", "/v1/models/gpt-4", "/v1/models/nope", "/docs", "/openapi.yaml", "/metrics", "/auth/keys", "/admin/users", "/nope"} {
		get, head := p.Get(t, path), p.Call(t, "HEAD", path, "")
		if head.Status != get.Status || head.Body != "" || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("%s: GET %d, HEAD %d %v", path, get.Status, head.Status, head.Header)
		}
	}
}

func TestPagesCanReadEveryHeaderOfTheGateway(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "RATE_LIMIT_RPM=100", "CORS_ALLOWED_ORIGINS=https://a.example")
	readable := []string{"Access-Control-", "Vary", "Date", "Content-", "X-Content-Type-Options", "Cache-Control", "X-Accel-Buffering", "Connection"}
	for _, a := range []gatewaytest.Answer{
		p.Chat(t, gatewaytest.HelloRequest, "Origin", "https://a.example"), p.Chat(t, "{}", "Origin", "https://a.example"),
		p.Chat(t, strings.Replace(gatewaytest.HelloRequest, "{", `{"stream":true,"seed":1,`, 1), "Origin", "https://a.example"),
		p.Call(t, "PATCH", "/v1/models", "", "Origin", "https://a.example"),
	} {
		exposed := strings.ToLower(a.Header.Get("Access-Control-Expose-Headers"))
		for name := range a.Header {
			if !slices.ContainsFunc(readable, func(begin string) bool { return strings.HasPrefix(name, begin) }) &&
				!slices.Contains(strings.Split(exposed, ", "), strings.ToLower(name)) {
				t.Errorf("%s is not among %s", name, exposed)
			}
		}
	}
}

func TestWrongPathSaysWhichOneWasMeant(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	for path, meant := range map[string]string{
		"/chat/completions": "`/v1/chat/completions`", "/v1/v1/chat/completions": "`/v1/chat/completions`",
		"/v1/chat/completions/": "`/v1/chat/completions`", "//v1/chat/completions": "`/v1/chat/completions`", "/models/gpt-4": "`/v1/models/gpt-4`",
		"/v1/health": "`/health`", "/v1/models/": "`/v1/models`", "/v1/images/generations": "/docs", "/nowhere": "/docs",
	} {
		resp, err := http.Post(p.URL+path, "application/json", strings.NewReader(gatewaytest.HelloRequest))
		if path == "/v1/models/" || path == "/models/gpt-4" || path == "/v1/health" {
			resp, err = http.Get(p.URL + path)
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		e := gatewaytest.Answer{Status: resp.StatusCode, Body: string(text)}.APIError(t)
		if resp.StatusCode != 404 || e.Code != "route_not_found" || !strings.Contains(e.Message, "`"+path+"`") || !strings.Contains(e.Message, meant) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, e.Message)
		}
	}
}
