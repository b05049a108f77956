package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/simulatortest"
)

// agentTools are some of those of Claude Code: one that is deferred, one that Anthropic
// runs.
const agentTools = `{"name":"Agent","input_schema":{"type":"object"}},` +
	`{"name":"Bash","input_schema":{"type":"object","required":["command"]}},` +
	`{"name":"Read","input_schema":{"type":"object","required":["file_path"]}},` +
	`{"name":"Write","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"required":["file_path","content"]}},` +
	`{"name":"Later","defer_loading":true,"input_schema":{"type":"object"}},` +
	`{"type":"web_search_20250305","name":"web_search","max_uses":8}`

const agentFields = `,"model":"claude-opus-5-5","max_tokens":128000,"thinking":{"type":"adaptive","display":"omitted"},` +
	`"output_config":{"effort":"medium"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},` +
	`"metadata":{"user_id":"{}"},"tools":[` + agentTools + `]`

const agentTask = `{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},` +
	`{"type":"text","text":"put \"tok\" into hello.txt and then read the file back"}]},` +
	`{"role":"system","content":" - Primary working directory: /home/user\n - Platform: linux","output_config":{"effort":"medium"}}`

func TestAgentsTaskIsDoneInThreeTurns(t *testing.T) {
	refuses := simulatortest.Anthropic.Refuser(t)
	refuses("no beta", body(agentFields, agentTask), 400, "context_management: Extra inputs are not permitted")
	refuses("a thread", body(`,"thread":{"type":"create"}`, `{"role":"user","content":"hi"}`), 400, `"error_code":"thread_unsupported_request"`)
	agent := simulatortest.Client{Path: "/v1/messages?beta=true", Header: map[string]string{
		"X-Api-Key": "k", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "claude-code-20250219, context-management-2025-06-27",
	}}
	messages, names := agentTask, ""
	for range 5 {
		raw := agent.Post(t, body(agentFields, messages))
		a := simulatortest.Decode[joined](t, raw.Body)
		if raw.Status != http.StatusOK || a.Content[0].Type != "thinking" || a.Content[0].Signature == "" || a.Content[1].Type != "text" {
			t.Fatalf("%d %s", raw.Status, raw.Body)
		}
		if !strings.Contains(string(raw.Body), `"context_management":{"applied_edits":[]}`) {
			t.Fatalf("no context_management: %s", raw.Body)
		}
		if s := streamFrom(t, agent, body(agentFields, messages)); len(s.Content) != len(a.Content) || s.StopReason != a.StopReason {
			t.Fatalf("%+v, want %+v", s, a)
		}
		if a.StopReason != "tool_use" {
			break
		}
		results := ""
		for _, b := range a.Content[2:] {
			names += " " + b.Name + string(b.Input)
			results += `,{"type":"tool_result","tool_use_id":"` + b.ID + `","content":"ok"}`
		}
		content := string(rawjson.Get(raw.Body, "content"))
		messages += `,{"role":"assistant","content":` + content + `},{"role":"user","content":[` + results[1:] + `]}` +
			`,{"role":"system","content":"<total_tokens>9 tokens left</total_tokens>"}`
	}
	want := ` Write{"file_path":"/home/user/hello.txt","content":"tok\n"} Read{"file_path":"/home/user/hello.txt"}` +
		` Bash{"command":"cat '/home/user/hello.txt'"}`
	if names != want {
		t.Fatalf("%s, want %s", names, want)
	}
}

func TestDeferredToolsAreCalledOnceTheyAreLoaded(t *testing.T) {
	tools := `,"tools":[{"name":"ToolSearch","input_schema":{"type":"object"}},` +
		`{"name":"get_weather","defer_loading":true,"input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}`
	reference := hello + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ToolSearch","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"get_weather"}]}]}`
	forced := strings.Replace(tools, `{"type":"any"}`, `{"type":"tool","name":"get_weather"}`, 1)
	if a := ask(t, body(forced, reference)); a.StopReason != "tool_use" || a.Content[0].Name != "get_weather" {
		t.Fatalf("%+v", a)
	}
	if a := ask(t, body(tools, hello)); a.Content[0].Name != "ToolSearch" {
		t.Fatalf("%+v", a)
	}
}

func TestCountsTokensAsItsAnswersDo(t *testing.T) {
	server := simulatortest.Strict(t)
	count := simulatortest.Anthropic.At("/v1/messages/count_tokens?beta=true")
	request := `{"model":"claude-opus-5-5","messages":[` + hello + `],"tools":[` + weather + `],"system":"Be brief."}`
	var counted struct {
		Tokens int `json:"input_tokens"`
	}
	count.Ask(t, server, request, &counted)
	var a joined
	simulatortest.Anthropic.Ask(t, server, strings.Replace(request, "{", `{"max_tokens":99,`, 1), &a)
	if counted.Tokens != a.Usage.InputTokens || counted.Tokens == 0 {
		t.Fatalf("%d, the answer says %d", counted.Tokens, a.Usage.InputTokens)
	}
	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"a member of messages": {strings.Replace(request, "{", `{"max_tokens":99,`, 1), 400, "max_tokens: Extra inputs are not permitted"},
		"unknown model":        {`{"model":"nope","messages":[` + hello + `]}`, 404, "not_found_error"},
		"fault":                {`{"model":"claude-opus-5-5","messages":[{"role":"user","content":"simulate error 529"}]}`, 529, "overloaded"},
	} {
		if a := count.Send(t, server, http.MethodPost, c.body); a.Status != c.status || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}
