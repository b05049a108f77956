package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// families are the models for which Codex has tools of another form: functions for those
// that it does not know, a custom tool that patches files, and a custom tool that runs code.
func (f provider) families() map[string]string {
	return map[string]string{"unknown": f.model, "patches": "gpt-5.5", "code": "gpt-6.1-sol"}
}

// codexSettings name the gateway as a provider of their own, as docs/clients.md does.
const codexSettings = `model_provider = "gateway"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.gateway]
name = "Model Gateway"
base_url = "GATEWAY/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
`

// codexResult is what Codex prints: the last message of the model, its errors, and usage.
type codexResult struct {
	outcome
	text, failures string
	failed         bool
	input, output  int
}

// codex gives a task to Codex, which may do all that the user may.
func (s *session) codex(t *testing.T, model, task string, options ...string) codexResult {
	t.Helper()
	s.codexSettings(t, codexSettings)
	return s.runCodex(t, append([]string{"-m", model}, append(options, task)...)...)
}

// codexSettings writes the settings of Codex.
func (s *session) codexSettings(t *testing.T, settings string) {
	t.Helper()
	file := filepath.Join(s.home, ".codex", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(settings, "GATEWAY/", s.front.url+"/")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *session) runCodex(t *testing.T, arguments ...string) codexResult {
	t.Helper()
	r := codexResult{outcome: s.run(t, []string{"GATEWAY_KEY=any", s.path()}, s.installed("codex"), append([]string{
		"exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access",
	}, arguments...)...)}
	for line := range strings.Lines(r.out) {
		var e struct {
			Type string `json:"type"`
			Item struct {
				Type    string `json:"type"`
				Text    string `json:"text"`
				Message string `json:"message"`
			} `json:"item"`
			Usage struct {
				Input  int `json:"input_tokens"`
				Output int `json:"output_tokens"`
			} `json:"usage"`
			Message string `json:"message"`
			Error   struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Item.Type == "agent_message" {
			r.text = e.Item.Text
		}
		r.failures += e.Message + e.Error.Message + e.Item.Message
		r.failed = r.failed || e.Type == "turn.failed"
		r.input, r.output = r.input+e.Usage.Input, r.output+e.Usage.Output
	}
	t.Logf("%d + %d tokens: %.300s %s", r.input, r.output, r.text, r.failures)
	return r
}

// codexDidTheTask requires the file, the answer that comes from the last result, and usage.
func (s *session) codexDidTheTask(t *testing.T, r codexResult) {
	t.Helper()
	s.hasTheFile(t)
	if r.exit != 0 || r.failed || !strings.Contains(r.text, done) || !strings.Contains(r.text, "tok5187") || r.input == 0 || r.output == 0 {
		t.Errorf("exit code %d: %+v", r.exit, r)
	}
}

func TestCodexDoesATaskWithAnyProviderAndAnyOfItsTools(t *testing.T) {
	folder := needClients(t)
	for _, f := range providers() {
		for family, model := range f.families() {
			t.Run(f.name+" "+family, func(t *testing.T) {
				t.Parallel()
				s := f.start(t, folder, nil)
				s.codexDidTheTask(t, s.codex(t, model, task))
				s.upstream.acceptedAll(t)
				if calls := s.upstream.exchanges(); len(calls) != turns {
					t.Fatalf("%d upstream calls", len(calls))
				}
				s.isBooked(t)
				s.travelledFromCodex(t, f, family)
			})
		}
	}
}

// travelledFromCodex requires what only OpenAI understands, as the client sends it, and that
// no other provider sees it; and the signatures of thoughts.
func (s *session) travelledFromCodex(t *testing.T, f provider, family string) {
	t.Helper()
	for _, e := range s.upstream.exchanges() {
		native := map[string]string{
			"unknown": `{"type":"namespace"`, "patches": `{"type":"custom","name":"apply_patch"`, "code": `"type":"additional_tools"`,
		}[family]
		for _, own := range []string{native, `"client_metadata":{`, `"prompt_cache_key":"`, `"include":["reasoning.encrypted_content"]`} {
			if strings.Contains(e.body, own) != (f.name == "openai") {
				t.Errorf("%s: %s in the upstream's body: %v", f.name, own, f.name != "openai")
			}
		}
		if has := e.header.Get("X-Codex-Window-Id") != ""; has != (f.name == "openai") {
			t.Errorf("%s: x-codex-window-id %v", f.name, has)
		}
		if f.name == "openai" && (e.path != "/v1/responses" || e.header.Get("Authorization") != "Bearer sk-upstream") {
			t.Errorf("%s with %s", e.path, e.header.Get("Authorization"))
		}
	}
	last := s.upstream.exchanges()[turns-1].body
	signed := map[string]string{"anthropic": `"signature":"`, "openai": `"encrypted_content":"gAAAAA`, "gemini": `"thoughtSignature":"`}[f.name]
	if !strings.Contains(last, signed) || strings.Contains(last, "skip_thought_signature_validator") {
		t.Errorf("the signatures of the thoughts did not come back: %s", last)
	}
}
