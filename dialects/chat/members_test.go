package chat

import (
	"slices"
	"testing"
)

func TestMembersInsideObjectsAreNamed(t *testing.T) {
	const body = `{"model":"m","x1":1,"messages":[
		{"role":"user","x2":1,"content":[{"type":"text","text":"q","x3":1},
			{"type":"image_url","image_url":{"url":"https://x/y.png","x4":1}},
			{"type":"input_audio","input_audio":{"data":"YQ==","format":"wav","x5":1}},
			{"type":"file","file":{"file_data":"data:text/plain,a","x6":1}}]},
		{"role":"assistant","content":null,"x7":{},"tool_calls":[
			{"id":"c","type":"function","index":0,"x8":"y","function":{"name":"f","arguments":"{}","x9":1}}]},
		{"role":"assistant","content":"a","function_call":{"name":"f","arguments":"{}","x10":1}},
		{"role":"tool","tool_call_id":"c","content":"r"}],
		"tools":[{"type":"function","x11":true,"function":{"name":"f","x12":[1],"x12b":[],"parameters":{"anything":1}}}],
		"tool_choice":{"type":"function","x13":1,"function":{"name":"f","x14":1}},
		"response_format":{"type":"json_schema","schema":{"a":1},"json_schema":{"name":"n","schema":{"anything":1},"x15":1}},
		"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false,"x16":1},
		"thinking":{"type":"enabled","budget_tokens":2000,"x17":1},"metadata":{"anything":"1"}}`
	req, err := Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"x1", "messages[].content[].file.x6", "messages[].content[].image_url.x4", "messages[].content[].input_audio.x5",
		"messages[].content[].x3", "messages[].function_call.x10", "messages[].tool_calls[].function.x9", "messages[].tool_calls[].x8",
		"messages[].x2", "tools[].function.x12", "tools[].x11", "tool_choice.function.x14", "tool_choice.x13",
		"response_format.json_schema.x15", "response_format.schema", "stream_options.x16", "thinking.x17"}
	if got := req.Source.Ignored(nil); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPlainRequestsIgnoreNothing(t *testing.T) {
	req, err := Decode(nil, []byte(`{"model":"m","messages":[{"role":"user","content":"q","name":"n"}],"temperature":1}`))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if got := req.Source.Ignored(nil); got != nil {
		t.Errorf("%q", got)
	}
}
