package responses

import "testing"

// calledTools are calls of the tools whose parameters OpenAI's models have learned, with the
// answers of the client, and of its search for tools.
const calledTools = `"input":[{"role":"user","content":"hi"},` +
	`{"type":"local_shell_call","id":"lsh_1","call_id":"1","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}},` +
	`{"type":"local_shell_call_output","id":"1","output":"a"},` +
	`{"type":"shell_call","call_id":"2","action":{"commands":["false"]}},` +
	`{"type":"shell_call_output","call_id":"2","output":[{"stdout":"b","stderr":"c","outcome":{"type":"exit","exit_code":1}}]},` +
	`{"type":"apply_patch_call","call_id":"3","status":"completed","operation":{"type":"delete_file","path":"p"}},` +
	`{"type":"apply_patch_call_output","call_id":"3","status":"failed","output":"no such file"},` +
	`{"type":"tool_search_call","call_id":"4","execution":"client","arguments":{"query":"time"}},` +
	`{"type":"tool_search_output","call_id":"4","execution":"client","tools":[{"type":"namespace","name":"clock","tools":[` +
	`{"type":"function","name":"wait","strict":false}]}]}],` +
	`"tools":[{"type":"local_shell"},{"type":"shell"},{"type":"apply_patch"},{"type":"tool_search","execution":"client"}]`

// hosted is a conversation that has begun at OpenAI, with each kind of item of a tool that
// ran there.
const hosted = `"input":[{"role":"user","content":"a"},{"type":"web_search_call","id":"1"},{"type":"file_search_call","id":"2"},` +
	`{"type":"code_interpreter_call","id":"3"},{"type":"mcp_list_tools","id":"4"},{"type":"mcp_approval_request","id":"5"},` +
	`{"type":"mcp_approval_response","approval_request_id":"5"},{"type":"mcp_call","id":"6"},` +
	`{"type":"computer_call","call_id":"7"},{"type":"computer_call_output","call_id":"7","output":{"type":"computer_screenshot"}},` +
	`{"type":"program","call_id":"8"},{"type":"program_output","call_id":"8","output":"x"},` +
	`{"role":"assistant","content":"b"},{"role":"user","content":"hi"}]`

const hostedPaths = "input[10].type, input[11].type, input[1].type, input[2].type, input[3].type, input[4].type, input[5].type, " +
	"input[6].type, input[7].type, input[8].type, input[9].type"

// withoutThoughts is a turn of a model that thinks, from which the client has dropped the thoughts.
const withoutThoughts = `"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"1","name":"look","arguments":"{}"},` +
	`{"type":"function_call_output","call_id":"1","output":"x"}],"reasoning":{"effort":"high"},` +
	`"tools":[{"type":"function","name":"look","strict":false}]`

