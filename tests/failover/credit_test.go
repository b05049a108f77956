package failover

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// exhausted are the answers of providers whose account has no money left, with the
// status that clients get when nothing else serves their call.
func exhausted() map[string]struct {
	f      gatewaytest.Provider
	script providertest.Script
	status int
} {
	all := gatewaytest.Providers()
	invalid := func(message string) providertest.Script {
		return gatewaytest.JSON(400, `{"type":"error","error":{"type":"invalid_request_error","message":`+gatewaytest.Quote(message)+
			`},"request_id":"req_1"}`)
	}
	type answer = struct {
		f      gatewaytest.Provider
		script providertest.Script
		status int
	}
	return map[string]answer{
		"Anthropic's credit": {all[1], invalid("Your credit balance is too low to access the Anthropic API. " +
			"Please go to Plans & Billing to upgrade or purchase credits."), 502},
		"Anthropic's limit of the organisation": {all[1], invalid("You have reached your specified API usage limits. " +
			"You will regain access on 2026-12-01 at 00:00 UTC."), 502},
		"Anthropic's limit of the workspace": {all[1], invalid("You have reached your specified workspace API usage limits. " +
			"You will regain access on 2026-12-01 at 00:00 UTC."), 502},
		"a disabled organisation": {all[1], invalid("This organization has been disabled."), 502},
		"Anthropic's enforced limit": {all[1], gatewaytest.JSON(429, `{"type":"error","error":{"type":"rate_limit_error","message":"limit",`+
			`"details":{"error_code":"enforced_spend_limit_reached"}}}`), 429},
		"OpenAI's quota": {all[0], gatewaytest.JSON(429, `{"error":{"message":"You exceeded your current quota",`+
			`"type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`), 429},
		"OpenAI's hard limit": {all[0], gatewaytest.JSON(400, `{"error":{"message":"Billing hard limit has been reached",`+
			`"type":"billing_limit_user_error","param":null,"code":"billing_hard_limit_reached"}}`), 502},
	}
}

func TestAnotherKeyServesTheCallWhenTheAccountOfAKeyIsEmpty(t *testing.T) {
	t.Parallel()
	for name, e := range exhausted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, empty := gatewaytest.NewFuncUpstream(t), new(atomic.Int64)
			u.Handle(func(w http.ResponseWriter, r *http.Request) {
				script := e.f.WholeAnswer("", "served")
				if strings.HasSuffix(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), "sk-empty") {
					script = e.script
					empty.Add(1)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(cmp.Or(script.Status, http.StatusOK))
				_, _ = w.Write(script.Pieces[0])
			})
			p := gatewaytest.Start(t, e.f.EnvPrefix+"_API_KEY=sk-empty,sk-good", e.f.EnvPrefix+"_BASE_URL="+u.URL)
			for range 20 {
				if a := p.Chat(t, e.f.Request("")); a.Status != 200 || gatewaytest.TextOf(a.Body) != "served" {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			}
			if n := empty.Load(); n < 1 || n > 4 { // it cools down for 1 s, 2 s …
				t.Errorf("the key without credit was used %d times", n)
			}
		})
	}
}

func TestFallbackServesTheCallWhenTheOnlyAccountIsEmpty(t *testing.T) {
	t.Parallel()
	for name, e := range exhausted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, own, other, by := gatewaytest.StartWithFallback(t, e.f)
			own.Play(e.script)
			for _, members := range []string{"", gatewaytest.Streaming} {
				other.Play(by.WholeAnswer(members, "instead"))
				if a := p.Chat(t, e.f.Request(members)); a.Status != 200 || a.Header.Get("X-Gateway-Fallback") != by.Model {
					t.Errorf("%s: %d %s", members, a.Status, a.Body)
				}
			}
		})
	}
}

func TestEmptyAccountIsToldTheCallerOnlyWhereNothingElseServes(t *testing.T) {
	t.Parallel()
	for name, e := range exhausted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := providertest.Serve(t, e.script)
			p := gatewaytest.Start(t, e.f.EnvPrefix+"_API_KEY=sk-empty", e.f.EnvPrefix+"_BASE_URL="+u.URL)
			a := p.Chat(t, e.f.Request(""))
			if a.Status != e.status || a.Header.Get("X-Should-Retry") != "false" || a.APIError(t).Code != "provider_error" {
				t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
			}
			if a.Status == 502 && slices.ContainsFunc([]string{"credit", "usage limits", "disabled", "illing"},
				func(word string) bool { return strings.Contains(a.Body, word) }) {
				t.Errorf("the message tells the caller of the operator's account: %s", a.Body)
			}
			if n := len(u.Requests()); n != 1 {
				t.Errorf("%d calls", n)
			}
			if health := p.Get(t, "/health"); a.Status == 502 && strings.Contains(health.Body, `"`+e.f.Name+`":"healthy"`) {
				t.Errorf("the provider counts as healthy: %s", health.Body)
			}
		})
	}
}
