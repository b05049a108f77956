package chat

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/providertest"
	"modelgateway/providers/upstream"
)

func FuzzTranslate(f *testing.F) {
	f.Add([]byte(openaitest.Hello+`}`), true)
	f.Add([]byte(openaitest.Hello+`,"max_tokens":5,"temperature":0.1,"stream":true,"stream_options":{"x":1}}`), true)
	f.Add([]byte(`{"messages":[{"role":"assistant","content":"a","reasoning_content":"b","tool_calls":[{"id":"c","type":"function",`+
		`"function":{"name":"f","arguments":""}}]}],"model":"m","tools":[]}`), false)
	p := apiAt("http://127.0.0.1:1")
	older, reasoning := openaitest.Model(f, "gpt-4"), openaitest.Model(f, "gpt-5")
	f.Fuzz(func(t *testing.T, body []byte, reasons bool) {
		req, err := chat.Decode(nil, body)
		if err != nil {
			t.Skip()
		}
		call := providers.Call{Request: req, Model: older}
		if reasons {
			call.Model = reasoning
		}
		x, err := p.Prepare(call)
		if err != nil {
			t.Fatal(err)
		}
		var sent, came map[string]jsontext.Value
		if err := json.Unmarshal(sentBody(x), &sent); err != nil {
			t.Fatalf("%v: %s", err, sentBody(x))
		}
		if err := json.Unmarshal(body, &came); err != nil {
			t.Fatal(err)
		}
		rewritten := map[string]bool{
			"model":                 true,
			"messages":              true,
			"max_tokens":            true,
			"max_completion_tokens": true,
			"stream_options":        true,
		}
		dropped := map[string]bool{"temperature": true, "top_p": true, "presence_penalty": true, "frequency_penalty": true, "top_k": true,
			"thinking": true, "cache_control": true}
		for name, value := range came {
			if got, ok := sent[name]; !rewritten[name] && (!ok || string(got) != string(value)) && !dropped[name] {
				t.Fatalf("%s was %s and became %s", name, value, got)
			}
		}
	})
}

func FuzzStreamAndAnswer(f *testing.F) {
	f.Add("Hello", "get", `{"a":1}`, 2)
	f.Add("é\u2028\"\\", "f", "", 1)
	f.Add("", "f", "{", 0)
	x := prepare(f, apiAt("http://127.0.0.1:1"), "gpt-4", openaitest.Hello+`,"stream":true}`).(*exchange)
	f.Fuzz(func(t *testing.T, text, name, arguments string, cut int) {
		text, name, arguments = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(arguments, "?")
		q := func(s string) string { return string(wire.Quote(s)) }
		call := `{"index":0,"id":"c","type":"function","function":{"name":` + q(name) + `,"arguments":` + q(arguments) + `}}`
		whole := `{"id":"x","model":"m","created":5,"choices":[{"index":0,"message":{"content":` + q(text) + `,"tool_calls":[` + call +
			`]},"finish_reason":"tool_calls"}]}`
		r := reader{whole: true}
		if err := r.decode([]byte(whole)); err != nil {
			t.Fatal(err)
		}
		want := x.completion(&r.event).Choices[0].Message
		runes := []rune(text)
		at := min(max(cut, 0), len(runes))
		body := data(part(`{"content":`+q(string(runes[:at]))+`}`, "null"), part(`{"content":`+q(string(runes[at:]))+`}`, "null"),
			part(`{"tool_calls":[`+call+`]}`, "null"), part(`{}`, "tool_calls"), done)
		stream, err := x.events(t.Context(), upstream.NewEvents(io.NopCloser(strings.NewReader(body))))
		if err != nil {
			t.Fatal(err)
		}
		together, err := providertest.Collect(providertest.Chunks(x.call.Request, stream))
		if err != nil {
			t.Fatal(err)
		}
		got := together.Choices[0].Message
		if content(got) != content(want) || len(got.ToolCalls) != 1 || !reflect.DeepEqual(got.ToolCalls[0].Function, want.ToolCalls[0].Function) {
			t.Fatalf("stream %+v, answer %+v", got, want)
		}
	})
}

// content is a message's text, where empty and absent are the same.
func content(m chat.Answer) string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}
