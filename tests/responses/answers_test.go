package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

const (
	claudeCall   = `{"type":"tool_use","id":"toolu_1","name":"look","input":{"z":"ä"}}`
	claudeSecond = `{"type":"tool_use","id":"toolu_2","name":"look","input":{}}`
	geminiCall   = `{"functionCall":{"name":"look","args":{"z":"ä"}},"thoughtSignature":"c2ln"}`
	geminiSecond = `{"functionCall":{"name":"look","args":{}}}`
)

// look is a tool that the scripts call.
const look = `,"tools":[{"type":"function","name":"look","parameters":{"type":"object","properties":{"z":{"type":"string"}}}}],` +
	`"reasoning":{"effort":"low","summary":"auto"}`

// TestAnswersOfOtherProvidersEndAsOpenAIsDo has a case for each way an answer ends.
func TestAnswersOfOtherProvidersEndAsOpenAIsDo(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	cases := map[string][]struct {
		name   string
		answer scripted
		items  string
		status string // and the reason, where it is incomplete
	}{
		"anthropic": {
			{"text", scripted{[]string{`{"type":"text","text":"a"}`}, "end_turn"}, "message", "completed "},
			{"thinking and a call", scripted{[]string{`{"type":"thinking","thinking":"why","signature":"c2ln"}`, claudeCall}, "tool_use"},
				"reasoning function_call", "completed "},
			{"thinking between calls", scripted{[]string{
				`{"type":"redacted_thinking","data":"eHh4"}`, claudeCall, `{"type":"thinking","thinking":"","signature":"c2ln"}`, claudeSecond,
			}, "tool_use"}, "reasoning function_call reasoning function_call", "completed "},
			{"calls alone", scripted{[]string{claudeCall, claudeSecond}, "tool_use"}, "function_call function_call", "completed "},
			{"too long", scripted{[]string{`{"type":"text","text":"a"}`}, "max_tokens"}, "message", "incomplete max_output_tokens"},
			{"refused", scripted{[]string{`{"type":"text","text":"a"}`}, "refusal"}, "message", "incomplete content_filter"},
			{"nothing", scripted{nil, "end_turn"}, "", "completed "},
		},
		"gemini": {
			{"text", scripted{[]string{`{"text":"a"}`}, "STOP"}, "message", "completed "},
			{"a thought and a call", scripted{[]string{`{"text":"why","thought":true}`, geminiCall}, "STOP"}, "reasoning function_call", "completed "},
			{"text and calls", scripted{[]string{`{"text":"a"}`, geminiCall, geminiSecond}, "STOP"}, "message reasoning function_call function_call",
				"completed "},
			{"visible text with a signature", scripted{[]string{`{"text":"a","thoughtSignature":"c2ln"}`}, "STOP"}, "message", "completed "},
			{"too long", scripted{[]string{`{"text":"a"}`}, "MAX_TOKENS"}, "message", "incomplete max_output_tokens"},
			{"filtered", scripted{[]string{`{"text":"a"}`}, "SAFETY"}, "message", "incomplete content_filter"},
		},
	}
	wholeAndStreamed(t, u, func(t *testing.T, provider string, up *providertest.Upstream, streamed bool) {
		for _, tt := range cases[provider] {
			up.Play(tt.answer.script(provider, streamed))
			r, err := ask(t, p, body(models[provider], look), streamed)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if itemsOf(r) != tt.items || string(r.Status)+" "+r.IncompleteDetails.Reason != tt.status {
				t.Errorf("%s: %s", tt.name, r.RawJSON())
			}
			if s := r.Usage; s.InputTokens != 30 || s.InputTokensDetails.CachedTokens != 20 || s.OutputTokens != 9 || s.TotalTokens != 39 {
				t.Errorf("%s: usage %s", tt.name, s.RawJSON())
			}
			if !strings.HasPrefix(r.ID, "resp_") || r.Object != "response" || r.Model != models[provider] || !strings.Contains(r.RawJSON(), `"store":false`) || r.CreatedAt == 0 ||
				len(r.Tools) != 1 || r.Reasoning.Effort != "low" {
				t.Errorf("%s: %s", tt.name, r.RawJSON())
			}
			for _, item := range r.Output {
				if item.Type == "function_call" && (item.Name != "look" || item.CallID == "" ||
					item.Arguments.OfString != `{"z":"ä"}` && item.Arguments.OfString != "{}") {
					t.Errorf("%s: %s", tt.name, item.RawJSON())
				}
			}
		}
	})
}

