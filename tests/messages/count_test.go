package messages

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

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

func TestWhatIsWrongWithAPromptIsToldOfItsCount(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	// Claude Code counts a system prompt by itself.
	for _, model := range []string{"gpt-4", "gemini-2.5-flash"} {
		a := p.Call(t, "POST", countPath, `{"model":"`+model+`","messages":"You are an agent.","tools":[]}`)
		if n, _ := counted(t, a); n < 5 || n > 20 {
			t.Errorf("a text: %d by %s", n, model)
		}
	}
	// What Anthropic says of the prompt itself is the client's to know.
	u["anthropic"].Play(refusal(400, "invalid_request_error", "messages.0: odd"))
	if a := p.Call(t, "POST", countPath, asked(haiku)); a.Status != 400 || a.Problem(t).RequestID != "req_upstream" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	u["anthropic"].Play(refusal(404, "not_found_error", "model: claude-99"))
	if a := p.Call(t, "POST", countPath, asked("claude-99")); a.Status != 404 || a.Problem(t).Error.Type != "not_found_error" {
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
	gatewaytest.Failing{
		Name: "one more", Path: countPath, Body: asked(haiku), Headers: with, Status: 429, Kind: "rate_limit_error", Says: "26 requests", Retry: "true",
	}.Check(t, p)
	if a := p.Call(t, "GET", "/v1/models", "", with...); a.Status != 200 || a.Header.Get("X-Ratelimit-Remaining-Requests") != "25" {
		t.Errorf("the limit of calls: %d %v", a.Status, a.Header)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := gatewaytest.Sum(t, gatewaytest.OpenSQL(t, "sqlite:"+file), "SELECT COUNT(*) FROM ledger_calls"); n != 0 {
		t.Errorf("%d counts are in the ledger", n)
	}
}
