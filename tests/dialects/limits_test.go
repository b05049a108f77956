package dialects

import (
	"net/http"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

var limited = failing{"the limit of a key", told{429, "rate_limit_error", ""}, told{429, "rate_limit_error", "rate_limit_exceeded"},
	"1 requests a minute", "true", ""}

// Counts have a limit of their own; what makes a conversation shorter is a call.
func TestTheLimitOfAKeyIsTold(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
		_, slow := p.CreateLimitedKey(t, p.Login(t), `"rpm_limit":1`)
		key := []string{"X-Api-Key", slow}
		paths := []string{d.path, d.count}
		if d.name == "responses" {
			paths = append(paths, d.path+"/compact")
		}
		for _, path := range paths[:2] {
			p.Call(t, "POST", path, "{}", key...)
		}
		for _, path := range paths {
			d.check(t, p, path, "{}", key, limited)
		}
	})
}

// Agents give up after a 429 without retry-after, and ask again too soon without
// x-should-retry.
func TestEvery429SaysWhenToComeBack(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		for i, tt := range []struct{ after, told, should string }{{"2", "2", "true"}, {"", "1", "true"}, {"90", "90", "false"}} {
			p, u := gatewaytest.StartAll(t)
			for provider, body := range map[string]string{
				"anthropic": `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_upstream"}`,
				"openai":    `{"error":{"message":"slow down","type":"server_error","param":null,"code":null}}`,
			} {
				script := gatewaytest.JSON(429, body)
				script.Header.Set("Retry-After", tt.after)
				script.Header.Set("Request-Id", "req_upstream")
				u[provider].Play(script)
			}
			for _, model := range []string{haiku, "gpt-4"} {
				a := p.Call(t, "POST", d.path, d.body(model, ""))
				if d.name == "messages" && a.Problem(t).Error.Type != "rate_limit_error" {
					t.Errorf("%d, %s: %s", i, model, a.Body)
				}
				if a.Status != 429 || a.Header.Get("Retry-After") != tt.told || a.Header.Get("X-Should-Retry") != tt.should {
					t.Errorf("%d, %s: %d %s %v", i, model, a.Status, a.Body, a.Header)
				}
			}
		}
	})
}

func TestAnOpenCircuitIsAnOverload(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		p, u := gatewaytest.StartAll(t)
		u["openai"].Play(gatewaytest.JSON(500, `{"error":{"message":"boom","type":"server_error","param":null,"code":null}}`))
		for range 12 {
			p.Call(t, "POST", d.path, d.body("gpt-4", ""))
		}
		d.check(t, p, d.path, d.body("gpt-4", ""), nil, failing{"", told{529, "overloaded_error", ""},
			told{503, "api_error", "server_is_overloaded"}, "openai has failed too often", "true", ""})
	})
}

func TestALateProviderIsATimeout(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		p, u := gatewaytest.StartAll(t, "UPSTREAM_TIMEOUT_SECONDS=1")
		u["openai"].Play(providertest.Script{End: providertest.Hold})
		d.check(t, p, d.path, d.body("gpt-4", ""), nil, failing{"", told{504, "timeout_error", ""}, told{504, "api_error", "provider_error"},
			"openai", "true", ""})
	})
}

func TestABudgetThatRunningCallsHoldIsALimit(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		p, u := gatewaytest.StartAll(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
		_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":0.02,"budget_reserve":"worst"`) // a call may cost up to 0.015
		u["openai"].Play(providertest.Script{End: providertest.Hold})
		left := make(chan struct{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+d.path, strings.NewReader(d.body("gpt-4", "")))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", key)
		go func() {
			defer close(left)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		gatewaytest.Until(t, "the first call runs", func() bool { return len(u["openai"].Requests()) == 1 })
		d.check(t, p, d.path, d.body("gpt-4", ""), []string{"X-Api-Key", key}, failing{"", told{429, "rate_limit_error", ""},
			told{429, "rate_limit_error", "budget_held"}, "while other calls run", "true", "1"})
		u["openai"].Disconnect()
		<-left
	})
}
