package simulator

import (
	"net/http"
	"strings"
	"testing"
)

func TestOpenAIWithoutKeyIsUnauthorized(t *testing.T) {
	server := serve(t, Options{})
	for _, header := range []string{"", "Bearer ", "Basic abc"} {
		d := dialect{map[string]string{"Authorization": header}, asOpenAI.path}
		a := d.send(t, server, http.MethodPost, openaiBody("", hello))
		fault := decode[map[string]openaiFault](t, a.body)["error"]
		if a.status != 401 || fault.Type != "invalid_request_error" || fault.Code != nil {
			t.Errorf("%q: %d %s", header, a.status, a.body)
		}
	}
}

func TestOpenAIRefusesWhatTheServiceRefuses(t *testing.T) {
	call := func(id string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	}
	tools := `,"tools":[` + weatherTool + `]`
	asOpenAI.refuses(t, []refusalCase{
		{"not JSON", `{"model":`, 400, "could not parse the JSON body"},
		{"no model", `{"messages":[]}`, 400, "you must provide a model parameter"},
		{"unknown model", `{"model":"claude-3","messages":[` + hello + `]}`, 404, "\"code\":\"model_not_found\""},
		{"embedding model", `{"model":"text-embedding-3-small","messages":[` + hello + `]}`, 404, "not a chat model"},
		{"no messages", `{"model":"gpt-4"}`, 400, `"param":"messages","code":"missing_required_parameter"`},
		{"empty messages", openaiBody("", ""), 400, "empty_array"},
		{"unknown parameter", openaiBody(`,"top_k":3`, hello), 400, `"message":"Unknown parameter: 'top_k'.","type":"invalid_request_error","param":"top_k","code":"unknown_parameter"`},
		{"unknown nested parameter", openaiBody("", `{"role":"assistant","content":"x","reasoning_content":"y"}`), 400, "Unknown parameter: 'messages[0].reasoning_content'."},
		{"wrong type", openaiBody(`,"temperature":"hot"`, hello), 400, "Invalid type for 'temperature': expected a number, but got a string instead."},
		{"too hot", openaiBody(`,"temperature":2.5`, hello), 400, "decimal_above_max_value"},
		{"too few", openaiBody(`,"n":0`, hello), 400, "integer_below_min_value"},
		{"fraction", openaiBody(`,"max_tokens":1.5`, hello), 400, "invalid_type"},
		{"wrong word", openaiBody(`,"verbosity":"loud"`, hello), 400, "Supported values are: 'low', 'medium', and 'high'."},
		{"wrong role", openaiBody("", `{"role":"robot","content":"x"}`), 400, `"param":"messages[0].role","code":"invalid_value"`},
		{"no role", openaiBody("", `{"content":"x"}`), 400, "messages[0].role"},
		{"user null", openaiBody("", `{"role":"user","content":null}`), 400, "messages[0].content"},
		{"image in tool message", openaiBody("", `{"role":"tool","tool_call_id":"x","content":[{"type":"image_url","image_url":{"url":"u"}}]}`), 400, "messages[0].content[0].type"},
		{"silent assistant", openaiBody("", `{"role":"assistant"}`), 400, "got null"},
		{"tool without call", openaiBody("", hello+`,{"role":"tool","tool_call_id":"x","content":"y"}`), 400, "must be a response to a preceding message"},
		{"call without tool", openaiBody("", call("a")+","+hello), 400, "must be followed by tool messages"},
		{"call at the end", openaiBody("", call("a")), 400, "did not have response messages: a"},
		{"answer to another call", openaiBody("", call("a")+`,{"role":"tool","tool_call_id":"b","content":"y"}`), 400, "must be a response"},
		{"long id", openaiBody("", call(strings.Repeat("i", 41))), 400, "string_above_max_length"},
		{"bad tool name", openaiBody(`,"tools":[{"type":"function","function":{"name":"a.b"}}]`, hello), 400, "does not match pattern"},
		{"list of parameters", openaiBody(`,"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"array"}}}]`, hello), 400, "invalid_function_parameters"},
		{"open strict tool", openaiBody(`,"tools":[{"type":"function","function":{"name":"a","strict":true,"parameters":{"type":"object"}}}]`, hello), 400, "additionalProperties"},
		{"choice without tools", openaiBody(`,"tool_choice":"auto"`, hello), 400, "only allowed when 'tools' are specified"},
		{"parallel without tools", openaiBody(`,"parallel_tool_calls":true`, hello), 400, "only allowed when 'tools' are specified"},
		{"unknown choice", openaiBody(tools+`,"tool_choice":{"type":"function","function":{"name":"z"}}`, hello), 400, "\"param\":\"tool_choice\""},
		{"json without the word", openaiBody(`,"response_format":{"type":"json_object"}`, hello), 400, "must contain the word 'json'"},
		{"open strict schema", openaiBody(`,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object","properties":{}}}}`, hello), 400, "response_format"},
		{"unnamed schema", openaiBody(`,"response_format":{"type":"json_schema","json_schema":{"name":"","schema":{}}}`, hello), 400, "json_schema.name"},
		{"stream options alone", openaiBody(`,"stream_options":{"include_usage":true}`, hello), 400, "only allowed when 'stream'"},
		{"top logprobs alone", openaiBody(`,"top_logprobs":2`, hello), 400, "top_logprobs"},
		{"five stops", openaiBody(`,"stop":["a","b","c","d","e"]`, hello), 400, "array_above_max_length"},
		{"web search", openaiBody(`,"web_search_options":{}`, hello), 400, "Web search options not supported with this model."},
		{"audio", openaiBody(`,"modalities":["text","audio"]`, hello), 400, "modalities"},
		{"max_tokens of a reasoner", `{"model":"gpt-5","max_tokens":9,"messages":[` + hello + `]}`, 400, "Use 'max_completion_tokens' instead."},
		{"max_tokens of o3", `{"model":"o3-mini","max_tokens":9,"messages":[` + hello + `]}`, 400, "unsupported_parameter"},
		{"temperature of a reasoner", `{"model":"gpt-6-sol","temperature":0.5,"messages":[` + hello + `]}`, 400, "Only the default (1) value is supported."},
		{"stop of a reasoner", `{"model":"o4-mini","stop":"x","messages":[` + hello + `]}`, 400, "'stop' is not supported with this model"},
		{"too much to say", `{"model":"gpt-4","max_tokens":9000,"messages":[` + hello + `]}`, 400, "supports at most 8192 completion tokens"},
		{"too much to read", `{"model":"gpt-4","messages":[{"role":"user","content":"` + strings.Repeat("w ", 9000) + `"}]}`, 400, `"param":"messages","code":"context_length_exceeded"`},
	})
}

func TestOpenAITakesTemperatureWhereNothingIsReasoned(t *testing.T) {
	for _, body := range []string{
		`{"model":"gpt-5.4","temperature":0.5,"messages":[` + hello + `]}`,
		`{"model":"gpt-5.5","temperature":0.5,"reasoning_effort":"none","messages":[` + hello + `]}`,
		`{"model":"gpt-5","temperature":1,"messages":[` + hello + `]}`,
	} {
		askOpenAI(t, body)
	}
}
