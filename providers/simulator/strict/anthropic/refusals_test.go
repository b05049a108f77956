package anthropic_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"modelgateway/providers/simulator/simulatortest"
)

const (
	hello       = simulatortest.Hello
	weather     = simulatortest.ClaudeTool
	weatherTool = simulatortest.WeatherTool
	use         = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	result      = `{"type":"tool_result","tool_use_id":"a","content":"x"}`
)

var body = simulatortest.MessagesBody

func user(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }

func tool(schema string) string { return `,"tools":[{"name":"f","input_schema":` + schema + `}]` }

func model(id, more string) string { return body(`,"model":"`+id+`"`+more, hello) }

func format(schema string) string {
	return `,"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`
}

func TestRefusesWrongRequests(t *testing.T) {
	refuses := simulatortest.Anthropic.Refuser(t)
	refuses("not JSON", `[]`, 400, "not valid JSON")
	refuses("unknown model", model("gpt-4", ""), 404, `"type":"not_found_error","message":"model: gpt-4"`)
	refuses("no max_tokens", `{"model":"claude-haiku-4-5","messages":[`+hello+`]}`, 400, "max_tokens: Field required")
	refuses("max_tokens null", body(`,"max_tokens":null`, hello), 400, "max_tokens: Input should be a valid integer")
	refuses("max_tokens 0", body(`,"max_tokens":0`, hello), 400, "greater than or equal to 1")
	refuses("max_tokens of another model",
		model("claude-3-haiku-20240307", `,"max_tokens":8192`),
		400, "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307")
	refuses("unknown field",
		body(`,"n":2`, hello),
		400, `"message":"n: Extra inputs are not permitted"`)
	refuses("unknown field in a block",
		body("", user(`{"type":"text","text":"x","id":"y"}`)),
		400, "messages.0.content.0.text.id: Extra inputs are not permitted")
	refuses("unknown metadata", body(`,"metadata":{"a":"b"}`, hello), 400, "metadata.a: Extra inputs")
	refuses("too hot", body(`,"temperature":1.5`, hello), 400, "temperature: Input should be less than or equal to 1")
}

func TestRefusesWrongMessages(t *testing.T) {
	refuses := simulatortest.Anthropic.Refuser(t)
	refuses("no messages", body("", ""), 400, "at least one message")
	refuses("assistant first", body("", `{"role":"assistant","content":"x"},`+hello), 400, "first message must use")
	refuses("system message", body("", hello+`,{"role":"system","content":"x"}`), 400, "top-level `system` parameter")
	refuses("unknown role",
		body("", `{"role":"tool","content":"x"}`),
		400, "messages.0.role: Input should be 'user', 'assistant' or 'system'")
	refuses("empty text", body("", user(`{"type":"text","text":""}`)), 400, "text content blocks must be non-empty")
	refuses("empty string", body("", `{"role":"user","content":""}`), 400, "text content blocks must be non-empty")
	refuses("blank text", body("", user(`{"type":"text","text":" \n"}`)), 400, "must contain non-whitespace text")
	refuses("blank system", body(`,"system":[{"type":"text","text":""}]`, hello), 400, "system: text content blocks must be non-empty")
	refuses("empty content", body("", user("")), 400, "all messages must have non-empty content")
	refuses("unknown block",
		body("", user(`{"type":"image_url","image_url":{}}`)),
		400, "messages.0.content.0: Input tag 'image_url' found using 'type'")
	refuses("image without source",
		body("", user(`{"type":"image"}`)),
		400, "messages.0.content.0.image.source: Field required")
	refuses("tiff",
		body("", user(`{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"AA=="}}`)),
		400, "source.base64.media_type: Input should be 'image/jpeg'")
	refuses("not base64",
		body("", user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"data:image/png;base64,AA=="}}`)),
		400, "Invalid base64 data")
	refuses("mislabelled",
		body("", user(`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"iVBORw0KGgo="}}`)),
		400, "appears to be a image/png image")
	refuses("use without result",
		body("", hello+","+use+","+hello),
		400, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.")
	refuses("use at the end", body("", hello+","+use), 400, "without `tool_result` blocks")
	refuses("text before result",
		body("", hello+","+use+","+user(`{"type":"text","text":"x"},`+result)),
		400, "without `tool_result` blocks immediately after")
	refuses("result without use", body("", user(result)), 400, "messages.0.content.0: unexpected `tool_use_id` found")
	refuses("result twice", body("", hello+","+use+","+user(result+","+result)), 400, "each tool_use must have a single result")
	refuses("results in two turns",
		body("", hello+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},`+
			`{"type":"tool_use","id":"b","name":"f","input":{}}]},`+user(result)+","+user(`{"type":"tool_result","tool_use_id":"b"}`)),
		400, "immediately after: b")
	refuses("bad id",
		body("", hello+","+strings.Replace(use, `"a"`, `"a.b"`, 1)),
		400, "messages.1.content.0.tool_use.id: String should match pattern")
	refuses("input string",
		body("", hello+","+strings.Replace(use, `{}`, `"{}"`, 1)),
		400, "tool_use.input: Input should be a valid dictionary")
	refuses("use by the user", body("", user(`{"type":"tool_use","id":"a","name":"f","input":{}}`)), 400, "may not be in user messages")
	refuses("prefill of a new model",
		body(`,"model":"claude-opus-4-6"`, hello+`,{"role":"assistant","content":"x"}`),
		400, "does not support assistant message prefill")
	refuses("prefill with space", body("", hello+`,{"role":"assistant","content":"x "}`), 400, "cannot end with trailing whitespace")
}

