package simulator

import (
	"net/http"
	"strings"
	"testing"
)

func TestAnthropicChecksItsHeaders(t *testing.T) {
	server := serve(t, Options{})
	for _, c := range []struct {
		header map[string]string
		code   int
		says   string
	}{
		{nil, 401, "authentication_error"},
		{map[string]string{"X-Api-Key": "k"}, 400, "anthropic-version: header is required"},
		{map[string]string{"X-Api-Key": "k", "Authorization": "Bearer t", "Anthropic-Version": "2023-06-01"}, 401, "may not both be sent"},
		{map[string]string{"Authorization": "Bearer t", "Anthropic-Version": "2023-06-01"}, 200, "simulated"},
	} {
		a := dialect{c.header, "/v1/messages"}.send(t, server, http.MethodPost, claudeBody("", hello))
		if a.status != c.code || !strings.Contains(string(a.body), c.says) {
			t.Errorf("%v: %d %s", c.header, a.status, a.body)
		}
	}
}

func TestAnthropicRefusesWhatTheServiceRefuses(t *testing.T) {
	use := `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	result := `{"type":"tool_result","tool_use_id":"a","content":"x"}`
	user := func(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }
	tool := func(schema string) string { return `,"tools":[{"name":"f","input_schema":` + schema + `}]` }
	model := func(id, more string) string { return claudeBody(`,"model":"`+id+`"`+more, hello) }
	format := func(schema string) string {
		return `,"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`
	}
	asAnthropic.refuses(t, []refusalCase{
		{"not JSON", `[]`, 400, "not valid JSON"},
		{"unknown model", model("gpt-4", ""), 404, `"type":"not_found_error","message":"model: gpt-4"`},
		{"no max_tokens", `{"model":"claude-haiku-4-5","messages":[` + hello + `]}`, 400, "max_tokens: Field required"},
		{"max_tokens null", claudeBody(`,"max_tokens":null`, hello), 400, "max_tokens: Input should be a valid integer"},
		{"max_tokens 0", claudeBody(`,"max_tokens":0`, hello), 400, "greater than or equal to 1"},
		{"max_tokens of another model", model("claude-3-haiku-20240307", `,"max_tokens":8192`), 400, "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307"},
		{"unknown field", claudeBody(`,"n":2`, hello), 400, `"message":"n: Extra inputs are not permitted"`},
		{"unknown field in a block", claudeBody("", user(`{"type":"text","text":"x","id":"y"}`)), 400, "messages.0.content.0.text.id: Extra inputs are not permitted"},
		{"unknown metadata", claudeBody(`,"metadata":{"a":"b"}`, hello), 400, "metadata.a: Extra inputs"},
		{"too hot", claudeBody(`,"temperature":1.5`, hello), 400, "temperature: Input should be less than or equal to 1"},
		{"no messages", claudeBody("", ""), 400, "at least one message"},
		{"assistant first", claudeBody("", `{"role":"assistant","content":"x"},`+hello), 400, "first message must use"},
		{"system message", claudeBody("", hello+`,{"role":"system","content":"x"}`), 400, "top-level `system` parameter"},
		{"unknown role", claudeBody("", `{"role":"tool","content":"x"}`), 400, "messages.0.role: Input should be 'user', 'assistant' or 'system'"},
		{"empty text", claudeBody("", user(`{"type":"text","text":""}`)), 400, "text content blocks must be non-empty"},
		{"empty string", claudeBody("", `{"role":"user","content":""}`), 400, "text content blocks must be non-empty"},
		{"blank text", claudeBody("", user(`{"type":"text","text":" \n"}`)), 400, "must contain non-whitespace text"},
		{"blank system", claudeBody(`,"system":[{"type":"text","text":""}]`, hello), 400, "system: text content blocks must be non-empty"},
		{"empty content", claudeBody("", user("")), 400, "all messages must have non-empty content"},
		{"unknown block", claudeBody("", user(`{"type":"image_url","image_url":{}}`)), 400, "messages.0.content.0: Input tag 'image_url' found using 'type'"},
		{"image without source", claudeBody("", user(`{"type":"image"}`)), 400, "messages.0.content.0.image.source: Field required"},
		{"tiff", claudeBody("", user(`{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"AA=="}}`)), 400, "source.base64.media_type: Input should be 'image/jpeg'"},
		{"not base64", claudeBody("", user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"data:image/png;base64,AA=="}}`)), 400, "Invalid base64 data"},
		{"mislabelled", claudeBody("", user(`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"iVBORw0KGgo="}}`)), 400, "appears to be a image/png image"},
		{"use without result", claudeBody("", hello+","+use+","+hello), 400, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a."},
		{"use at the end", claudeBody("", hello+","+use), 400, "without `tool_result` blocks"},
		{"text before result", claudeBody("", hello+","+use+","+user(`{"type":"text","text":"x"},`+result)), 400, "without `tool_result` blocks immediately after"},
		{"result without use", claudeBody("", user(result)), 400, "messages.0.content.0: unexpected `tool_use_id` found"},
		{"result twice", claudeBody("", hello+","+use+","+user(result+","+result)), 400, "each tool_use must have a single result"},
		{"results in two turns", claudeBody("", hello+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},`+user(result)+","+user(`{"type":"tool_result","tool_use_id":"b"}`)), 400, "immediately after: b"},
		{"bad id", claudeBody("", hello+","+strings.Replace(use, `"a"`, `"a.b"`, 1)), 400, "messages.1.content.0.tool_use.id: String should match pattern"},
		{"input string", claudeBody("", hello+","+strings.Replace(use, `{}`, `"{}"`, 1)), 400, "tool_use.input: Input should be a valid dictionary"},
		{"use by the user", claudeBody("", user(`{"type":"tool_use","id":"a","name":"f","input":{}}`)), 400, "may not be in user messages"},
		{"prefill of a new model", claudeBody(`,"model":"claude-opus-4-6"`, hello+`,{"role":"assistant","content":"x"}`), 400, "does not support assistant message prefill"},
		{"prefill with space", claudeBody("", hello+`,{"role":"assistant","content":"x "}`), 400, "cannot end with trailing whitespace"},
		{"schema without type", claudeBody(tool(`{"properties":{}}`), hello), 400, "tools.0.custom.input_schema.type: Field required"},
		{"schema of a list", claudeBody(tool(`{"type":"array"}`), hello), 400, "Input should be 'object'"},
		{"no schema", claudeBody(`,"tools":[{"name":"f"}]`, hello), 400, "tools.0.custom.input_schema: Field required"},
		{"openai tool", claudeBody(`,"tools":[`+weatherTool+`]`, hello), 400, "tools.0: Input tag 'function' found"},
		{"bad tool name", claudeBody(strings.Replace(tool(`{"type":"object"}`), `"f"`, `"f.g"`, 1), hello), 400, "tools.0.custom.name: String should match"},
		{"tools of one name", claudeBody(`,"tools":[`+weatherClaude+`,`+weatherClaude+`]`, hello), 400, "must be unique"},
		{"strict but open", claudeBody(`,"tools":[{"name":"f","strict":true,"input_schema":{"type":"object"}}]`, hello), 400, "'additionalProperties' must be explicitly set to false"},
		{"strict and old", model("claude-sonnet-4-20250514", `,"tools":[{"name":"f","strict":true,"input_schema":{"type":"object","additionalProperties":false}}]`), 400, "strict: Extra inputs"},
		{"choice without tools", claudeBody(`,"tool_choice":{"type":"auto"}`, hello), 400, "while providing tools"},
		{"unknown choice", claudeBody(`,"tool_choice":{"type":"tool","name":"g"},"tools":[`+weatherClaude+`]`, hello), 400, "Tool 'g' not found"},
		{"forced fable", model("claude-fable-5", `,"tool_choice":{"type":"any"},"tools":[`+weatherClaude+`]`), 400, "forced tool choice"},
		{"none with parallel", claudeBody(`,"tool_choice":{"type":"none","disable_parallel_tool_use":true},"tools":[`+weatherClaude+`]`, hello), 400, "tool_choice.none.disable_parallel_tool_use: Extra inputs"},
		{"temperature and top_p", claudeBody(`,"temperature":1,"top_p":0.9`, hello), 400, "cannot both be specified"},
		{"temperature of a new model", model("claude-opus-5", `,"temperature":0.5`), 400, "`temperature` is not supported"},
		{"top_k of a new model", model("claude-opus-9", `,"top_k":5`), 400, "`top_k` is not supported"},
		{"thinking of an old model", model("claude-3-5-haiku-20241022", `,"thinking":{"type":"enabled","budget_tokens":1024}`), 400, "does not support thinking"},
		{"adaptive too early", claudeBody(`,"thinking":{"type":"adaptive"}`, hello), 400, "\\\"thinking.type.adaptive\\\" is not supported"},
		{"enabled too late", model("claude-opus-4-7", `,"thinking":{"type":"enabled","budget_tokens":1024}`), 400, "thinking.type.enabled"},
		{"never disabled", model("claude-fable-5", `,"thinking":{"type":"disabled"}`), 400, "thinking.type.disabled"},
		{"disabled at max", model("claude-opus-5", `,"thinking":{"type":"disabled"},"output_config":{"effort":"max"}`), 400, "effort is high or lower"},
		{"small budget", claudeBody(`,"thinking":{"type":"enabled","budget_tokens":100}`, hello), 400, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
		{"budget beyond max_tokens", claudeBody(`,"thinking":{"type":"enabled","budget_tokens":4096}`, hello), 400, "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{"thinking at a temperature", claudeBody(`,"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":1024}`, hello), 400, "may only be set to 1"},
		{"thinking with top_k", claudeBody(`,"top_k":5,"thinking":{"type":"enabled","budget_tokens":1024}`, hello), 400, "`top_k` must be unset"},
		{"thinking with top_p", claudeBody(`,"top_p":0.5,"thinking":{"type":"enabled","budget_tokens":1024}`, hello), 400, "0.95"},
		{"thinking and forced", claudeBody(`,"tool_choice":{"type":"any"},"thinking":{"type":"enabled","budget_tokens":1024},"tools":[`+weatherClaude+`]`, hello), 400, "forces tool use"},
		{"effort of an old model", claudeBody(`,"output_config":{"effort":"low"}`, hello), 400, "does not support the effort parameter"},
		{"effort too high", model("claude-opus-4-6", `,"output_config":{"effort":"xhigh"}`), 400, "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."},
		{"format of an old model", model("claude-3-7-sonnet-20250219", format(`{"type":"object","additionalProperties":false}`)), 400, "does not support output format"},
		{"open format", claudeBody(format(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"array","items":{"type":"object"}}}}`), hello), 400, "additionalProperties"},
		{"bounded format", claudeBody(format(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","minimum":1}}}`), hello), 400, "property 'minimum' is not supported"},
		{"blank stop", claudeBody(`,"stop_sequences":["\n"]`, hello), 400, "non-whitespace"},
		{"five breakpoints", claudeBody(`,"system":[`+strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5), ",")+`]`, hello), 400, "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"too long", model("claude-3-haiku-20240307", `,"system":"`+strings.Repeat("w ", 200001)+`"`), 400, "prompt is too long: 200003 tokens > 200000 maximum"},
	})
}

func TestAnthropicTakesWhatTheServiceTakes(t *testing.T) {
	for name, body := range map[string]string{
		"two user turns":        claudeBody("", hello+","+hello),
		"prefill":               claudeBody("", hello+`,{"role":"assistant","content":"x"}`),
		"empty last assistant":  claudeBody("", hello+`,{"role":"assistant","content":[]}`),
		"system turn":           claudeBody(`,"model":"claude-opus-4-8"`, hello+`,{"role":"system","content":"x"}`),
		"disabled at an old":    claudeBody(`,"model":"claude-3-haiku-20240307","thinking":{"type":"disabled"}`, hello),
		"result without text":   claudeBody("", hello+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""}]}`),
		"nulls":                 claudeBody(`,"temperature":null,"tools":null,"system":null`, hello),
		"default of the newest": claudeBody(`,"model":"claude-opus-5","temperature":1`, hello),
		"document":              claudeBody("", `{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}},{"type":"text","text":"y"}]}`),
	} {
		if a := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, body); a.status != 200 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}
