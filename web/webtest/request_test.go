package webtest

import (
	"strings"
	"testing"

	"modelgateway/dialects/chat"
)

// TestRequestSchemaAcceptsWhatTheGatewayAccepts compares the document with the
// gateway's own decoder and the common form that every provider is sent: both accept a
// request, or both refuse it.
func TestRequestSchemaAcceptsWhatTheGatewayAccepts(t *testing.T) {
	v := validator(t)
	const tools = `"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}}],`
	for _, c := range []struct {
		fields string // beside model and messages
		good   bool
	}{
		{``, true},
		{`"temperature":0,"top_p":1,"frequency_penalty":-2,"presence_penalty":2,"top_k":0,"n":128,"seed":-1,`, true},
		{`"temperature":null,"stop":null,"tools":null,"tool_choice":null,"max_tokens":null,"stream":null,"stream_options":null,"response_format":null,"thinking":null,"reasoning_effort":null,"metadata":null,"user":null,"cache_control":null,"functions":null,"function_call":null,`, true},
		{`"temperature":2.1,`, false},
		{`"temperature":"1",`, false},
		{`"top_p":-0.1,`, false},
		{`"frequency_penalty":3,`, false},
		{`"presence_penalty":-3,`, false},
		{`"max_tokens":1,"max_completion_tokens":2147483647,`, true},
		{`"max_tokens":0,`, false},
		{`"max_tokens":1.5,`, false},
		{`"max_completion_tokens":2147483648,`, false},
		{`"n":0,`, false},
		{`"n":129,`, false},
		{`"logprobs":true,"top_logprobs":20,`, true},
		{`"logprobs":true,"top_logprobs":21,`, false},
		{`"stop":"END",`, true},
		{`"stop":["a","b"],`, true},
		{`"stop":[1],`, false},
		{`"stop":1,`, false},
		{`"stream":true,"stream_options":{"include_usage":true},`, true},
		{`"stream":"yes",`, false},
		{tools, true},
		{`"tools":{},`, false},
		{`"tools":[{"type":"function"}],`, false},
		{`"tools":[{"function":{"name":"f"}}],`, false},
		{`"tools":[{"type":"function","function":{"name":"f f"}}],`, false},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}],`, false},
		{`"tools":[{"type":"custom","custom":{"name":"c"}}],`, true},
		{`"tools":[{"type":"retrieval"}],`, false},
		{tools + `"tool_choice":"none",`, true},
		{tools + `"tool_choice":"required","parallel_tool_calls":false,`, true},
		{tools + `"tool_choice":"any",`, false},
		{tools + `"tool_choice":{"type":"function","function":{"name":"f"}},`, true},
		{tools + `"tool_choice":{"type":"custom","custom":{"name":"f"}},`, true},
		{tools + `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}},`, true},
		{tools + `"tool_choice":{"type":"tool","name":"f"},`, false},
		{tools + `"tool_choice":7,`, false},
		{`"functions":[{"name":"f"}],"function_call":{"name":"f"},`, true},
		{`"functions":[{"name":"f"}],"function_call":"auto",`, true},
		{`"functions":[{}],`, false},
		{`"response_format":{"type":"text"},`, true},
		{`"response_format":{"type":"json_object"},`, true},
		{`"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","schema":{},"strict":null}},`, true},
		{`"response_format":{"type":"json_schema"},`, false},
		{`"response_format":{"type":"json_schema","json_schema":{"schema":{}}},`, false},
		{`"response_format":{"type":"xml"},`, false},
		{`"response_format":"json",`, false},
		{`"reasoning_effort":"xhigh",`, true},
		{`"reasoning_effort":"huge",`, false},
		{`"thinking":{"type":"enabled","budget_tokens":2048},`, true},
		{`"thinking":{"type":"adaptive"},`, true},
		{`"thinking":{"type":"on"},`, false},
		{`"thinking":{"type":"enabled","budget_tokens":-1},`, false},
		{`"metadata":{"a":"b"},"user":"u","safety_identifier":"s","service_tier":"flex","modalities":["text"],`, true},
		{`"metadata":{"a":1},`, false},
		{`"verbosity":"low","store":true,"anything":{"at":"all"},`, true},
	} {
		checkBoth(t, v, `{`+c.fields+`"model":"m","messages":[{"role":"user","content":"Hi"}]}`, c.good)
	}
}

func TestMessageSchemasAcceptWhatTheGatewayAccepts(t *testing.T) {
	v := validator(t)
	user := func(part string) string { return `{"role":"user","content":[` + part + `]}` }
	for _, c := range []struct {
		messages string
		good     bool
	}{
		{``, false},
		{`{"role":"system","content":"s"},{"role":"developer","content":[{"type":"text","text":"t"}]}`, true},
		{`{"role":"system"}`, false},
		{`{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://a/b"}}]}`, false},
		{`{"role":"user","content":"Hi","name":"n"}`, true},
		{`{"role":"user","content":null}`, false},
		{`{"role":"user","content":7}`, false},
		{`{"role":"robot","content":"Hi"}`, false},
		{`{"content":"Hi"}`, false},
		{user(`{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}`), true},
		{user(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}}`), true},
		{user(`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`), false},
		{user(`{"type":"image_url"}`), false},
		{user(`{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}`), true},
		{user(`{"type":"input_audio","input_audio":{"data":"AA==","format":"ogg"}}`), false},
		{user(`{"type":"file","file":{"file_data":"data:application/pdf;base64,AA==","filename":"a.pdf"}}`), true},
		{user(`{"type":"file","file":{"filename":"a.pdf"}}`), false},
		{user(`{"type":"refusal","refusal":"no"}`), false},
		{user(`{"type":"video"}`), false},
		{`{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"refusal","refusal":"no"}]}`, true},
		{`{"role":"assistant","content":null,"refusal":null,"tool_calls":null,"function_call":null,"audio":null,"name":null,"reasoning_content":null,"reasoning_details":null}`, true},
		{`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""},"extra_content":{"google":{"thought_signature":"s"}}}]}`, true},
		{`{"role":"assistant","tool_calls":[{"id":"1","type":"custom","custom":{"name":"f","input":"x"}}]}`, true},
		{`{"role":"assistant","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":""}}]}`, false},
		{`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"","arguments":""}}]}`, false},
		{`{"role":"assistant","tool_calls":[{"id":"1","type":"function"}]}`, false},
		{`{"role":"assistant","content":"t","reasoning_content":"r","reasoning_details":[{"type":"reasoning.text","text":"r","signature":"s","format":"anthropic-claude-v1","index":0}]}`, true},
		{`{"role":"tool","tool_call_id":"1","content":"r"}`, true},
		{`{"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"https://a/b"}}]}`, true},
		{`{"role":"tool","content":"r"}`, false},
		{`{"role":"tool","tool_call_id":"1"}`, false},
		{`{"role":"function","name":"f","content":null}`, true},
		{`{"role":"function","content":"r"}`, false},
	} {
		checkBoth(t, v, `{"model":"m","messages":[`+c.messages+`]}`, c.good)
	}
	checkBoth(t, v, `{"messages":[{"role":"user","content":"Hi"}]}`, false)
	checkBoth(t, v, `{"model":"","messages":[{"role":"user","content":"Hi"}]}`, false)
	checkBoth(t, v, `{"model":"m"}`, false)
	checkBoth(t, v, `[]`, false)
	checkBoth(t, v, strings.Repeat("[", 101)+strings.Repeat("]", 101), false)
}

func checkBoth(t *testing.T, v *Validator, body string, good bool) {
	t.Helper()
	if err := v.Schema("ChatCompletionRequest", []byte(body)); (err == nil) != good {
		t.Errorf("the document: good should be %t for %s: %v", good, body, err)
	}
	req, err := chat.Decode(nil, []byte(body))
	if err == nil {
		_, err = req.Source.Conversation() // a native provider is sent values that the document does not list
	}
	if (err == nil) != good {
		t.Errorf("the gateway: good should be %t for %s: %v", good, body, err)
	}
}