func TestRefusesWrongTools(t *testing.T) {
	refuses := simulatortest.Anthropic.Refuser(t)
	refuses("schema without type", body(tool(`{"properties":{}}`), hello), 400, "tools.0.custom.input_schema.type: Field required")
	refuses("schema of a list", body(tool(`{"type":"array"}`), hello), 400, "Input should be 'object'")
	refuses("no schema", body(`,"tools":[{"name":"f"}]`, hello), 400, "tools.0.custom.input_schema: Field required")
	refuses("openai tool", body(`,"tools":[`+weatherTool+`]`, hello), 400, "tools.0: Input tag 'function' found")
	refuses("bad tool name",
		body(strings.Replace(tool(`{"type":"object"}`), `"f"`, `"f.g"`, 1), hello),
		400, "tools.0.custom.name: String should match")
	refuses("tools of one name", body(`,"tools":[`+weather+`,`+weather+`]`, hello), 400, "must be unique")
	refuses("strict but open",
		body(`,"tools":[{"name":"f","strict":true,"input_schema":{"type":"object"}}]`, hello),
		400, "'additionalProperties' must be explicitly set to false")
	refuses("strict and old",
		model("claude-sonnet-4-20250514",
			`,"tools":[{"name":"f","strict":true,"input_schema":{"type":"object","additionalProperties":false}}]`),
		400, "strict: Extra inputs")
	refuses("choice without tools", body(`,"tool_choice":{"type":"auto"}`, hello), 400, "while providing tools")
	refuses("unknown choice", body(`,"tool_choice":{"type":"tool","name":"g"},"tools":[`+weather+`]`, hello), 400, "Tool 'g' not found")
	refuses("forced fable", model("claude-fable-5", `,"tool_choice":{"type":"any"},"tools":[`+weather+`]`), 400, "forced tool choice")
	refuses("none with parallel",
		body(`,"tool_choice":{"type":"none","disable_parallel_tool_use":true},"tools":[`+weather+`]`, hello),
		400, "tool_choice.none.disable_parallel_tool_use: Extra inputs")
}

