package responses

import (
	"strconv"
	"testing"

	"modelgateway/llm"
	"modelgateway/llm/carried"
	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/tests/gatewaytest"
)

const (
	opus   = "claude-opus-4-8"
	flash3 = "gemini-3.5-flash"
)

// hi is the smallest input.
const hi = `"input":"hi"`

// wanted is what an upstream is sent of a request: JSON by its place in the body.
type wanted struct {
	model   string
	body    map[string]string
	ignored string // X-Gateway-Ignored-Params
}

// row is a request and what each provider is sent of it.
type row struct {
	name, members  string // of the request, beside its model
	claude, gemini wanted
}

// sentWanted sends a request, whole and streamed, and checks what the upstream was sent.
func sentWanted(t *testing.T, p *gatewaytest.Program, r *recorder, members string, want wanted) {
	t.Helper()
	for _, streamed := range []bool{false, true} {
		x := made(t, p, `{"model":"`+want.model+`",`+members+`}`, streamed)
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

const strictTool = `{"type":"function","name":"look","description":"d","parameters":` + lookSchema + `,"strict":true}`

const lookSchema = `{"type":"object","properties":{"z":{"type":"string"}},"required":["z"],"additionalProperties":false}`

const inputSchema = `{"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool, as it is."}},` +
	`"required":["input"],"additionalProperties":false}`

const calls = `"input":[{"role":"user","content":"hi"},{"type":"reasoning","summary":[],"encrypted_content":"gAAAA"},` +
	`{"type":"function_call","call_id":"1","namespace":"ns","name":"f","arguments":"{\"a\":1}"},` +
	`{"type":"custom_tool_call","call_id":"2","name":"patch","input":"*** \"ä\"\n"},` +
	`{"type":"custom_tool_call_output","call_id":"2","output":[{"type":"input_text","text":"seen"},{"type":"input_image",` +
	`"image_url":"data:image/png;base64,iVBORw0KGgo="}]},{"type":"function_call_output","call_id":"1","output":"x"}],` +
	`"tools":[{"type":"namespace","name":"ns","tools":[{"type":"function","name":"f","strict":false}]},{"type":"custom","name":"patch"}]`

const picture = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`

func requestRows() []row { return append(settingRows(), promptRows()...) }

// settingRows are those of what a client sets.
func settingRows() []row {
	const thinking = "generationConfig.thinkingConfig"
	return []row{
		{
			"smallest", hi,
			wanted{opus, map[string]string{"messages": `[{"role":"user","content":[{"type":"text","text":"hi"}]}]`, "max_tokens": `8192`,
				"thinking": "", "cache_control": "", "metadata": ""}, ""},
			wanted{flash3, map[string]string{"": `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`}, ""},
		},
		{
			"the limit of the answer", hi + `,"max_output_tokens":16`,
			wanted{opus, map[string]string{"max_tokens": `16`}, ""},
			wanted{flash3, map[string]string{"generationConfig": `{"maxOutputTokens":16}`}, ""},
		},
		{
			"a limit beyond the model's", hi + `,"max_output_tokens":1000000`,
			wanted{opus, map[string]string{"max_tokens": `128000`}, "max_output_tokens"},
			wanted{flash3, map[string]string{"generationConfig": `{"maxOutputTokens":65536}`}, "max_output_tokens"},
		},
		{
			"sampling", hi + `,"temperature":0.5,"top_p":0.9`,
			wanted{haiku, map[string]string{"temperature": `0.5`, "top_p": ""}, "top_p"},
			wanted{flash3, map[string]string{"generationConfig": `{"temperature":0.5,"topP":0.9}`}, ""},
		},
		{
			"probabilities", hi + `,"top_logprobs":3,"include":["message.output_text.logprobs","reasoning.encrypted_content"]`,
			wanted{opus, nil, "top_logprobs, include"},
			wanted{flash, map[string]string{"generationConfig": `{"responseLogprobs":true,"logprobs":3}`}, ""},
		},
		{
			"an effort", hi + `,"reasoning":{"effort":"medium"}`,
			wanted{opus, map[string]string{"thinking": `{"type":"adaptive","display":"omitted"}`, "output_config.effort": `"medium"`}, ""},
			wanted{flash3, map[string]string{thinking: `{"thinkingLevel":"MEDIUM"}`}, ""},
		},
		{
			"an effort and a summary", hi + `,"reasoning":{"effort":"high","summary":"detailed"}`,
			wanted{haiku, map[string]string{"thinking": `{"type":"enabled","budget_tokens":16384,"display":"summarized"}`}, ""},
			wanted{flash3, map[string]string{thinking: `{"includeThoughts":true,"thinkingLevel":"HIGH"}`}, ""},
		},
		{
			"a summary alone", hi + `,"reasoning":{"summary":"auto"}`,
			wanted{opus, map[string]string{"thinking": `{"type":"adaptive","display":"summarized"}`, "output_config": ""}, ""},
			wanted{flash, map[string]string{thinking: `{"includeThoughts":true,"thinkingBudget":-1}`}, ""},
		},
		{
			"no reasoning", hi + `,"reasoning":{"effort":"none"}`,
			wanted{opus, map[string]string{"thinking": `{"type":"disabled"}`}, ""},
			wanted{flash, map[string]string{thinking: `{"thinkingBudget":0}`}, ""},
		},
		{
			"other settings of reasoning", hi + `,"reasoning":{"effort":"low","mode":"pro","context":"all_turns"},"text":{"verbosity":"low"}`,
			wanted{opus, map[string]string{"output_config.effort": `"low"`}, "reasoning.context, reasoning.mode, text.verbosity"},
			wanted{flash3, map[string]string{thinking: `{"thinkingLevel":"LOW"}`}, "reasoning.context, reasoning.mode, text.verbosity"},
		},
		{
			"settings that change", `"input":[{"role":"user","content":"hi"},{"type":"configuration_update","reasoning":{"effort":"high"}}],` +
				`"reasoning":{"effort":"low"}`,
			wanted{opus, map[string]string{"output_config.effort": `"high"`}, ""},
			wanted{flash3, map[string]string{thinking: `{"thinkingLevel":"HIGH"}`}, ""},
		},
		{
			"a schema", hi + `,"text":{"format":{"type":"json_schema","name":"n","schema":` + lookSchema + `}}`,
			wanted{opus, map[string]string{"output_config.format": `{"type":"json_schema","schema":` + lookSchema + `}`}, ""},
			wanted{flash3, map[string]string{"generationConfig": `{"responseMimeType":"application/json","responseJsonSchema":` + lookSchema + `}`}, ""},
		},
		{
			"any JSON", hi + `,"text":{"format":{"type":"json_object"}}`,
			wanted{opus, map[string]string{"output_config": ""}, "text.format"},
			wanted{flash3, map[string]string{"generationConfig": `{"responseMimeType":"application/json"}`}, ""},
		},
		{
			"the end user", hi + `,"safety_identifier":"s-1"`,
			wanted{opus, map[string]string{"metadata": `{"user_id":"s-1"}`}, ""},
			wanted{flash3, nil, "safety_identifier"},
		},
		{
			"an address as the end user", hi + `,"user":"a@b.example"`,
			wanted{opus, map[string]string{"metadata.user_id": `"` + hashedAddress + `"`}, ""},
			wanted{flash3, nil, "user"},
		},
		{
			"a key of the cache", hi + `,"prompt_cache_key":"k"`,
			wanted{opus, map[string]string{"cache_control": `{"type":"ephemeral"}`, "prompt_cache_key": ""}, ""},
			wanted{flash3, map[string]string{"": `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`}, ""},
		},
		{
			"a cache that lasts", hi + `,"prompt_cache_key":"k","prompt_cache_retention":"24h"`,
			wanted{opus, map[string]string{"cache_control": `{"type":"ephemeral","ttl":"1h"}`}, ""},
			wanted{flash3, nil, ""},
		},
		{
			"what is repeated or concerns storage", hi + `,"metadata":{"a":"b"},"store":true,"stream_options":{"include_obfuscation":false},` +
				`"client_metadata":{"x-codex-installation-id":"i"},"include":["reasoning.encrypted_content"],"background":false`,
			wanted{opus, map[string]string{"metadata": ""}, ""}, wanted{flash3, nil, ""},
		},
		{
			"what only OpenAI has", hi + `,"truncation":"auto","max_tool_calls":3,"context_management":[{"type":"compaction"}],"novel":{"a":1},` +
				`"moderation":{"model":"omni-moderation-latest"}`,
			wanted{opus, nil, "truncation, max_tool_calls, context_management, novel, moderation"},
			wanted{flash3, nil, "truncation, max_tool_calls, context_management, novel, moderation"},
		},
	}
}

const hashedAddress = "ebb18a030bf15174f5714e24d63af1a81355c951ea7389bd2a9bd18e3d0c2477"

// promptRows are those of the input and the tools.
func promptRows() []row {
	const declared = "tools.0.functionDeclarations"
	return []row{
		{
			"instructions", `"instructions":"i","input":[{"role":"developer","content":"d"},{"role":"user","content":"hi"},` +
				`{"role":"system","content":"s"}]`,
			wanted{opus, map[string]string{"system": `"i\nd"`, "messages.0.content.1.text": `"<system>\ns\n</system>"`}, ""},
			wanted{flash3, map[string]string{"systemInstruction": `{"parts":[{"text":"i"},{"text":"d"}]}`,
				"contents.0.parts.1.text": `"<system>\ns\n</system>"`}, ""},
		},
		{
			"parts", `"input":[{"role":"user","content":[{"type":"input_text","text":"x","prompt_cache_breakpoint":{"mode":"explicit"}},` +
				`{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"},{"type":"input_file",` +
				`"file_data":"data:application/pdf;base64,JVBERi0=","filename":"a.pdf"}]}],"prompt_cache_key":"k"`,
			wanted{opus, map[string]string{"cache_control": "", "messages.0.content": `[{"type":"text","text":"x","cache_control":` +
				`{"type":"ephemeral"}},` + picture + `,{"type":"document","source":{"type":"base64","media_type":"application/pdf",` +
				`"data":"JVBERi0="},"title":"a.pdf"}]`}, "input[].content[].detail"},
			wanted{flash3, map[string]string{"contents.0.parts": `[{"text":"x"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},` +
				`{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}}]`}, "input[].content[].detail, input[].content[].filename"},
		},
		{
			"a file by its address", `"input":[{"role":"user","content":[{"type":"input_file","file_url":"https://a.example/a.pdf"}]}]`,
			wanted{opus, map[string]string{"messages.0.content": `[{"type":"document","source":{"type":"url","url":"https://a.example/a.pdf"}}]`}, ""},
			wanted{flash3, map[string]string{"contents.0.parts": `[{"fileData":{"mimeType":"application/pdf","fileUri":"https://a.example/a.pdf"}}]`}, ""},
		},
		{
			"calls of a namespace and of a custom tool", calls,
			wanted{opus, map[string]string{
				"messages.1.content": `[{"type":"tool_use","id":"1","name":"ns__f","input":{"a":1}},{"type":"tool_use","id":"2","name":"patch",` +
					`"input":{"input":"*** \"ä\"\n"}}]`,
				"messages.2.content": `[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"tool_result","tool_use_id":"2",` +
					`"content":[{"type":"text","text":"seen"},` + picture + `]}]`,
				"tools": `[{"name":"ns__f","input_schema":{"type":"object","properties":{}}},{"name":"patch","input_schema":` + inputSchema + `}]`,
			}, ""},
			wanted{flash3, map[string]string{
				"contents.1.parts.0": `{"functionCall":{"id":"1","name":"ns__f","args":{"a":1}},"thoughtSignature":"skip_thought_signature_validator"}`,
				"contents.1.parts.1": `{"functionCall":{"id":"2","name":"patch","args":{"input":"*** \"ä\"\n"}}}`,
				"contents.2.parts.0": `{"functionResponse":{"id":"1","name":"ns__f","response":{"output":"x"}}}`,
				"contents.2.parts.1": `{"functionResponse":{"id":"2","name":"patch","response":{"output":"seen"},"parts":[{"inlineData":` +
					`{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}}`,
				declared + ".1.parametersJsonSchema": inputSchema,
			}, ""},
		},
		{
			"tools that run at OpenAI beside others", hi + `,"tools":[` + strictTool + `,{"type":"web_search"},{"type":"mcp","server_label":"s"}]`,
			wanted{opus, map[string]string{"tools": `[{"name":"look","description":"d","input_schema":` + lookSchema + `,"strict":true}]`}, "tools[].type"},
			wanted{flash3, map[string]string{declared: `[{"name":"look","description":"d","parametersJsonSchema":` + lookSchema + `}]`},
				"tools[].strict, tools[].type"},
		},
		{
			"a choice, and one call", hi + `,"tools":[` + strictTool + `,{"type":"custom","name":"c"}],"tool_choice":{"type":"custom","name":"c"},` +
				`"parallel_tool_calls":false`,
			wanted{opus, map[string]string{"tool_choice": `{"type":"tool","name":"c","disable_parallel_tool_use":true}`}, ""},
			wanted{flash3, map[string]string{"toolConfig.functionCallingConfig": `{"mode":"ANY","allowedFunctionNames":["c"]}`}, ""},
		},
		{
			"tools that may be called", hi + `,"tools":[` + strictTool + `,{"type":"shell"}],"tool_choice":{"type":"allowed_tools","mode":"required",` +
				`"tools":[{"type":"shell"}]}`,
			wanted{opus, map[string]string{"tools.0.name": `"shell"`, "tools.1": "", "tool_choice": `{"type":"any"}`}, ""},
			wanted{flash3, map[string]string{"toolConfig.functionCallingConfig": `{"mode":"ANY","allowedFunctionNames":["shell"]}`}, ""},
		},
		{
			"tools that join with the input", `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"fs",` +
				`"tools":[{"type":"custom","name":"exec"}]}]},{"role":"user","content":"hi"}]`,
			wanted{opus, map[string]string{"tools.0.name": `"fs__exec"`}, ""},
			wanted{flash3, map[string]string{declared + ".0.name": `"fs__exec"`}, ""},
		},
		{
			"items that only OpenAI knows", `"input":[{"role":"user","content":"a"},{"type":"web_search_call","id":"ws_1"},{"type":"new"},` +
				`{"role":"assistant","content":"b"},{"role":"user","content":"hi"}]`,
			wanted{opus, map[string]string{"messages.1.content": `[{"type":"text","text":"b"}]`}, "input[1].type, input[2].type"},
			wanted{flash3, map[string]string{"contents.1.parts": `[{"text":"b"}]`}, "input[1].type, input[2].type"},
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
			sentWanted(t, p, r, tt.members, tt.claude)
			sentWanted(t, p, r, tt.members, tt.gemini)
		})
	}
}

// TestWhatNoOtherModelCanDoIsRefused sends what would mean something else if it were left
// out. With strict parameters nothing is left out.
func TestWhatNoOtherModelCanDoIsRefused(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for members, want := range map[string]string{
		hi + `,"conversation":"conv_1"`:         "unsupported_value conversation",
		hi + `,"prompt":{"id":"pmpt_1"}`:        "unsupported_value prompt",
		hi + `,"background":true`:               "unsupported_value background",
		hi + `,"previous_response_id":"resp_1"`: "previous_response_not_found previous_response_id",
		hi + `,"max_output_tokens":1`:           "invalid_value max_output_tokens",
		hi + `,"tools":[{"type":"web_search"}]`: "unsupported_value tools[0].type",
		hi + `,"tools":[` + strictTool + `,{"type":"web_search"}],"tool_choice":{"type":"web_search"}`:               "unsupported_value tool_choice",
		`"input":[{"type":"item_reference","id":"msg_1"}]`:                                                           "unsupported_value input[0].id",
		`"input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]`:                             "unsupported_value input[0].content[0].file_id",
		`"input":[{"role":"user","content":"a"},{"type":"new"}]`:                                                     "unsupported_value input[1].type",
		`"input":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"role":"user","content":"a"}]`: "invalid_value input",
		`"input":[{"type":"function_call_output","call_id":"1","output":"a"}]`:                                       "invalid_value input[0].call_id",
	} {
		for _, model := range []string{opus, flash3} {
			a := p.Call(t, "POST", path, `{"model":"`+model+`",`+members+`}`)
			e := a.APIError(t)
			if e.Param == nil {
				e.Param = new(string)
			}
			if a.Status != 400 || e.Code+" "+*e.Param != want || e.Type != "invalid_request_error" || len(r.take()) > 0 {
				t.Errorf("%s: %d %s, want %s", members, a.Status, a.Body, want)
			}
		}
	}
	for members, want := range map[string]string{
		hi + `,"truncation":"auto"`: "truncation", `"input":[{"type":"new"},{"role":"user","content":"a"}]`: "input[0].type",
	} {
		a := p.Call(t, "POST", path, `{"model":"`+opus+`",`+members+`}`, "X-Gateway-Strict-Params", "true")
		if e := a.APIError(t); a.Status != 400 || e.Code != "unsupported_value" || e.Param == nil || *e.Param != want || len(r.take()) > 0 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
}

// TestThoughtsBetweenCallsKeepTheirPlaces brings back what Claude has thought between two
// calls of one turn: Anthropic refuses thoughts that come back in another order.
func TestThoughtsBetweenCallsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	thought := func(text string) string {
		return `{"type":"reasoning","summary":[],"encrypted_content":"` +
			carried.SealWhole(&llm.Thought{Provider: "anthropic", Text: text, Signature: simulated.Sign(text)}) + `"},`
	}
	const first, second = `{"type":"function_call","call_id":"1","name":"look","arguments":"{}"},`,
		`{"type":"function_call","call_id":"2","name":"look","arguments":"{}"},`
	x := made(t, p, `{"model":"`+opus+`","reasoning":{"effort":"low"},"tools":[`+strictTool+`],"input":[{"role":"user","content":"hi"},`+
		thought("a")+first+thought("b")+second+`{"type":"function_call_output","call_id":"1","output":"x"},`+
		`{"type":"function_call_output","call_id":"2","output":"y"}]}`, false)
	if x.err != nil {
		t.Fatal(x.err)
	}
	sent := r.take()[0].body
	for i, want := range []string{`"a"`, `"1"`, `"b"`, `"2"`} {
		member := []string{"thinking", "id"}[i%2]
		if got := at(t, sent, "messages.1.content."+strconv.Itoa(i)+"."+member); got != want {
			t.Errorf("block %d: %s, want %s in %s", i, got, want, sent)
		}
	}
}
