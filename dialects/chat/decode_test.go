package chat

import (
	stdjson "encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"modelgateway/api"

	"github.com/go-json-experiment/json"
)

// with is a good request with more members.
func with(members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"model":"m","messages":[{"role":"user","content":"hi"}]` + members + `}`
}

// said is a good request with these messages.
func said(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }

// many is a list of n equal elements, without its brackets.
func many(n int, element string) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

// A body of 32 MiB may hold eleven million empty messages. Decoding ends at the
// first one, so it takes a small multiple of the body at most.
func TestEmptyElementsTakeNoMemory(t *testing.T) {
	const size = 4 << 20
	empty := many(size/3, "{}")
	for name, body := range map[string]string{
		"messages":          said(empty),
		"null messages":     said(many(size/5, "null")),
		"parts":             said(`{"role":"user","content":[` + empty + `]}`),
		"images":            said(`{"role":"assistant","images":[` + empty + `]}`),
		"reasoning details": said(`{"role":"assistant","reasoning_details":[` + empty + `]}`),
		"tool calls":        said(`{"role":"assistant","tool_calls":[` + empty + `]}`),
		"tools":             with(`"tools":[` + empty + `]`),
		"functions":         with(`"functions":[` + empty + `]`),
		"allowed tools":     with(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[` + empty + `]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := Decode(nil, text); err == nil {
				t.Fatal("accepted")
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > size {
				t.Errorf("a body of %d bytes took %d bytes of memory", len(text), took)
			}
		})
	}
}

func TestValidRequestsAreAccepted(t *testing.T) {
	nest := func(depth int) string {
		return with(`"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth))
	}
	for name, body := range map[string]string{
		"smallest": with(""),
		"nulls are absent": with(`"temperature":null,"max_tokens":null,"tools":null,"stop":null,"tool_choice":null,"response_format":null,` +
			`"stream":null,"user":null,"n":null,"metadata":null,"stream_options":null`),
		"bounds": with(`"temperature":0,"top_p":0,"frequency_penalty":-2,"presence_penalty":-2,"max_tokens":1,"n":1`),
		"upper bounds": with(`"temperature":2,"top_p":1,"frequency_penalty":2,"presence_penalty":2,"n":128,"logprobs":true,` +
			`"top_logprobs":20`),
		"unknown members":     with(`"api_base":"http://169.254.169.254/","whatever":{"a":[1,2]}`),
		"stop of one":         with(`"stop":"END"`),
		"stop of many":        with(`"stop":["a","b"]`),
		"stream with options": with(`"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}`),
		"named tool": with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],` +
			`"tool_choice":{"type":"function","function":{"name":"f"}}`),
		"allowed tools": with(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools",` +
			`"allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}}`),
		"custom tool":        with(`"tools":[{"type":"custom","custom":{"name":"f"}}],"tool_choice":{"type":"custom","custom":{"name":"f"}}`),
		"auto without tools": with(`"tool_choice":"auto"`),
		"old functions":      with(`"functions":[{"name":"f"}],"function_call":{"name":"f"}`),
		"schema":             with(`"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"},"strict":true}}`),
		"all roles": said(`{"role":"system","content":"s"},{"role":"developer","content":[{"type":"text","text":"d"}]},{"role":"user","content":"u","name":"bob"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"a","content":"1"}`),
		"all parts": said(`{"role":"user","content":[{"type":"text","text":""},{"type":"image_url","image_url":{"url":"https://x/y.png"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},
			{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA=="}}]}`),
		"assistant with nothing": said(`{"role":"user","content":"u"},{"role":"assistant","content":null}`),
		"deepest":                nest(99),
		"escapes":                said(`{"role":"user","content":"\u0000 \ud83d\ude00 é"}`),
		"brackets in strings":    said(`{"role":"user","content":"` + strings.Repeat(`[{\"`, 200) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode(nil, []byte(body)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestErrorsOfInvalidRequestsNameTheField(t *testing.T) {
	for _, tt := range []struct{ name, body, code, param string }{
		{"nothing", "", api.CodeInvalidJSON, ""},
		{"half", `{"model":`, api.CodeInvalidJSON, "model"},
		{"an array", `[]`, api.CodeInvalidJSON, ""},
		{"a string", `"x"`, api.CodeInvalidJSON, ""},
		{"null", `null`, api.CodeInvalidJSON, ""},
		{"trailing bytes", with("") + "x", api.CodeInvalidJSON, ""},
		{"two documents", with("") + with(""), api.CodeInvalidJSON, ""},
		{"model twice", `{"model":"a","model":"b"}`, api.CodeInvalidJSON, "model"},
		{"twice deep inside", with(`"metadata":{"a":"1","a":"2"}`), api.CodeInvalidJSON, "metadata.a"},
		{"twice in a schema", with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"a":1,"a":1}}}]`), api.CodeInvalidJSON,
			"tools[0].function.parameters.a"},
		{"invalid UTF-8", said("{\"role\":\"user\",\"content\":\"\xff\"}"), api.CodeInvalidJSON, "messages[0].content"},
		{"lone surrogate", said(`{"role":"user","content":"\ud800"}`), api.CodeInvalidJSON, "messages[0].content"},
		{"too deep", with(`"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), api.CodeInvalidJSON, ""},
		{"NaN", with(`"temperature":NaN`), api.CodeInvalidJSON, "temperature"},
		{"other case", `{"MODEL":"m","messages":[{"role":"user","content":"x"}]}`, api.CodeMissingField, "model"},
		{"no model", `{"messages":[{"role":"user","content":"x"}]}`, api.CodeMissingField, "model"},
		{"model is null", `{"model":null,"messages":[{"role":"user","content":"x"}]}`, api.CodeMissingField, "model"},
		{"model is a number", `{"model":1}`, api.CodeInvalidValue, "model"},
		{"no messages", `{"model":"m"}`, api.CodeMissingField, "messages"},
		{"empty messages", said(""), api.CodeMissingField, "messages"},
		{"messages is a string", `{"model":"m","messages":"x"}`, api.CodeInvalidValue, "messages"},
		{"message is a string", said(`"x"`), api.CodeInvalidValue, "messages[0]"},
		{"message is null", said(`null`), api.CodeMissingField, "messages[0].role"},
		{"unknown role", said(`{"role":"boss","content":"x"}`), api.CodeInvalidValue, "messages[0].role"},
		{"no content", said(`{"role":"user"}`), api.CodeMissingField, "messages[0].content"},
		{"content is null", said(`{"role":"system","content":null}`), api.CodeMissingField, "messages[0].content"},
		{"content is a number", said(`{"role":"user","content":5}`), api.CodeInvalidValue, "messages[0].content"},
		{"part without type", said(`{"role":"user","content":[{"text":"x"}]}`), api.CodeMissingField, "messages[0].content[0].type"},
		{"image without url", said(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`), api.CodeMissingField,
			"messages[0].content[0].image_url.url"},
		{"image of a file", said(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}`),
			api.CodeInvalidValue, "messages[0].content[0].image_url.url"},
		{"empty file", said(`{"role":"user","content":[{"type":"file","file":{}}]}`), api.CodeMissingField,
			"messages[0].content[0].file.file_data"},
		{"tool without id", said(`{"role":"tool","content":"1"}`), api.CodeMissingField, "messages[0].tool_call_id"},
		{"call without id", said(`{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":""}}]}`),
			api.CodeMissingField, "messages[0].tool_calls[0].id"},
		{"call without name", said(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"arguments":""}}]}`),
			api.CodeMissingField, "messages[0].tool_calls[0].function.name"},
		{"temperature below", with(`"temperature":-0.1`), api.CodeInvalidValue, "temperature"},
		{"temperature above", with(`"temperature":2.01`), api.CodeInvalidValue, "temperature"},
		{"temperature huge", with(`"temperature":1e400`), api.CodeInvalidValue, "temperature"},
		{"temperature a string", with(`"temperature":"1"`), api.CodeInvalidValue, "temperature"},
		{"top_p above", with(`"top_p":1.01`), api.CodeInvalidValue, "top_p"},
		{"frequency_penalty below", with(`"frequency_penalty":-2.1`), api.CodeInvalidValue, "frequency_penalty"},
		{"presence_penalty above", with(`"presence_penalty":2.1`), api.CodeInvalidValue, "presence_penalty"},
		{"max_tokens zero", with(`"max_tokens":0`), api.CodeInvalidValue, "max_tokens"},
		{"max_tokens negative", with(`"max_tokens":-5`), api.CodeInvalidValue, "max_tokens"},
		{"max_tokens a fraction", with(`"max_tokens":1.5`), api.CodeInvalidValue, "max_tokens"},
		{"max_tokens huge", with(`"max_tokens":1e30`), api.CodeInvalidValue, "max_tokens"},
		{"max_tokens a string", with(`"max_tokens":"9"`), api.CodeInvalidValue, "max_tokens"},
		{"n zero", with(`"n":0`), api.CodeInvalidValue, "n"},
		{"n above", with(`"n":129`), api.CodeInvalidValue, "n"},
		{"top_logprobs alone", with(`"top_logprobs":2`), api.CodeInvalidValue, "top_logprobs"},
		{"stream a string", with(`"stream":"true"`), api.CodeInvalidValue, "stream"},
		{"options without stream", with(`"stream_options":{"include_usage":true}`), api.CodeInvalidValue, "stream_options"},
		{"stop a number", with(`"stop":5`), api.CodeInvalidValue, "stop"},
		{"tool of no type", with(`"tools":[{"function":{"name":"f"}}]`), api.CodeMissingField, "tools[0].type"},
		{"tool without function", with(`"tools":[{"type":"function"}]`), api.CodeMissingField, "tools[0].function"},
		{"tool name", with(`"tools":[{"type":"function","function":{"name":"a b"}}]`), api.CodeInvalidValue, "tools[0].function.name"},
		{"parameters a string", with(`"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]`), api.CodeInvalidValue,
			"tools[0].function.parameters"},
		{"choice of nothing", with(`"tool_choice":{"type":"function","function":{"name":"f"}}`), api.CodeInvalidValue, "tool_choice"},
		{"choice unknown", with(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}`), api.CodeInvalidValue, "tool_choice"},
		{"choice a number", with(`"tool_choice":1`), api.CodeInvalidValue, "tool_choice"},
		{"format without schema", with(`"response_format":{"type":"json_schema"}`), api.CodeMissingField, "response_format.json_schema"},
		{"schema name", with(`"response_format":{"type":"json_schema","json_schema":{"name":"a b"}}`), api.CodeInvalidValue,
			"response_format.json_schema.name"},
		{"metadata", with(`"metadata":{"a":1}`), api.CodeInvalidValue, "metadata.a"},
		{"too many messages", said(many(10_001, `{"role":"user","content":"x"}`)), api.CodeInvalidValue, "messages"},
		{"too many messages with parts", said(many(10_001, `{"role":"user","content":[]}`)), api.CodeInvalidValue, "messages"},
		{"too many parts", said(`{"role":"user","content":[` + many(1_001, `{"type":"text","text":"x"}`) + `]}`), api.CodeInvalidValue,
			"messages[0].content"},
		{"too many images", said(`{"role":"assistant","images":[` + many(1_001, `{}`) + `]}`), api.CodeInvalidValue, "messages[0].images"},
		{"too much reasoning", said(`{"role":"assistant","reasoning_details":[` + many(1_001, `{}`) + `]}`), api.CodeInvalidValue,
			"messages[0].reasoning_details"},
		{"too many calls", said(`{"role":"assistant","tool_calls":[` + many(1_025, `{}`) + `]}`), api.CodeInvalidValue, "messages[0].tool_calls"},
		{"too many tools", with(`"tools":[` + many(1_025, `{}`) + `]`), api.CodeInvalidValue, "tools"},
		{"too many functions", with(`"functions":[` + many(1_025, `{}`) + `]`), api.CodeInvalidValue, "functions"},
		{"too many allowed tools", with(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[` + many(1_025, `{}`) + `]}}`),
			api.CodeInvalidValue, "tool_choice.allowed_tools.tools"},
		{"too many stop sequences", with(`"stop":[` + many(5, `"x"`) + `]`), api.CodeInvalidValue, "stop"},
		{"too much metadata", with(`"metadata":{"0":"","1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":"","a":"","b":"","c":"",` +
			`"d":"","e":"","f":"","g":""}`), api.CodeInvalidValue, "metadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := decode(nil, []byte(tt.body))
			e, ok := errors.AsType[*api.Error](err)
			if !ok {
				t.Fatalf("accepted: %+v", req)
			}
			if e.Status != 400 || e.Type != api.TypeInvalidRequest || e.Code != tt.code || e.Param != tt.param || e.Message == "" {
				t.Errorf("got %d %s param %q: %s", e.Status, e.Code, e.Param, e.Message)
			}
			if e.ShouldRetry() {
				t.Error("says it may pass later")
			}
		})
	}
}

func TestErrorMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, body := range []string{
		said(`{"role":"` + long + `","content":"x"}`),
		with(`"` + long + `":1,"` + long + `":1`),
		with(`"tool_choice":"` + long + `"`),
		with(`"tool_choice":{"type":"` + long + `"}`),
		with(`"response_format":{"type":"` + long + `"}`),
	} {
		req, err := Decode(nil, []byte(body))
		if err == nil {
			_, err = req.Source.Conversation()
		}
		e, ok := errors.AsType[*api.Error](err)
		if !ok || len(e.Message) > 500 || len(e.Param) > 500 {
			t.Errorf("%.60s: message of %d bytes, param of %d", body, len(e.Message), len(e.Param))
		}
	}
}

func TestSchemasKeepTheirBytes(t *testing.T) {
	const schema = `{ "z": 1.0, "a": 12345678901234567890, "s":"<>&\u00e9" }`
	req, err := decode(nil, []byte(with(`"tools":[{"type":"function","function":{"name":"f","parameters":`+schema+`}}]`)))
	if err != nil || string(req.Tools[0].Function.Parameters) != schema {
		t.Errorf("%v, %v", req, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(with(`"temperature":1,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"auto"`)))
	f.Add([]byte(said(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}`)))
	f.Add([]byte(with(`"stop":["a"],"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{}}},"metadata":{"a":"b"}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := decode(nil, body)
		if err != nil {
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 || e.Message == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		// A less strict decoder reads the same from every accepted body.
		var lax struct {
			Model    string
			Messages []struct{ Role string }
		}
		if err := stdjson.Unmarshal(body, &lax); err != nil {
			t.Fatalf("encoding/json refuses it: %v", err)
		}
		if lax.Model != req.Model && !strings.Contains(strings.ToLower(string(body)), `"model"`) ||
			len(lax.Messages) != len(req.Messages) &&
				!caseVariant(body) {
			t.Fatalf("%q, %d messages against %q, %d", req.Model, len(req.Messages), lax.Model, len(lax.Messages))
		}
	})
}

// caseVariant says whether a lax reader could have taken another member.
func caseVariant(body []byte) bool {
	var all map[string]stdjson.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return true
	}
	for name := range all {
		if name != "messages" && strings.EqualFold(name, "messages") || name != "model" && strings.EqualFold(name, "model") {
			return true
		}
	}
	return false
}

func TestChunksAreWhatClientsExpect(t *testing.T) {
	text, stop := "hi", "stop"
	for want, chunk := range map[string]Chunk{
		`{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hi"},` +
			`"finish_reason":null}]}`: {
			ID: "a", Object: ObjectChunk, Created: 1, Model: "m", Choices: []ChunkChoice{{Delta: Delta{Content: &text}}}},
		`{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`: {
			ID: "a", Object: ObjectChunk, Created: 1, Model: "m", Choices: []ChunkChoice{{FinishReason: &stop}}},
		`{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,` +
			`"total_tokens":3}}`: {
			ID: "a", Object: ObjectChunk, Created: 1, Model: "m", Choices: []ChunkChoice{},
			Usage: &Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}},
	} {
		got, err := json.Marshal(&chunk)
		if err != nil || string(got) != want {
			t.Errorf("got  %s\nwant %s\n%v", got, want, err)
		}
	}
}
