package responses

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// Codex lists a web search that only OpenAI runs. For another provider it is left out, so
// that neither its fee nor what it would find is held: 0.32 dollars may be the longest answer.
func TestABudgetOfCodexPaysForItsSearchesWhereTheyRun(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/agents/codex-unknown-model.json")
	var c struct {
		Query string
		Body  json.RawMessage
	}
	if err != nil || json.Unmarshal(text, &c) != nil || !strings.Contains(string(c.Body), `"web_search"`) {
		t.Fatal("the captured request lists no web search")
	}
	for _, model := range []string{haiku, flash} {
		p, r := gatewaytest.StartRecorded(t, "MODEL_ALIASES=gpt-*="+model, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
		_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":0.4,"budget_reserve":"worst"`)
		a := p.Call(t, "POST", path+c.Query, string(c.Body), "Authorization", "Bearer "+key)
		if sent := r.Take(); a.Status != 200 || len(sent) != 1 {
			t.Errorf("%s: %d, %d calls of the upstream: %s", model, a.Status, len(sent), a.Body)
		}
	}
	// At OpenAI the search may run: the fee of a hundred is the most that it can cost, and most calls make none. The
	// upstream itself refuses the captured request, whose thoughts it cannot decrypt.
	p, r := gatewaytest.StartRecorded(t, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	body := regexp.MustCompile(`"model":"[^"]*"`).ReplaceAllString(string(c.Body), `"model":"gpt-6-luna"`)
	for budget, calls := range map[string]int{`0.4,"budget_reserve":"worst"`: 0, `2,"budget_reserve":"worst"`: 1, "0.4": 1} {
		_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":`+budget)
		a := p.Call(t, "POST", path+c.Query, body, "Authorization", "Bearer "+key)
		if sent := r.Take(); len(sent) != calls || calls == 0 && a.Status != 429 {
			t.Errorf("OpenAI with %s dollars: %d, %d calls of the upstream: %s", budget, a.Status, len(sent), a.Body)
		}
	}
}
