package messages

import (
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// A key may use an alias by its own name or by that of the model that it means, and the
// answer says which model that is.
func TestAnAliasIsServedToAKeyOfEitherName(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "MODEL_ALIASES=claude-opus-*=gemini-3.8-flash;fast="+haiku)
	token := p.Login(t)
	_, both := p.CreateLimitedKey(t, token, `"models":["gemini-3.8-flash","fast"]`)
	_, none := p.CreateLimitedKey(t, token, `"models":["gpt-4"]`)
	for alias, model := range map[string]string{"claude-opus-5-5": "gemini-3.8-flash", "claude-opus-5-5[1m]": "gemini-3.8-flash", "fast": haiku} {
		for at, request := range map[string]string{path: body(alias, ""), countPath: asked(alias)} {
			a := p.Call(t, "POST", at, request, "X-Api-Key", both)
			if a.Status != 200 || a.Header.Get("X-Gateway-Model-Alias") != model || at == path && !strings.Contains(a.Body, `"model":"`+model+`"`) {
				t.Errorf("%s %s: %d %s %v", at, alias, a.Status, a.Body, a.Header)
			}
			refused := p.Call(t, "POST", at, request, "X-Api-Key", none)
			if e := refused.Problem(t); refused.Status != 403 || e.Error.Type != "permission_error" {
				t.Errorf("%s %s: %d %s", at, alias, refused.Status, refused.Body)
			}
		}
	}
}

// What the gateway answers may be read by a page of another origin.
func TestPagesCanReadTheHeadersOfTheMessagesAPI(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "RATE_LIMIT_RPM=100", "CORS_ALLOWED_ORIGINS=https://a.example", "MODEL_ALIASES=fast="+haiku)
	for _, a := range []gatewaytest.Answer{
		p.Call(t, "POST", path, body("fast", ""), "Origin", "https://a.example"), p.Call(t, "POST", countPath, asked("gpt-6-sol"), "Origin", "https://a.example"),
		p.Call(t, "POST", path, "{}", "Origin", "https://a.example"),
	} {
		exposed := strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")) + ", "
		for name := range a.Header {
			if name = strings.ToLower(name); (strings.HasPrefix(name, "x-gateway") || strings.HasPrefix(name, "anthropic") || strings.HasSuffix(name, "request-id") ||
				name == "retry-after" || name == "x-should-retry") && !strings.Contains(exposed, name+", ") {
				t.Errorf("%s is not among %s", name, exposed)
			}
		}
	}
}