// What the provider wants back with a call reaches it in the next turn, byte for byte, and
// nothing of it another provider.
func TestThoughtsReachTheProviderThatMadeThem(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	answers := map[string]scripted{
		"anthropic": {[]string{`{"type":"thinking","thinking":"why \"ä\"","signature":"c2lnbmVk"}`, claudeCall}, "tool_use"},
		"gemini":    {[]string{`{"text":"why","thought":true}`, strings.Replace(geminiCall, "c2ln", "c2lnbmVk", 1)}, "STOP"},
	}
	wants := map[string]string{
		"anthropic": `{"type":"thinking","thinking":"why \"ä\"","signature":"c2lnbmVk"}`, "gemini": `"thoughtSignature":"c2lnbmVk"`,
	}
	wholeAndStreamed(t, u, func(t *testing.T, provider string, up *providertest.Upstream, streamed bool) {
		up.Play(answers[provider].script(provider, streamed))
		r, err := ask(t, p, body(models[provider], look), streamed)
		if err != nil {
			t.Fatal(err)
		}
		for to, up := range map[string]*providertest.Upstream{"anthropic": u["anthropic"], "gemini": u["gemini"]} {
			up.Play(scripted{end: "end_turn"}.script("anthropic", false))
			if to == "gemini" {
				up.Play(scripted{[]string{`{"text":"a"}`}, "STOP"}.script(to, false))
			}
			next := `{"model":"` + models[to] + `","input":[{"role":"user","content":"x"},` + back(r) + `{"type":"function_call_output","call_id":"` +
				r.Output[len(r.Output)-1].CallID + `","output":"seen"}]` + look + `}`
			if _, err := ask(t, p, next, false); err != nil {
				t.Fatalf("to %s: %v", to, err)
			}
			if got := sent(t, up); strings.Contains(got, wants[provider]) != (to == provider) || strings.Contains(got, "mgw1.") {
				t.Errorf("from %s to %s: %s", provider, to, got)
			}
		}
	})
}

// Codex's tools: a patch as free text, and functions in namespaces.
func TestToolsOfCodexAreCalledAsItKnowsThem(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	const tools = `"tools":[{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: x"}},` +
		`{"type":"namespace","name":"clock","tools":[{"type":"function","name":"wait","parameters":{"type":"object"}}]},` +
		`{"type":"function","name":"wait","parameters":{"type":"object"}},{"type":"local_shell"},{"type":"web_search"}]`
	const patch = "*** Begin Patch\n+„ä“ \"b\" \\n\n*** End Patch"
	const patchJSON = `"*** Begin Patch\n+„ä“ \"b\" \\n\n*** End Patch"`
	answers := map[string]scripted{
		"anthropic": {[]string{
			`{"type":"tool_use","id":"toolu_1","name":"apply_patch","input":{"input":` + patchJSON + `}}`,
			`{"type":"tool_use","id":"toolu_2","name":"clock__wait","input":{"s":1}}`,
			`{"type":"tool_use","id":"toolu_3","name":"wait","input":{}}`,
			`{"type":"tool_use","id":"toolu_4","name":"local_shell","input":{"command":["ls"]}}`,
		}, "tool_use"},
		"gemini": {[]string{
			`{"functionCall":{"name":"apply_patch","args":{"input":` + patchJSON + `}}}`, `{"functionCall":{"name":"clock__wait","args":{"s":1}}}`,
			`{"functionCall":{"name":"wait","args":{}}}`, `{"functionCall":{"name":"local_shell","args":{"command":["ls"]}}}`,
		}, "STOP"},
	}
	wholeAndStreamed(t, u, func(t *testing.T, provider string, up *providertest.Upstream, streamed bool) {
		up.Play(answers[provider].script(provider, streamed))
		r, err := ask(t, p, `{"model":"`+models[provider]+`","input":"x",`+tools+`}`, streamed)
		if err != nil {
			t.Fatal(err)
		}
		if itemsOf(r) != "custom_tool_call function_call function_call local_shell_call" {
			t.Fatalf("%s", r.RawJSON())
		}
		custom, clock, plain := r.Output[0].AsCustomToolCall(), r.Output[1].AsFunctionCall(), r.Output[2].AsFunctionCall()
		if custom.Input != patch || custom.Name != "apply_patch" || clock.Name != "wait" || clock.Namespace != "clock" ||
			clock.Arguments != `{"s":1}` || plain.Name != "wait" || plain.Namespace != "" ||
			strings.Join(r.Output[3].AsLocalShellCall().Action.Command, " ") != "ls" {
			t.Errorf("%s", r.RawJSON())
		}
		var results strings.Builder
		for i, kind := range []string{"custom_tool_call", "function_call", "function_call", "local_shell_call"} {
			results.WriteString(`{"type":"` + kind + `_output","call_id":"` + r.Output[i].CallID + `","output":"seen"},`)
		}
		up.Play(scripted{answers[provider].parts, answers[provider].end}.script(provider, false))
		next := `{"model":"` + models[provider] + `","input":[{"role":"user","content":"x"},` + back(r) + strings.TrimSuffix(results.String(), ",") + `],` + tools + `}`
		if _, err := ask(t, p, next, false); err != nil {
			t.Fatal(err)
		}
		if got := sent(t, up); !strings.Contains(got, patchJSON) || strings.Count(got, `"clock__wait"`) < 2 || strings.Count(got, "seen") != 4 {
			t.Errorf("%s", got)
		}
	})
}

