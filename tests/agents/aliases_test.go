package agents

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/tests/gatewaytest"
)

// asked is a request of the Messages API for a model, with further members.
func asked(model, members string) string {
	return `{"model":"` + model + `"` + members + `,"messages":[{"role":"user","content":"hi"}]}`
}

func TestAliasesHoldForMessagesAndForCounts(t *testing.T) {
	p := gatewaytest.Start(t, append(simulatortest.Settings(t),
		"MODEL_ALIASES=claude-opus-99-*=gpt-5;claude-opus-99-9*=gemini-3.5-flash;claude-via-gpt=gpt-5;claude-opus-5-5=gemini-2.5-flash")...)
	for model, want := range map[string]struct{ provider, target string }{
		"claude-opus-99-1":          {"openai", "gpt-5"},
		"claude-opus-99-1[1m]":      {"openai", "gpt-5"},
		"claude-opus-99-9-20990101": {"gemini", "gemini-3.5-flash"}, // the longer pattern
		"claude-via-gpt":            {"openai", "gpt-5"},
		"claude-via-gpt[1m]":        {"openai", "gpt-5"},
		"claude-opus-5-5":           {"gemini", "gemini-2.5-flash"}, // in place of the real one
		"claude-haiku-4-5[1m]":      {"anthropic", "claude-haiku-4-5"},
		"openai/gpt-5":              {"openai", "gpt-5"},
		"gpt-5":                     {"openai", ""},
	} {
		for path, body := range map[string]string{
			"/v1/messages?beta=true":              asked(model, `,"max_tokens":99`),
			"/v1/messages/count_tokens?beta=true": asked(model, ""),
		} {
			a := p.Call(t, "POST", path, body, "Anthropic-Version", "2023-06-01")
			if a.Status != 200 || a.Header.Get("X-Gateway-Model-Alias") != want.target {
				t.Errorf("%s %s: %d %v %s", path, model, a.Status, a.Header, a.Body)
			}
			if answers := !strings.Contains(path, "count"); answers && a.Header.Get("X-Gateway-Provider") != want.provider {
				t.Errorf("%s: answered by %q", model, a.Header.Get("X-Gateway-Provider"))
			}
		}
	}
	a := p.Call(t, "POST", "/v1/messages", asked("claude-nothing-*", `,"max_tokens":99`), "Anthropic-Version", "2023-06-01")
	if a.Status != 404 || !strings.Contains(a.Body, `"type":"not_found_error"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestAliasesAreListedForThePicker(t *testing.T) {
	for _, only := range []string{"false", "true"} {
		p := gatewaytest.Start(t, append(simulatortest.Settings(t),
			"MODEL_ALIASES=claude-via-gpt=gpt-5;claude-x-*=gpt-5", "MODEL_ALIASES_ONLY="+only)...)
		a := p.Call(t, "GET", "/v1/models?limit=1000", "", "Anthropic-Version", "2023-06-01", "Authorization", "Bearer any")
		var list struct {
			Data []struct {
				ID   string `json:"id"`
				Type string `json:"type"`
				Name string `json:"display_name"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		var ids []string
		for _, m := range list.Data {
			ids = append(ids, m.ID)
			if m.Type != "model" || m.Name == "" {
				t.Errorf("%+v", m)
			}
		}
		if !slices.Contains(ids, "claude-via-gpt") || slices.Contains(ids, "claude-x-*") || only == "true" && len(ids) != 1 {
			t.Errorf("MODEL_ALIASES_ONLY=%s: %q", only, ids)
		}
	}
}

func TestKeyThatMayUseTheTargetMayUseTheAlias(t *testing.T) {
	p := gatewaytest.Start(t, append(simulatortest.Settings(t),
		"MODEL_ALIASES=claude-opus-99-*=gpt-5", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)...)
	token := p.Login(t)
	for models, want := range map[string]int{
		`["gpt-5"]`: 200, `["claude-opus-99-1"]`: 200, `["gemini-2.5-flash"]`: 403,
	} {
		_, key := p.CreateLimitedKey(t, token, `"models":`+models)
		for header, value := range map[string]string{"X-Api-Key": key, "Authorization": "Bearer " + key} {
			a := p.Call(t, "POST", "/v1/messages", asked("claude-opus-99-1", `,"max_tokens":99`), header, value, "Anthropic-Version", "2023-06-01")
			if a.Status != want || want == 403 && !strings.Contains(a.Body, `"type":"permission_error"`) {
				t.Errorf("%s %s: %d %s", models, header, a.Status, a.Body)
			}
		}
	}
}
