package openai_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/strict/openai"
)

func TestWrongRequestsToTheResponsesAPIAreRefused(t *testing.T) {
	const model, hi, call = `{"model":"gpt-5.5",`, `"input":"hi"`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
	output := strings.NewReplacer("function_call", "function_call_output", `"name":"f","arguments":"{}"`, `"output":"x"`).Replace(call)
	input := func(items ...string) string { return `"input":[` + strings.Join(items, ",") + `]` }
	for members, want := range map[string]string{
		hi:                  "",
		input(call, output): "",
		input(`{"role":"user","content":[{"type":"input_text","text":"q","prompt_cache_breakpoint":{"mode":"explicit"}}]}`):      "",
		input(`{"type":"web_search_call","id":"ws_1"}`) + `,"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`: "",
		`"inputs":"hi"`:               "Unknown parameter: 'inputs'.",
		hi + `,"n":2`:                 "Unknown parameter: 'n'.",
		hi + `,"stop":"x"`:            "Unknown parameter: 'stop'.",
		hi + `,"max_output_tokens":5`: "integer_below_min_value",
		hi + `,"temperature":0.5`:     "Unsupported parameter: 'temperature' is not supported with this model.",
		hi + `,"tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object"}}]`: "'additionalProperties' is required",
		hi + `,"tools":[{"type":"function","function":{"name":"f"}}]`:                                 "Unknown parameter: 'tools[0].function'.",
		hi + `,"tool_choice":{"type":"function","name":"f"}`:                                          "Tool choice 'f' not found",
		input(call):   "No tool output found for function call c.",
		input(output): "No tool call found for function call output with call_id c.",
		input(strings.Replace(call, `"c"`, `"`+strings.Repeat("c", 65)+`"`, 1)):                                               "string too long",
		input(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`, call, output):                       "invalid_encrypted_content",
		input(`{"type":"reasoning","id":"rs_1","summary":[]}`, `{"role":"user","content":"q"}`):                               "without its required following item",
		input(`{"type":"reasoning","id":"rs_1","summary":[]}`, `{"type":"reasoning","id":"rs_1","summary":[]}`, call, output): "Duplicate item",
		input(`{"role":"user","content":[{"type":"text","text":"q"}]}`):                                                       "input[0].content[0].type",
		input(`{"role":"tool","content":"q"}`):                                                                                "input[0].role",
	} {
		refusal := ""
		if f := openai.CheckResponses(jsontext.Value(model + members + `}`)); f != nil {
			refusal = string(rawjson.Encode(f.Body))
		}
		if want == "" && refusal != "" || !strings.Contains(refusal, want) {
			t.Errorf("%s: refused with %q, want %q", members, refusal, want)
		}
	}
	f := openai.CheckResponses(jsontext.Value(`{"model":"gpt-4.1",` + hi + `,"include":["reasoning.encrypted_content"]}`))
	if f == nil || !strings.Contains(string(rawjson.Encode(f.Body)), "Encrypted content is not supported") {
		t.Errorf("%+v", f)
	}
}