func historyRows() []row {
	const use, result = `{"type":"tool_use",`, `{"type":"tool_result",`
	return []row{
		{
			"calls of tools that OpenAI's models know", calledTools,
			wanted{opus, map[string]string{
				"messages.1.content": `[` + use + `"id":"1","name":"local_shell","input":{"command":["ls"],"env":{}}}]`,
				"messages.2.content": `[` + result + `"tool_use_id":"1","content":"a"}]`,
				"messages.3.content": `[` + use + `"id":"2","name":"shell","input":{"commands":["false"]}}]`,
				"messages.4.content": `[` + result + `"tool_use_id":"2","content":"b\nc\n(Exit code 1.)\n"}]`,
				"messages.5.content": `[` + use + `"id":"3","name":"apply_patch","input":{"type":"delete_file","path":"p"}}]`,
				"messages.6.content": `[` + result + `"tool_use_id":"3","content":"no such file","is_error":true}]`,
				"messages.7.content": `[` + use + `"id":"4","name":"tool_search","input":{"query":"time"}}]`,
				"messages.8.content": `[` + result + `"tool_use_id":"4","content":"These tools can be called from now on: clock__wait"}]`,
				"tools.4.name":       `"clock__wait"`,
			}, ""},
			wanted{flash3, map[string]string{
				"contents.1.parts.0.functionCall":     `{"id":"1","name":"local_shell","args":{"command":["ls"],"env":{}}}`,
				"contents.4.parts.0.functionResponse": `{"id":"2","name":"shell","response":{"output":"b\nc\n(Exit code 1.)\n"}}`,
				"contents.6.parts.0.functionResponse": `{"id":"3","name":"apply_patch","response":{"error":"no such file"}}`,
				"contents.8.parts.0.functionResponse": `{"id":"4","name":"tool_search","response":{"output":"These tools can be called ` +
					`from now on: clock__wait"}}`,
				"tools.0.functionDeclarations.4.name": `"clock__wait"`,
			}, ""},
		},
		{
			"a failure that says nothing", `"input":[{"role":"user","content":"hi"},` +
				`{"type":"apply_patch_call","call_id":"1","operation":{"type":"delete_file","path":"p"}},` +
				`{"type":"apply_patch_call_output","call_id":"1","status":"failed"}],"tools":[{"type":"apply_patch"}]`,
			wanted{opus, map[string]string{
				"messages.2.content": `[` + result + `"tool_use_id":"1","content":"The tool has failed.","is_error":true}]`,
			}, ""},
			wanted{flash3, map[string]string{
				"contents.2.parts.0.functionResponse": `{"id":"1","name":"apply_patch","response":{"error":""}}`,
			}, ""},
		},
		{
			"a call whose thoughts do not come back", withoutThoughts,
			wanted{opus, map[string]string{
				"thinking": `{"type":"adaptive","display":"omitted"}`, "messages.1.content": `[` + use + `"id":"1","name":"look","input":{}}]`,
			}, ""},
			wanted{flash3, map[string]string{
				"contents.1.parts": `[{"functionCall":{"id":"1","name":"look","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]`,
			}, ""},
		},
		{ // Anthropic takes no thinking budget there
			"a call whose thoughts do not come back, with a budget", withoutThoughts,
			wanted{haiku, map[string]string{"thinking": "", "messages.1.content": `[` + use + `"id":"1","name":"look","input":{}}]`}, "reasoning.effort"},
			wanted{flash, map[string]string{"contents.1.parts": `[{"functionCall":{"name":"look","args":{}}}]`}, ""},
		},
		{
			"a result that names its tool instead of its call", `"input":[{"role":"user","content":"hi"},` +
				`{"type":"function_call","call_id":"1","name":"look","arguments":"{}"},` +
				`{"type":"function_call_output","call_id":null,"name":"look","output":"seen"}],"tools":[{"type":"function","name":"look","strict":false}]`,
			wanted{opus, map[string]string{"messages.2.content": `[` + result + `"tool_use_id":"1","content":"seen"}]`}, ""},
			wanted{flash3, map[string]string{
				"contents.2.parts.0.functionResponse": `{"id":"1","name":"look","response":{"output":"seen"}}`,
			}, ""},
		},
		{
			"an image that a model made", `"input":[{"role":"user","content":"a"},{"type":"image_generation_call","id":"ig_1",` +
				`"result":"iVBORw0KGgo=","status":"completed"},{"role":"assistant","content":"b"},{"role":"user","content":"hi"}]`,
			wanted{opus, map[string]string{"messages.1.content": `[{"type":"text","text":"b"}]`}, "input[].result"},
			wanted{flash3, map[string]string{
				"contents.1.parts.0.inlineData": `{"mimeType":"image/png","data":"iVBORw0KGgo="}`, "contents.1.parts.1.text": `"b"`,
			}, ""},
		},
		{
			"a refusal, and a phase", `"input":[{"role":"user","content":"a"},{"role":"assistant","phase":"final_answer","content":[` +
				`{"type":"output_text","text":"b"},{"type":"refusal","refusal":"c"}]},{"role":"user","content":"hi"}]`,
			wanted{opus, map[string]string{"messages.1.content": `[{"type":"text","text":"b"},{"type":"text","text":"c"}]`}, ""},
			wanted{flash3, map[string]string{"contents.1.parts": `[{"text":"b"},{"text":"c"}]`}, ""},
		},
		{
			"tools that ran at OpenAI", hosted,
			wanted{opus, map[string]string{"messages.1.content": `[{"type":"text","text":"b"}]`, "messages.3": ""}, hostedPaths},
			wanted{flash3, map[string]string{"contents.1.parts": `[{"text":"b"}]`, "contents.3": ""}, hostedPaths},
		},
		{
			"a tier of the service", hi + `,"service_tier":"flex"`,
			wanted{opus, map[string]string{"service_tier": ""}, "service_tier"},
			wanted{flash3, map[string]string{"serviceTier": `"flex"`}, ""},
		},
		{
			"an older name of a setting", hi + `,"reasoning":{"effort":"low","generate_summary":"concise"},"prompt_cache_key":"k",` +
				`"prompt_cache_options":{"ttl":"12h"}`,
			wanted{opus, map[string]string{"thinking.display": `"summarized"`, "cache_control": `{"type":"ephemeral","ttl":"1h"}`}, ""},
			wanted{flash3, map[string]string{"generationConfig.thinkingConfig": `{"includeThoughts":true,"thinkingLevel":"LOW"}`}, ""},
		},
	}
}

// TestEachItemReachesTheOtherProviders has a case for each kind of item that comes back in a
// conversation and that no case of the fields has.
func TestEachItemReachesTheOtherProviders(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for _, tt := range historyRows() {
		t.Run(tt.name, func(t *testing.T) {
			sentWanted(t, p, r, tt.members, tt.claude)
			sentWanted(t, p, r, tt.members, tt.gemini)
		})
	}
}
