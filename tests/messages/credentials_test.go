package messages

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// Claude Code sends both headers where both of its variables are set.
func TestACredentialOfAnotherServiceIsIgnoredBesideOneOfOurs(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	login := p.Login(t)
	token := strings.TrimPrefix(login[1], "Bearer ")
	_, key := p.CreateKey(t, login)
	_, other := p.CreateKey(t, login)
	const foreign, jwt = "sk-ant-api03-canary", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
	for _, tt := range []struct {
		name, key, authorization string
		status                   int
	}{
		{"a key", key, "", 200},
		{"a bearer", "", "Bearer " + key, 200},
		{"a login", "", "Bearer " + token, 200},
		{"alike", key, "Bearer " + key, 200},
		{"a foreign bearer", key, "Bearer " + foreign, 200},
		{"a foreign token", key, "Bearer " + jwt, 200},
		{"another scheme", key, "Basic eDp5", 200},
		{"a foreign key", foreign, "Bearer " + key, 200},
		{"a foreign key and a login", foreign, "Bearer " + token, 200},
		{"two keys", key, "Bearer " + other, 401},
		{"a key and a login", key, "Bearer " + token, 401},
		{"two foreign ones", foreign, "Bearer " + foreign + "2", 401},
		{"a foreign one", foreign, "", 401},
		{"a key that was mistyped", key[:len(key)-1] + "_", "Bearer " + foreign, 401},
	} {
		headers := []string{"Anthropic-Version", "2023-06-01"}
		if tt.key != "" {
			headers = append(headers, "X-Api-Key", tt.key)
		}
		if tt.authorization != "" {
			headers = append(headers, "Authorization", tt.authorization)
		}
		for _, a := range []gatewaytest.Answer{
			p.Call(t, "POST", path, body(haiku, ""), headers...), p.Call(t, "POST", countPath, asked(haiku), headers...),
			p.Call(t, "GET", "/v1/models", "", headers...),
		} {
			if a.Status != tt.status {
				t.Errorf("%s: %d %s", tt.name, a.Status, a.Body)
			}
			if tt.status == 401 && (a.Problem(t).Error.Type != "authentication_error" || a.Header.Get("X-Should-Retry") != "false") {
				t.Errorf("%s: %s %v", tt.name, a.Body, a.Header)
			}
		}
		if chat := p.Chat(t, gatewaytest.HelloRequest, headers...); tt.key != "" && tt.authorization != "" && tt.name != "alike" && chat.Status != 401 {
			t.Errorf("%s: chat completions take it: %d", tt.name, chat.Status)
		}
	}
	if strings.Contains(p.Log.String(), "canary") {
		t.Error("the log repeats a credential")
	}
}

// What chooses the account that pays, and whose conversation it is, does not travel.
func TestOnlyVersionBetasAndBetaTravelToAnthropic(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	f := gatewaytest.Providers()[1]
	u["anthropic"].Play(gatewaytest.JSON(200, f.Answer("a")))
	a := p.Call(t, "POST", path+"?beta=true&other=1", body(haiku, ""), "Anthropic-Version", "2026-10-21", "Anthropic-Beta", "a-1,new-2099-01-01",
		"X-Api-Key", "sk-ant-canary", "Cookie", "canary=1", "Anthropic-Workspace-Id", "canary", "Anthropic-User-Profile-Id", "canary",
		"Idempotency-Key", "canary", "X-Stainless-Lang", "js", "X-Claude-Code-Session-Id", "canary")
	sent := u["anthropic"].Requests()
	if a.Status != 200 || len(sent) != 1 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	h := sent[0].Header
	if h.Get("Anthropic-Version") != "2026-10-21" || h.Get("Anthropic-Beta") != "a-1,new-2099-01-01" || sent[0].Path != path+"?beta=true" ||
		h.Get("X-Api-Key") != "sk-anthropic" {
		t.Errorf("%s %v", sent[0].Path, h)
	}
	for name, values := range h {
		if strings.Contains(strings.Join(values, ""), "canary") || strings.HasPrefix(name, "X-Stainless") {
			t.Errorf("%s travels: %v", name, values)
		}
	}
	if got := a.Header; got.Get("Request-Id") != got.Get("X-Request-Id") { // this upstream gives no id
		t.Errorf("%v", got)
	}
}

func TestAnswersHaveTheHeadersOfAnthropicsAPI(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t, "RATE_LIMIT_RPM=50")
	f := gatewaytest.Providers()
	native := gatewaytest.JSON(200, f[1].Answer("a"))
	for name, value := range map[string]string{
		"Request-Id": "req_upstream", "Anthropic-Ratelimit-Requests-Limit": "4000", "Anthropic-Organization-Id": "canary", "Set-Cookie": "canary=1",
	} {
		native.Header.Set(name, value)
	}
	u["anthropic"].Play(native)
	u["openai"].Play(gatewaytest.JSON(200, f[0].Answer("a")))
	for i, model := range []string{haiku, "gpt-4"} {
		a := p.Call(t, "POST", path, body(model, ""), "X-Request-Id", "mine")
		h := a.Header
		if want := []string{"req_upstream", "mine"}[i]; a.Status != 200 || h.Get("Request-Id") != want || h.Get("X-Request-Id") != "mine" {
			t.Errorf("%s: %d %v", model, a.Status, h)
		}
		reset, err := time.Parse(time.RFC3339, h.Get("Anthropic-Ratelimit-Requests-Reset"))
		if wait := time.Until(reset); err != nil || wait <= 0 || wait > 62*time.Second {
			t.Errorf("%s: %v, %v", model, err, wait)
		}
		if h.Get("Anthropic-Ratelimit-Requests-Limit") != "50" || h.Get("Anthropic-Ratelimit-Requests-Remaining") != []string{"49", "48"}[i] ||
			h.Get("X-Ratelimit-Remaining-Requests") != []string{"49", "48"}[i] {
			t.Errorf("%s: %v", model, h)
		}
		for _, name := range []string{"Anthropic-Organization-Id", "Set-Cookie", "Openai-Processing-Ms"} {
			if h.Get(name) != "" {
				t.Errorf("%s: %s: %s", model, name, h.Get(name))
			}
		}
		if h.Get("X-Gateway-Provider") != []string{"anthropic", "openai"}[i] {
			t.Errorf("%s: %v", model, h)
		}
	}
	count := p.Call(t, http.MethodPost, countPath, asked("gpt-4"))
	if count.Header.Get("Anthropic-Ratelimit-Requests-Remaining") != "49" { // counts have a limit of their own
		t.Errorf("%v", count.Header)
	}
}