// A summary in place of the conversation: exactly one item, which the next turn knows.
func TestConversationIsCompactedOnOtherProviders(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	answers := map[string]scripted{
		"anthropic": {[]string{`{"type":"text","text":"They want ä."}`}, "end_turn"}, "gemini": {[]string{`{"text":"They want ä."}`}, "STOP"},
	}
	next := func(t *testing.T, provider string, up *providertest.Upstream, items string) {
		t.Helper()
		up.Play(answers[provider].script(provider, false))
		if _, err := ask(t, p, `{"model":"`+models[provider]+`","input":[`+items+`{"role":"user","content":"go on"}]}`, false); err != nil {
			t.Fatal(err)
		}
		if got := sent(t, up); !strings.Contains(got, "They want ä.") || strings.Contains(got, "mgw1.") {
			t.Errorf("%s", got)
		}
	}
	wholeAndStreamed(t, u, func(t *testing.T, provider string, up *providertest.Upstream, streamed bool) {
		up.Play(answers[provider].script(provider, streamed))
		r, err := ask(t, p, `{"model":"`+models[provider]+`","input":[{"role":"user","content":"first"},{"type":"compaction_trigger"}]`+look+`}`, streamed)
		if err != nil || itemsOf(r) != "compaction" || r.Status != "completed" || r.Usage.OutputTokens != 9 {
			t.Fatalf("%v: %+v", err, r)
		}
		if got := sent(t, up); strings.Contains(got, `"look"`) || !strings.Contains(got, "first") {
			t.Errorf("%s", got)
		}
		next(t, provider, up, back(r))
		if streamed {
			return
		}
		up.Play(answers[provider].script(provider, false))
		a := p.Call(t, "POST", compactPath, `{"model":"`+models[provider]+`","input":[{"role":"user","content":"first"}]}`)
		var compact struct {
			Object string `json:"object"`
			Output []struct {
				Type string `json:"type"`
			} `json:"output"`
		}
		if err := json.Unmarshal([]byte(a.Body), &compact); err != nil || a.Status != 200 || compact.Object != "response.compaction" || len(compact.Output) != 2 ||
			compact.Output[0].Type != "message" || compact.Output[1].Type != "compaction" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		items := a.Body
		next(t, provider, up, items[strings.Index(items, `"output":[`)+len(`"output":[`):strings.LastIndex(items, `],"usage"`)]+",")
	})
}