func TestRefusesWhatTheModelDoesNotTake(t *testing.T) {
	refuses := simulatortest.Anthropic.Refuser(t)
	refuses("temperature and top_p", body(`,"temperature":1,"top_p":0.9`, hello), 400, "cannot both be specified")
	refuses("temperature of a new model", model("claude-opus-5", `,"temperature":0.5`), 400, "`temperature` is not supported")
	refuses("top_k of a new model", model("claude-opus-9", `,"top_k":5`), 400, "`top_k` is not supported")
	refuses("thinking of an old model",
		model("claude-3-5-haiku-20241022", `,"thinking":{"type":"enabled","budget_tokens":1024}`),
		400, "does not support thinking")
	refuses("adaptive too early",
		body(`,"thinking":{"type":"adaptive"}`, hello),
		400, "\\\"thinking.type.adaptive\\\" is not supported")
	refuses("enabled too late",
		model("claude-opus-4-7", `,"thinking":{"type":"enabled","budget_tokens":1024}`),
		400, "thinking.type.enabled")
	refuses("never disabled", model("claude-fable-5", `,"thinking":{"type":"disabled"}`), 400, "thinking.type.disabled")
	refuses("disabled at max",
		model("claude-opus-5", `,"thinking":{"type":"disabled"},"output_config":{"effort":"max"}`),
		400, "effort is high or lower")
	refuses("small budget",
		body(`,"thinking":{"type":"enabled","budget_tokens":100}`, hello),
		400, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	refuses("budget beyond max_tokens",
		body(`,"thinking":{"type":"enabled","budget_tokens":4096}`, hello),
		400, "`max_tokens` must be greater than `thinking.budget_tokens`")
	refuses("thinking at a temperature",
		body(`,"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":1024}`, hello),
		400, "may only be set to 1")
	refuses("thinking with top_k",
		body(`,"top_k":5,"thinking":{"type":"enabled","budget_tokens":1024}`, hello),
		400, "`top_k` must be unset")
	refuses("thinking with top_p",
		body(`,"top_p":0.5,"thinking":{"type":"enabled","budget_tokens":1024}`, hello),
		400, "0.95")
	refuses("thinking and forced",
		body(`,"tool_choice":{"type":"any"},"thinking":{"type":"enabled","budget_tokens":1024},"tools":[`+weather+`]`, hello),
		400, "forces tool use")
	refuses("effort of an old model",
		body(`,"output_config":{"effort":"low"}`, hello),
		400, "does not support the effort parameter")
	refuses("effort too high",
		model("claude-opus-4-6", `,"output_config":{"effort":"xhigh"}`),
		400, "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.")
	refuses("format of an old model",
		model("claude-3-7-sonnet-20250219", format(`{"type":"object","additionalProperties":false}`)),
		400, "does not support output format")
	refuses("open format",
		body(format(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"array","items":{"type":"object"}}}}`), hello),
		400, "additionalProperties")
	refuses("bounded format",
		body(format(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","minimum":1}}}`), hello),
		400, "property 'minimum' is not supported")
	refuses("blank stop", body(`,"stop_sequences":["\n"]`, hello), 400, "non-whitespace")
	marked := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	refuses("five breakpoints",
		body(`,"system":[`+strings.Join(slices.Repeat([]string{marked}, 5), ",")+`]`, hello),
		400, "A maximum of 4 blocks with cache_control may be provided. Found 5.")
	refuses("too long",
		model("claude-3-haiku-20240307", `,"system":"`+strings.Repeat("w ", 200001)+`"`),
		400, "prompt is too long: 200003 tokens > 200000 maximum")
}

func TestRefusesDeferredToolsThatCannotBeLoaded(t *testing.T) {
	refuses := simulatortest.Anthropic.Refuser(t)
	later := `{"name":"f","defer_loading":true,"input_schema":{"type":"object"}}`
	reference := hello + "," + use + "," +
		user(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"gone"}]}`)
	refuses("all deferred", body(`,"tools":[`+later+`]`, hello), 400, "All tools have defer_loading set.")
	refuses("reference without a tool", body(`,"tools":[`+weather+`]`, reference), 400, "Tool reference 'gone' has no corresponding tool definition")
	refuses("unknown type of tool", body(`,"tools":[{"type":"web_search_1999","name":"web_search"}]`, hello), 400, "Input tag 'web_search_1999'")
}

func TestTakesWhatTheServiceTakes(t *testing.T) {
	for name, request := range map[string]string{
		"hosted tool": body(`,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}]`, hello),
		"hosted result": body("", hello+`,{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},`+
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]},`+hello),
		"system turn of an unknown model": body(`,"model":"claude-new-9"`, hello+`,{"role":"system","content":"x","output_config":{"effort":"low"}}`),
		"two user turns":                  body("", hello+","+hello),
		"prefill":                         body("", hello+`,{"role":"assistant","content":"x"}`),
		"empty last assistant":            body("", hello+`,{"role":"assistant","content":[]}`),
		"system turn":                     body(`,"model":"claude-opus-4-8"`, hello+`,{"role":"system","content":"x"}`),
		"disabled at an old":              body(`,"model":"claude-3-haiku-20240307","thinking":{"type":"disabled"}`, hello),
		"result without text":             body("", hello+","+use+","+user(`{"type":"tool_result","tool_use_id":"a","content":""}`)),
		"nulls":                           body(`,"temperature":null,"tools":null,"system":null`, hello),
		"default of the newest":           body(`,"model":"claude-opus-5","temperature":1`, hello),
		"document": body("", user(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}},`+
			`{"type":"text","text":"y"}`)),
	} {
		if a := simulatortest.Anthropic.Post(t, request); a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}
