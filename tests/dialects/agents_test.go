package dialects

import (
	"encoding/json"
	"os"
	"path/filepath"
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

// captures are those of the clients of a dialect, by the name of their file.
func (d dialect) captures(t *testing.T) map[string]captured {
	t.Helper()
	files, err := filepath.Glob("../" + d.name + "/testdata/agents/*.json")
	if least := map[string]int{"messages": 20, "responses": 7}[d.name]; err != nil || len(files) < least {
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

// foreign is what no other provider may be sent.
func (d dialect) foreign() []string {
	return map[string][]string{
		"messages": {"mgw1.", "x-anthropic-billing-header", `"signature"`, "c2lnLW9mLXRoaXMtdXBzdHJlYW0", "cache_control", "device_id",
			"DeferredToolPlaceholder"},
		"responses": {"mgw1.", "encrypted_content", "c2lnLW9mLXRoaXMtdXBzdHJlYW0", "client_metadata", "installation", "web_search",
			"prompt_cache_key", `"namespace"`},
	}[d.name]
}

// TestRequestsOfAgentsAreServedByOtherProviders sends what real clients send to models of
// other providers, under the names that the clients ask for.
func TestRequestsOfAgentsAreServedByOtherProviders(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		all := d.captures(t)
		keys := map[string]string{"gemini-2.5-flash": "GEMINI", "gemini-3.5-flash": "GEMINI"}
		names, own := "claude-*=MODEL;gpt-5=MODEL", []string{"gpt-4.1", "gpt-5.1", "gpt-5.5"}
		if d.name == "responses" {
			names, own = "gpt-*=MODEL", []string{"claude-opus-4-8", haiku}
		}
		for _, model := range own {
			keys[model] = map[string]string{"messages": "OPENAI", "responses": "ANTHROPIC"}[d.name]
		}
		for model, key := range keys {
			t.Run(model, func(t *testing.T) {
				t.Parallel()
				p, r := gatewaytest.StartRecorded(t, "MODEL_ALIASES="+strings.ReplaceAll(names, "MODEL", model),
					"ANTHROPIC_API_KEY=", "OPENAI_API_KEY=", "GEMINI_API_KEY=", key+"_API_KEY=sk-x")
				for name, c := range all {
					d.serves(t, p, r, model, name, c)
				}
			})
		}
	})
}

// serves sends a captured request to a model of another provider.
func (d dialect) serves(t *testing.T, p *gatewaytest.Program, r *gatewaytest.Recorder, model, name string, c captured) {
	t.Helper()
	var headers []string
	for header, value := range c.Headers {
		headers = append(headers, header, value)
	}
	body := string(c.Body)
	if d.name == "responses" {
		body = strings.Replace(body, `"model":"claude-sonnet-4-5"`, `"model":"`+model+`"`, 1)
	}
	a := p.Call(t, "POST", d.path+c.Query, body, headers...)
	sent := r.Take()
	if name == "claude-code-web-search" { // has no other tool
		if a.Status != 400 || len(sent) > 0 || !strings.Contains(a.Body, "Anthropic model") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		return
	}
	if a.Status != 200 || len(sent) != 1 || a.Err != nil {
		t.Errorf("%s: %d, %d calls of the upstream: %s", name, a.Status, len(sent), a.Body)
		return
	}
	for _, word := range d.foreign() {
		if strings.Contains(string(sent[0].Body), word) {
			t.Errorf("%s: the upstream is sent %s", name, word)
		}
	}
	for header := range sent[0].Header {
		lower := strings.ToLower(header)
		if strings.Contains(lower, "codex") || strings.HasPrefix(lower, "session") || lower == "originator" || lower == "anthropic-beta" {
			t.Errorf("%s: the upstream is sent the header %s", name, header)
		}
	}
	if !strings.Contains(a.Body, d.ends()) && (d.name == "responses" || !strings.Contains(a.Body, `"type":"message","role"`)) {
		t.Errorf("%s: %s", name, a.Body)
	}
}
