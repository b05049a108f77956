package messages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// counted is the number of tokens of an answer, and how it is known.
func counted(t testing.TB, a gatewaytest.Answer) (tokens int, how string) {
	t.Helper()
	var n struct {
		Tokens *int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(a.Body), &n); err != nil || n.Tokens == nil || a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
		return 0, ""
	}
	return *n.Tokens, a.Header.Get("X-Gateway-Token-Count")
}

// asked is a request for the size of a short prompt.
func asked(model string) string { return `{"model":"` + model + `",` + question + `}` }

const question = `"messages":[{"role":"user","content":"What is the capital of France?"}]`

// Whatever the provider does, an agent gets a number.
func TestTokensAreCountedForEveryProvider(t *testing.T) {
	t.Parallel()
	p, u := start(t, "MODEL_ALIASES=claude-via-gemini=gemini-2.5-flash")
	claude := gatewaytest.JSON(200, `{"input_tokens":14,"context_management":{"original_input_tokens":14}}`)
	claude.Header.Set("Request-Id", "req_upstream")
	gemini := gatewaytest.JSON(200, `{"totalTokens":8,"promptTokensDetails":[{"modality":"TEXT","tokenCount":8}]}`)
	hold := providertest.Script{End: providertest.Hold}
	for _, tt := range []struct {
		name, model      string
		claude, gemini   providertest.Script
		how              string
		least, most      int
		provider, byAway string
	}{
		{"Claude", haiku, claude, gemini, "exact", 14, 14, "anthropic", ""},
		{"Gemini", "gemini-2.5-flash", claude, gemini, "exact", 8, 8, "gemini", ""},
		{"an alias", "claude-via-gemini", claude, gemini, "exact", 8, 8, "gemini", "gemini-2.5-flash"},
		{"GPT", "gpt-4", claude, gemini, "estimate", 8, 20, "openai", ""},
		{"Claude is down", haiku, refusal(529, "overloaded_error", "Overloaded"), gemini, "estimate", 14, 40, "anthropic", ""},
		{"Claude limits", haiku, refusal(429, "rate_limit_error", "slow"), gemini, "estimate", 14, 40, "anthropic", ""},
		{"Claude refuses the key", haiku, refusal(401, "authentication_error", "x"), gemini, "estimate", 14, 40, "anthropic", ""},
		{"Claude says nonsense", haiku, gatewaytest.JSON(200, "<html>"), gemini, "estimate", 14, 40, "anthropic", ""},
		{"Claude is slow", haiku, hold, gemini, "estimate", 14, 40, "anthropic", ""},
		{"a server without counts", haiku, gatewaytest.JSON(404, "not found"), gemini, "estimate", 14, 40, "anthropic", ""},
		{"Gemini is down", "gemini-2.5-flash", claude, gatewaytest.JSON(503, `{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}`),
			"estimate", 8, 20, "gemini", ""},
	} {
		u.anthropic.Play(tt.claude)
		u.gemini.Play(tt.gemini)
		a := p.Call(t, "POST", countPath+"?beta=true", asked(tt.model), "Anthropic-Beta", "token-counting-2024-11-01")
		n, how := counted(t, a)
		if how != tt.how || n < tt.least || n > tt.most || a.Header.Get("X-Gateway-Provider") != tt.provider ||
			a.Header.Get("X-Gateway-Model-Alias") != tt.byAway {
			t.Errorf("%s: %d %s %v", tt.name, n, how, a.Header)
		}
		if tt.name == "Claude" && (a.Body != string(claude.Pieces[0]) || a.Header.Get("Request-Id") != "req_upstream" ||
			u.anthropic.Requests()[0].Path != countPath+"?beta=true" || u.anthropic.Requests()[0].Header.Get("Anthropic-Beta") == "") {
			t.Errorf("%s %v %+v", a.Body, a.Header, u.anthropic.Requests())
		}
	}
	// Claude Code counts a system prompt by itself.
	for _, model := range []string{"gpt-4", "gemini-2.5-flash"} {
		a := p.Call(t, "POST", countPath, `{"model":"`+model+`","messages":"You are an agent.","tools":[]}`)
		if n, _ := counted(t, a); n < 5 || n > 20 {
			t.Errorf("a text: %d by %s", n, model)
		}
	}
	// What Anthropic says of the prompt itself is the client's to know.
	u.anthropic.Play(refusal(400, "invalid_request_error", "messages.0: odd"))
	if a := p.Call(t, "POST", countPath, asked(haiku)); a.Status != 400 || problemOf(t, a).RequestID != "req_upstream" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	u.anthropic.Play(refusal(404, "not_found_error", "model: claude-99"))
	if a := p.Call(t, "POST", countPath, asked("claude-99")); a.Status != 404 || problemOf(t, a).Error.Type != "not_found_error" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	none := gatewaytest.Start(t)
	if n, how := counted(t, none.Call(t, "POST", countPath, asked(haiku))); how != "estimate" || n < 14 || n > 40 {
		t.Errorf("without a key: %d %s", n, how)
	}
}

// Claude Code's /context asks 26 times at once, for parts of its prompt.
func TestManyCountsAtOnceTakeNothingFromCalls(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "gateway.db")
	p := gatewaytest.Start(t, "SIMULATOR=true", "DATABASE_URL=sqlite:"+file, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := p.CreateLimitedKey(t, p.Login(t), `"rpm_limit":26,"max_parallel_requests":1,"budget_usd":0.000001,"models":["claude-*"]`)
	with := []string{"X-Api-Key", key}
	parts := []string{
		question + `,"tools":[{"name":"Read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]`,
		`"messages":[{"role":"user","content":"foo"}],"system":[{"type":"text","text":"Be brief."}],"thinking":{"type":"adaptive"}`,
	}
	var all sync.WaitGroup
	for i := range 26 {
		all.Go(func() {
			a := p.Call(t, "POST", countPath+"?beta=true", fmt.Sprintf(`{"model":"%s",%s}`, haiku, parts[i%len(parts)]), with...)
			if n, _ := counted(t, a); n < 2 {
				t.Errorf("%d: %d tokens", i, n)
			}
		})
	}
	all.Wait()
	failing{"one more", "POST", countPath, asked(haiku), with, 429, "rate_limit_error", "26 requests", "true", ""}.check(t, p)
	if a := p.Call(t, "GET", "/v1/models", "", with...); a.Status != 200 || a.Header.Get("X-Ratelimit-Remaining-Requests") != "25" {
		t.Errorf("the limit of calls: %d %v", a.Status, a.Header)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := gatewaytest.Sum(t, gatewaytest.OpenSQL(t, "sqlite:"+file), "SELECT COUNT(*) FROM calls"); n != 0 {
		t.Errorf("%d counts are in the ledger", n)
	}
}

func TestCountsAreCheckedAsCallsAre(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "MAX_REQUEST_BYTES=2048")
	for text, status := range map[string]int{
		"": 400, "{": 400, `{"model":1}`: 400, `{` + question + `}`: 400, `{"model":"` + haiku + `","model":"x",` + question + `}`: 400,
		`{"model":"` + haiku + `","system":"` + strings.Repeat("x", 3000) + `"}`: 413,
	} {
		a := p.Call(t, http.MethodPost, countPath, text, "Content-Type", "application/json")
		if problemOf(t, a); a.Status != status {
			t.Errorf("%.40s: %d %s", text, a.Status, a.Body)
		}
	}
}
