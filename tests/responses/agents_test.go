package responses

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// captured is a request that an agent or an SDK has sent. Long texts of its body are cut,
// and the words are not the client's (tests/captures).
type captured struct {
	Client, Version, Query string
	Headers                map[string]string
	Body                   json.RawMessage
}

// captures are those in testdata/agents, by the name of their file.
func captures(t *testing.T) map[string]captured {
	t.Helper()
	files, err := filepath.Glob("testdata/agents/*.json")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	all := map[string]captured{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c captured
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = c
	}
	return all
}

// TestRequestsOfAgentsAreServedByOtherProviders sends what real clients send to models of
// other providers, under the names that the clients ask for.
func TestRequestsOfAgentsAreServedByOtherProviders(t *testing.T) {
	t.Parallel()
	all := captures(t)
	for model, key := range map[string]string{opus: "ANTHROPIC", haiku: "ANTHROPIC", flash: "GEMINI", flash3: "GEMINI"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			p, r := gatewaytest.StartRecorded(t, "MODEL_ALIASES=gpt-*="+model, "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=", "GEMINI_API_KEY=", key+"_API_KEY=sk-x")
			for name, c := range all {
				var headers []string
				for header, value := range c.Headers {
					headers = append(headers, header, value)
				}
				body := strings.Replace(string(c.Body), `"model":"claude-sonnet-4-5"`, `"model":"`+model+`"`, 1)
				a := p.Call(t, "POST", path+c.Query, body, headers...)
				sent := r.Take()
				if a.Status != 200 || len(sent) != 1 || a.Err != nil {
					t.Errorf("%s: %d, %d calls of the upstream: %s", name, a.Status, len(sent), a.Body)
					continue
				}
				for _, foreign := range []string{"mgw1.", "encrypted_content", "c2lnLW9mLXRoaXMtdXBzdHJlYW0", "client_metadata", "installation", "web_search",
					"prompt_cache_key", `"namespace"`} {
					if strings.Contains(string(sent[0].Body), foreign) {
						t.Errorf("%s: the upstream is sent %s", name, foreign)
					}
				}
				for header := range sent[0].Header {
					if lower := strings.ToLower(header); strings.Contains(lower, "codex") || strings.HasPrefix(lower, "session") || lower == "originator" {
						t.Errorf("%s: the upstream is sent the header %s", name, header)
					}
				}
				if !strings.Contains(a.Body, "response.completed") {
					t.Errorf("%s: %s", name, a.Body)
				}
			}
		})
	}
}

// Codex lists a web search that only OpenAI runs. For another provider it is left out, so
// that neither its fee nor what it would find is held: 0.32 dollars may be the longest answer.
func TestABudgetOfCodexPaysForItsSearchesWhereTheyRun(t *testing.T) {
	t.Parallel()
	c := captures(t)["codex-unknown-model"]
	if !strings.Contains(string(c.Body), `"web_search"`) {
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
