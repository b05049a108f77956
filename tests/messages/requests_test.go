package messages

import (
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// hi are the members of the smallest request.
const hi = `"max_tokens":100,"messages":[{"role":"user","content":"hi"}]`

// wanted is what an upstream is sent of a request: JSON by its place in the body.
type wanted struct {
	model   string
	body    map[string]string
	ignored string // X-Gateway-Ignored-Params
}

// row is a request and what each provider is sent of it.
type row struct {
	name           string
	members        string // of the request, beside its model
	openai, gemini wanted
}

// sentWanted sends the request of a row, whole and streamed, and checks what the
// upstream was sent.
func sentWanted(t *testing.T, p *gatewaytest.Program, r *recorder, members string, want wanted) {
	t.Helper()
	for _, streamed := range []bool{false, true} {
		x := call(t, p, `{"model":"`+want.model+`",`+members+`}`, streamed)
		sent := r.take()
		if x.err != nil || len(sent) != 1 {
			t.Errorf("streamed %v: %v, %d calls of the upstream", streamed, x.err, len(sent))
			continue
		}
		for path, value := range want.body {
			if got := at(t, sent[0].body, path); !same(t, got, value) {
				t.Errorf("streamed %v: %s is %s, want %s in %.2000s", streamed, path, got, value, sent[0].body)
			}
		}
		if got := x.header.Get("X-Gateway-Ignored-Params"); got != want.ignored {
			t.Errorf("streamed %v: ignored %q, want %q", streamed, got, want.ignored)
		}
	}
}

const (
	gpt4   = "gpt-4.1"
	gpt5   = "gpt-5.1" // reasons when it is asked to; by the Responses API
	older  = "gpt-5.2" // the same by chat completions: see startRecorded
	flash2 = "gemini-2.5-flash"
	flash3 = "gemini-3.5-flash"
)

// hashed is the end user of a case.
const hashed = `"f352f3001468c4e837240ca5714239468d614ec48ca47016bd69f2c64ad5fd8d"`

const tool = `{"name":"look","description":"d","input_schema":{"type":"object","properties":{"z":{"type":"string"},` +
	`"a":{"type":"integer","exclusiveMinimum":0}},"$schema":"https://json-schema.org/draft/2020-12/schema"}}`

const parameters = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","exclusiveMinimum":0}},` +
	`"$schema":"https://json-schema.org/draft/2020-12/schema"}`

func requestRows() []row {
	long := strings.Repeat("n", 128)
	const gpt, gem = gpt4, flash3
	return []row{
		{
			"smallest", hi,
			wanted{gpt, map[string]string{"model": `"gpt-4.1"`, "messages": `[{"role":"user","content":"hi"}]`, "max_tokens": `100`}, ""},
			wanted{gem, map[string]string{"contents": `[{"role":"user","parts":[{"text":"hi"}]}]`,
				"generationConfig": `{"maxOutputTokens":100}`}, ""},
		},
		{
			"max_tokens beyond the model's", `"max_tokens":1000000,"messages":[{"role":"user","content":"hi"}]`,
			wanted{gpt, map[string]string{"max_tokens": `32768`}, "max_tokens"},
			wanted{gem, map[string]string{"generationConfig.maxOutputTokens": `65536`}, "max_tokens"},
		},
		{
			"limit of a reasoning model", hi,
			wanted{older, map[string]string{"max_tokens": "", "max_completion_tokens": `100`}, ""},
			wanted{flash2, map[string]string{"generationConfig.maxOutputTokens": `100`}, ""},
		},
		{
			"system as a text", hi + `,"system":"be brief"`,
			wanted{gpt, map[string]string{"messages.0": `{"role":"system","content":"be brief"}`}, ""},
			wanted{gem, map[string]string{"systemInstruction": `{"parts":[{"text":"be brief"}]}`}, ""},
		},
		{
			"system as blocks with marks", hi + `,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},` +
				`{"type":"text","text":"b","cache_control":{"type":"ephemeral","ttl":"1h"}}]`,
			wanted{gpt, map[string]string{"messages.0.content.0.text": `"a"`, "messages.0.content.1.text": `"b"`}, ""},
			wanted{gem, map[string]string{"systemInstruction": `{"parts":[{"text":"a"},{"text":"b"}]}`}, ""},
		},
		{
			"sampling", hi + `,"temperature":0.5,"top_p":0.25,"top_k":40`,
			wanted{gpt, map[string]string{"temperature": `0.5`, "top_p": `0.25`, "top_k": ""}, "top_k"},
			wanted{gem, map[string]string{"generationConfig": `{"maxOutputTokens":100,"temperature":0.5,"topP":0.25,"topK":40}`}, ""},
		},
		{
			"stop sequences", hi + `,"stop_sequences":["1","2","3","4"]`,
			wanted{gpt, map[string]string{"stop": `["1","2","3","4"]`}, ""},
			wanted{gem, map[string]string{"generationConfig.stopSequences": `["1","2","3","4"]`}, ""},
		},
		{
			"too many stop sequences", hi + `,"stop_sequences":["1","2","3","4","5","6"]`,
			wanted{gpt, map[string]string{"stop": `["1","2","3","4"]`}, "stop_sequences"},
			wanted{gem, map[string]string{"generationConfig.stopSequences": `["1","2","3","4","5"]`}, "stop_sequences"},
		},
		{
			"tools", hi + `,"tools":[` + tool + `,{"type":"custom","name":"none","input_schema":{"type":"object"},"defer_loading":true,` +
				`"eager_input_streaming":true,"cache_control":{"type":"ephemeral"}}]`,
			wanted{gpt, map[string]string{
				"tools.0": `{"type":"function","function":{"name":"look","description":"d","parameters":` + parameters + `}}`,
				"tools.1": `{"type":"function","function":{"name":"none","parameters":{"type":"object"}}}`, "tool_choice": "",
			}, ""},
			wanted{gem, map[string]string{
				"tools.0.functionDeclarations.0.parametersJsonSchema": strings.Replace(parameters,
					`,"$schema":"https://json-schema.org/draft/2020-12/schema"`, "", 1),
				"tools.0.functionDeclarations.1": `{"name":"none"}`,
			}, ""},
		},
		{
			"a long name of a tool", hi + `,"tools":[{"name":"` + long + `","input_schema":{"type":"object"}}],` +
				`"tool_choice":{"type":"auto"}`,
			wanted{gpt, map[string]string{"tool_choice": `"auto"`}, ""},
			wanted{gem, map[string]string{"tools.0.functionDeclarations.0.name": `"` + long + `"`,
				"toolConfig.functionCallingConfig.mode": `"AUTO"`}, ""},
		},
		{
			"any tool", hi + `,"tools":[` + tool + `],"tool_choice":{"type":"any"}`,
			wanted{gpt, map[string]string{"tool_choice": `"required"`, "parallel_tool_calls": ""}, ""},
			wanted{gem, map[string]string{"toolConfig.functionCallingConfig": `{"mode":"ANY"}`}, ""},
		},
		{
			"one tool, once", hi + `,"tools":[` + tool + `],"tool_choice":{"type":"tool","name":"look","disable_parallel_tool_use":true}`,
			wanted{gpt, map[string]string{"tool_choice": `{"type":"function","function":{"name":"look"}}`,
				"parallel_tool_calls": "false"}, ""},
			wanted{gem, map[string]string{"toolConfig.functionCallingConfig": `{"mode":"ANY","allowedFunctionNames":["look"]}`}, ""},
		},
		{
			"no tool", hi + `,"tools":[` + tool + `],"tool_choice":{"type":"none"}`,
			wanted{gpt, map[string]string{"tool_choice": `"none"`}, ""},
			wanted{gem, map[string]string{"toolConfig.functionCallingConfig": `{"mode":"NONE"}`}, ""},
		},
		{
			"thinking by budget", `"max_tokens":20000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"enabled",` +
				`"budget_tokens":8000}`,
			wanted{older, map[string]string{"reasoning_effort": `"medium"`}, ""},
			wanted{flash2, map[string]string{"generationConfig.thinkingConfig": `{"includeThoughts":true,"thinkingBudget":8000}`}, ""},
		},
		{
			"thinking by budget of a model with levels", `"max_tokens":20000,"messages":[{"role":"user","content":"hi"}],` +
				`"thinking":{"type":"enabled","budget_tokens":16000}`,
			wanted{older, map[string]string{"reasoning_effort": `"high"`}, ""},
			wanted{flash3, map[string]string{"generationConfig.thinkingConfig": `{"includeThoughts":true,"thinkingLevel":"HIGH"}`}, ""},
		},
		{
			"adaptive thinking with an effort", hi + `,"thinking":{"type":"adaptive","display":"summarized"},` +
				`"output_config":{"effort":"medium"}`,
			wanted{older, map[string]string{"reasoning_effort": `"medium"`}, ""},
			wanted{flash3, map[string]string{"generationConfig.thinkingConfig": `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`}, ""},
		},
		{
			"adaptive thinking that is not shown", hi + `,"thinking":{"type":"adaptive","display":"omitted"},` +
				`"output_config":{"effort":"low"}`,
			wanted{older, map[string]string{"reasoning_effort": `"low"`}, ""},
			wanted{flash3, map[string]string{"generationConfig.thinkingConfig": `{"thinkingLevel":"LOW"}`}, ""},
		},
		{
			"adaptive thinking alone", hi + `,"thinking":{"type":"adaptive"}`,
			wanted{older, map[string]string{"reasoning_effort": ""}, ""},
			wanted{flash2, map[string]string{"generationConfig.thinkingConfig.thinkingBudget": `-1`}, ""},
		},
		{
			"thinking disabled", hi + `,"thinking":{"type":"disabled"}`,
			wanted{older, map[string]string{"reasoning_effort": `"none"`}, ""},
			wanted{flash2, map[string]string{"generationConfig.thinkingConfig": `{"thinkingBudget":0}`}, ""},
		},
		{
			"effort without thinking", hi + `,"output_config":{"effort":"high"}`,
			wanted{older, map[string]string{"reasoning_effort": `"high"`}, ""},
			wanted{flash3, map[string]string{"generationConfig.thinkingConfig": `{"thinkingLevel":"HIGH"}`}, ""},
		},
		{
			"format", hi + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object",` +
				`"properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}}}`,
			wanted{gpt, map[string]string{
				"response_format": `{"type":"json_schema","json_schema":{"name":"output","strict":true,"schema":{"type":"object",` +
					`"properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}}}`,
			}, ""},
			wanted{gem, map[string]string{
				"generationConfig.responseMimeType": `"application/json"`,
				"generationConfig.responseJsonSchema": `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"],` +
					`"additionalProperties":false}`,
			}, ""},
		},
		{
			"format of the beta", hi + `,"output_format":{"type":"json_schema","schema":{"type":"object",` +
				`"properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}}`,
			wanted{gpt, map[string]string{"response_format.json_schema.name": `"output"`}, ""},
			wanted{gem, map[string]string{"generationConfig.responseMimeType": `"application/json"`}, ""},
		},
		{
			"the end user", hi + `,"metadata":{"user_id":"{\"session_id\":\"s\"}"}`,
			wanted{gpt, map[string]string{
				"safety_identifier": hashed, "prompt_cache_key": hashed, "metadata": "", "user": "",
			}, ""},
			wanted{gem, nil, "metadata.user_id"},
		},
	}
}

// TestEachFieldReachesTheOtherProviders has a case for each field that other providers
// have in some form.
func TestEachFieldReachesTheOtherProviders(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for _, tt := range requestRows() {
		t.Run(tt.name, func(t *testing.T) {
			sentWanted(t, p, r, tt.members, tt.openai)
			sentWanted(t, p, r, tt.members, tt.gemini)
		})
	}
}

// TestFieldsThatOnlyAnthropicHasAreNamed sends fields that other providers do not have.
func TestFieldsThatOnlyAnthropicHasAreNamed(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for members, name := range map[string]string{
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`: "context_management",
		`"speed":"fast"`:          "speed",
		`"future_member":{"a":1}`: "future_member",
		`"diagnostics":{"a":1}`:   "diagnostics",
		`"output_config":{"task_budget":{"type":"tokens","total":5000}}`: "output_config.task_budget",
		`"service_tier":"standard_only"`:                                 "service_tier",
	} {
		for _, model := range []string{gpt4, flash3} {
			x := call(t, p, `{"model":"`+model+`",`+hi+`,`+members+`}`, false)
			if got := x.header.Get("X-Gateway-Ignored-Params"); x.err != nil || got != name {
				t.Errorf("%s, %s: ignored %q, %v", model, members, got, x.err)
			}
			r.take()
		}
	}
}

// TestFieldsThatChangeWhereARequestRunsAreRefused sends fields that no other provider
// can honour, and that must not be lost.
func TestFieldsThatChangeWhereARequestRunsAreRefused(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for members, field := range map[string]string{
		hi + `,"inference_geo":"us"`:      "inference_geo",
		hi + `,"container":"container_1"`: "container",
		hi + `,"mcp_servers":[{"type":"url","url":"https://example.com","name":"m"}]`:                               "mcp_servers",
		`"max_tokens":0,"messages":[{"role":"user","content":"hi"}]`:                                                "max_tokens",
		hi + `,"tools":[{"type":"computer_20250124","name":"computer","display_width_px":1,"display_height_px":1}]`: "tools",
	} {
		for _, model := range []string{gpt4, flash3} {
			x := call(t, p, `{"model":"`+model+`",`+members+`}`, false)
			refused(t, x.err, 400, "invalid_request_error", field)
			if sent := r.take(); len(sent) > 0 {
				t.Errorf("%s, %s: the upstream was asked", model, field)
			}
		}
	}
}
