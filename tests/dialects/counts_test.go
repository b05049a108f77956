package dialects

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// countedBy is a model, what its provider answers, and the number that the client is told.
type countedBy struct {
	name, model string
	script      providertest.Script
	how         string
	least, most int
	provider    string
	at          string // path of the upstream; empty: any
}

// counts counts a short prompt.
func (d dialect) counts(t *testing.T, p *gatewaytest.Program, u gatewaytest.Upstreams, tt countedBy) {
	t.Helper()
	query := map[string]string{"messages": "?beta=true"}[d.name]
	a := p.Call(t, "POST", d.count+query, d.asked(tt.model), "Anthropic-Beta", "token-counting-2024-11-01")
	var n struct {
		Object string
		Tokens *int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(a.Body), &n); err != nil || n.Tokens == nil || a.Status != 200 ||
		n.Object != map[string]string{"responses": "response.input_tokens"}[d.name] {
		t.Errorf("%s: %d %s", tt.name, a.Status, a.Body)
		return
	}
	h := a.Header
	if *n.Tokens < tt.least || *n.Tokens > tt.most || h.Get("X-Gateway-Token-Count") != tt.how ||
		h.Get("X-Gateway-Provider") != tt.provider || h.Get("X-Gateway-Model-Alias") != map[string]string{"by-alias": flash}[tt.model] {
		t.Errorf("%s: %s %v", tt.name, a.Body, a.Header)
	}
	if tt.how != "exact" {
		return
	}
	sent := u[tt.provider].Requests()
	if len(sent) == 0 || strings.TrimSuffix(sent[len(sent)-1].Path, query) != tt.at ||
		tt.provider != d.native && strings.Contains(string(sent[len(sent)-1].Body), `"store":`) {
		t.Errorf("%s: %+v", tt.name, sent)
	}
	if tt.provider == d.native && (a.Body != string(tt.script.Pieces[0]) || sent[0].Path != d.count+query ||
		d.name == "messages" && (a.Header.Get("Request-Id") != "req_upstream" || sent[0].Header.Get("Anthropic-Beta") == "")) {
		t.Errorf("%s: not the bytes of the provider: %s, %v, %+v", tt.name, a.Body, a.Header, sent)
	}
}

// A client always gets a number of tokens: the provider's if it answers within two seconds, else
// an estimate.
func TestTokensAreCountedForEveryProvider(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		p, u := gatewaytest.StartAll(t, "MODEL_ALIASES=by-alias="+flash)
		answer := func(status int, body string) providertest.Script {
			s := gatewaytest.JSON(status, body)
			s.Header.Set("Request-Id", "req_upstream")
			return s
		}
		gpt := answer(200, `{"object":"response.input_tokens","input_tokens":14,"later":1}`)
		claude := answer(200, `{"input_tokens":15,"context_management":{"original_input_tokens":15}}`)
		gemini := answer(200, `{"totalTokens":8,"promptTokensDetails":[{"modality":"TEXT","tokenCount":8}]}`)
		down := answer(503, `{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}`)
		nonsense, none := answer(200, "<html>"), answer(404, "not found")
		problem := func(status int, kind string) providertest.Script {
			return answer(status, `{"type":"error","error":{"type":"`+kind+`","message":"x"}}`)
		}
		const gpt5, countTokens = "gpt-5.4", "/v1beta/models/gemini-2.5-flash:countTokens"
		for _, tt := range []countedBy{
			{"GPT", gpt5, gpt, "exact", 14, 14, "openai", "/v1/responses/input_tokens"},
			{"Claude", haiku, claude, "exact", 15, 15, "anthropic", "/v1/messages/count_tokens"},
			{"Gemini", flash, gemini, "exact", 8, 8, "gemini", countTokens},
			{"an alias", "by-alias", gemini, "exact", 8, 8, "gemini", countTokens},
			{"GPT is down", gpt5, down, "estimate", 8, 20, "openai", ""},
			{"GPT limits", gpt5, answer(429, `{"error":{"message":"slow"}}`), "estimate", 8, 20, "openai", ""},
			{"GPT says nonsense", gpt5, nonsense, "estimate", 8, 20, "openai", ""},
			{"a server without counts", gpt5, none, "estimate", 8, 20, "openai", ""},
			{"Claude is down", haiku, problem(529, "overloaded_error"), "estimate", 8, 40, "anthropic", ""},
			{"Claude limits", haiku, problem(429, "rate_limit_error"), "estimate", 8, 40, "anthropic", ""},
			{"Claude refuses the key", haiku, problem(401, "authentication_error"), "estimate", 8, 40, "anthropic", ""},
			{"Claude says nonsense", haiku, nonsense, "estimate", 8, 40, "anthropic", ""},
			{"another server without counts", haiku, none, "estimate", 8, 40, "anthropic", ""},
			{"Gemini is down", flash, down, "estimate", 8, 20, "gemini", ""},
		} {
			u[tt.provider].Play(tt.script)
			d.counts(t, p, u, tt)
		}
		var all sync.WaitGroup
		for provider, model := range map[string]string{"openai": gpt5, "anthropic": haiku, "gemini": flash} {
			u[provider].Play(providertest.Script{End: providertest.Hold})
			all.Go(func() {
				began := time.Now()
				d.counts(t, p, u, countedBy{provider + " is slow", model, providertest.Script{}, "estimate", 8, 40, provider, ""})
				if took := time.Since(began); took < 1900*time.Millisecond {
					t.Errorf("%s: the estimate came after %v", provider, took)
				}
			})
		}
		all.Wait()
	})
}
