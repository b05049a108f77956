package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"modelgateway/providers/simulator/simulatortest"
)

const (
	hello = simulatortest.Hello
	tools = `,"tools":[` + simulatortest.WeatherTool + `]`
)

var body = simulatortest.ChatBody

func call(id string) string {
	return `{"role":"assistant","content":null,` +
		`"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]}`
}

func TestRefusesWrongRequests(t *testing.T) {
	refuses := simulatortest.OpenAI.Refuser(t)
	refuses("not JSON", `{"model":`, 400, "could not parse the JSON body")
	refuses("no model", `{"messages":[]}`, 400, "you must provide a model parameter")
	refuses("unknown model", `{"model":"claude-3","messages":[`+hello+`]}`, 404, "\"code\":\"model_not_found\"")
	refuses("embedding model", `{"model":"text-embedding-3-small","messages":[`+hello+`]}`, 404, "not a chat model")
	refuses("no messages", `{"model":"gpt-4"}`, 400, `"param":"messages","code":"missing_required_parameter"`)
	refuses("empty messages", body("", ""), 400, "empty_array")
	refuses("unknown parameter",
		body(`,"top_k":3`, hello),
		400, `"message":"Unknown parameter: 'top_k'.","type":"invalid_request_error","param":"top_k","code":"unknown_parameter"`)
	refuses("unknown nested parameter",
		body("", `{"role":"assistant","content":"x","reasoning_content":"y"}`),
		400, "Unknown parameter: 'messages[0].reasoning_content'.")
	refuses("wrong type",
		body(`,"temperature":"hot"`, hello),
		400, "Invalid type for 'temperature': expected a number, but got a string instead.")
	refuses("too hot", body(`,"temperature":2.5`, hello), 400, "decimal_above_max_value")
	refuses("too few", body(`,"n":0`, hello), 400, "integer_below_min_value")
	refuses("fraction", body(`,"max_tokens":1.5`, hello), 400, "invalid_type")
	refuses("wrong word", body(`,"verbosity":"loud"`, hello), 400, "Supported values are: 'low', 'medium', and 'high'.")
	refuses("wrong role", body("", `{"role":"robot","content":"x"}`), 400, `"param":"messages[0].role","code":"invalid_value"`)
	refuses("no role", body("", `{"content":"x"}`), 400, "messages[0].role")
}

func TestRefusesWrongMessages(t *testing.T) {
	refuses := simulatortest.OpenAI.Refuser(t)
	refuses("user null", body("", `{"role":"user","content":null}`), 400, "messages[0].content")
	refuses("image in tool message",
		body("", `{"role":"tool","tool_call_id":"x","content":[{"type":"image_url","image_url":{"url":"u"}}]}`),
		400, "messages[0].content[0].type")
	refuses("silent assistant", body("", `{"role":"assistant"}`), 400, "got null")
	refuses("tool without call",
		body("", hello+`,{"role":"tool","tool_call_id":"x","content":"y"}`),
		400, "must be a response to a preceding message")
	refuses("call without tool", body("", call("a")+","+hello), 400, "must be followed by tool messages")
	refuses("call at the end", body("", call("a")), 400, "did not have response messages: a")
	refuses("answer to another call", body("", call("a")+`,{"role":"tool","tool_call_id":"b","content":"y"}`), 400, "must be a response")
	refuses("long id", body("", call(strings.Repeat("i", 41))), 400, "string_above_max_length")
}

func TestRefusesWrongTools(t *testing.T) {
	refuses := simulatortest.OpenAI.Refuser(t)
	refuses("bad tool name", body(`,"tools":[{"type":"function","function":{"name":"a.b"}}]`, hello), 400, "does not match pattern")
	refuses("list of parameters",
		body(`,"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"array"}}}]`, hello),
		400, "invalid_function_parameters")
	refuses("open strict tool",
		body(`,"tools":[{"type":"function","function":{"name":"a","strict":true,"parameters":{"type":"object"}}}]`, hello),
		400, "additionalProperties")
	refuses("choice without tools", body(`,"tool_choice":"auto"`, hello), 400, "only allowed when 'tools' are specified")
	refuses("parallel without tools", body(`,"parallel_tool_calls":true`, hello), 400, "only allowed when 'tools' are specified")
	refuses("unknown choice",
		body(tools+`,"tool_choice":{"type":"function","function":{"name":"z"}}`, hello),
		400, "\"param\":\"tool_choice\"")
}

func TestRefusesWrongParameters(t *testing.T) {
	refuses := simulatortest.OpenAI.Refuser(t)
	refuses("json without the word", body(`,"response_format":{"type":"json_object"}`, hello), 400, "must contain the word 'json'")
	refuses("open strict schema",
		body(`,"response_format":{"type":"json_schema","json_schema":`+
			`{"name":"x","strict":true,"schema":{"type":"object","properties":{}}}}`, hello),
		400, "response_format")
	refuses("unnamed schema",
		body(`,"response_format":{"type":"json_schema","json_schema":{"name":"","schema":{}}}`, hello),
		400, "json_schema.name")
	refuses("stream options alone", body(`,"stream_options":{"include_usage":true}`, hello), 400, "only allowed when 'stream'")
	refuses("top logprobs alone", body(`,"top_logprobs":2`, hello), 400, "top_logprobs")
	refuses("five stops", body(`,"stop":["a","b","c","d","e"]`, hello), 400, "array_above_max_length")
	refuses("web search", body(`,"web_search_options":{}`, hello), 400, "Web search options not supported with this model.")
	refuses("audio", body(`,"modalities":["text","audio"]`, hello), 400, "modalities")
	refuses("max_tokens of a reasoner",
		`{"model":"gpt-5","max_tokens":9,"messages":[`+hello+`]}`,
		400, "Use 'max_completion_tokens' instead.")
	refuses("max_tokens of o3", `{"model":"o3-mini","max_tokens":9,"messages":[`+hello+`]}`, 400, "unsupported_parameter")
	refuses("temperature of a reasoner",
		`{"model":"gpt-6-sol","temperature":0.5,"messages":[`+hello+`]}`,
		400, "Only the default (1) value is supported.")
	refuses("functions and reasoning by default", strings.Replace(body(tools, hello), `"gpt-4o"`, `"gpt-6-sol"`, 1),
		400, "set reasoning_effort to 'none'")
	refuses("functions and reasoning on request", strings.Replace(body(tools+`,"reasoning_effort":"low"`, hello), `"gpt-4o"`, `"gpt-5.4"`, 1),
		400, `"param":"reasoning_effort"`)
	refuses("stop of a reasoner",
		`{"model":"o4-mini","stop":"x","messages":[`+hello+`]}`,
		400, "'stop' is not supported with this model")
	refuses("too much to say",
		`{"model":"gpt-4","max_tokens":9000,"messages":[`+hello+`]}`,
		400, "supports at most 8192 completion tokens")
	refuses("too much to read",
		`{"model":"gpt-4","messages":[{"role":"user","content":"`+strings.Repeat("w ", 9000)+`"}]}`,
		400, `"param":"messages","code":"context_length_exceeded"`)
}

func TestTakesTemperatureWhereNothingIsReasoned(t *testing.T) {
	for _, request := range []string{
		`{"model":"gpt-5.4","temperature":0.5,"messages":[` + hello + `]}`,
		`{"model":"gpt-5.5","temperature":0.5,"reasoning_effort":"none","messages":[` + hello + `]}`,
		`{"model":"gpt-5","temperature":1,"messages":[` + hello + `]}`,
	} {
		if a := simulatortest.OpenAI.Post(t, request); a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", request, a.Status, a.Body)
		}
	}
}
