package anthropic

import (
	"strings"
	"testing"

	"modelgateway/api"
)

func TestUnsupportedRequestIsRefusedWithItsField(t *testing.T) {
	part := func(p string) string {
		return talk(user("q"), `{"role":"user","content":[{"type":"text","text":"a"},`+p+`]}`)
	}
	for _, tt := range []struct{ name, model, body, code, param string }{
		{"several answers", budgetNew, `"n":2,` + talk(user("q")), api.CodeUnsupportedValue, "n"},
		{"spoken answers", budgetNew, `"modalities":["text","audio"],` + talk(user("q")), api.CodeUnsupportedValue, "modalities"},
		{"web search", budgetNew, `"web_search_options":{},` + talk(user("q")), api.CodeUnsupportedValue, "web_search_options"},
		{"custom tools", budgetNew, `"tools":[` + weather + `,{"type":"custom","custom":{"name":"c"}}],` + talk(user("q")),
			api.CodeUnsupportedValue, "tools[1].type"},
		{"a custom tool chosen", budgetNew, `"tools":[` + weather + `],"tool_choice":{"type":"custom","custom":{"name":"c"}},` +
			talk(user("q")), api.CodeUnsupportedValue, "tool_choice"},
		{"custom calls", budgetNew, talk(user("q"), `{"role":"assistant","tool_calls":[{"id":"a","type":"custom",`+
			`"custom":{"name":"f","input":"x"}}]}`), api.CodeUnsupportedValue, "messages[1].tool_calls[0].type"},
		{"a tool required of none", budgetNew, `"tool_choice":"required",` + talk(user("q")), api.CodeInvalidValue, "tool_choice"},
		{"nothing allowed", budgetNew, `"tools":[` + weather + `],"tool_choice":{"type":"allowed_tools",` +
			`"allowed_tools":{"mode":"auto","tools":[{"type":"custom","custom":{"name":"x"}}]}},` + talk(user("q")),
			api.CodeUnsupportedValue, "tool_choice"},
		{"sound", budgetNew, part(`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}`), api.CodeUnsupportedValue,
			"messages[1].content[1].type"},
		{"a file by id", budgetNew, part(`{"type":"file","file":{"file_id":"file-1"}}`), api.CodeUnsupportedValue,
			"messages[1].content[1].file.file_id"},
		{"a file of another kind", budgetNew, part(`{"type":"file","file":{"file_data":"data:application/zip;base64,UEsDBA=="}}`),
			api.CodeUnsupportedValue, "messages[1].content[1].file.file_data"},
		{"text that is none", budgetNew, part(`{"type":"file","file":{"file_data":"data:text/plain;base64,/////w=="}}`),
			api.CodeUnsupportedValue, "messages[1].content[1].file.file_data"},
		{"text that is not base64", budgetNew, part(`{"type":"file","file":{"file_data":"data:text/plain;base64,*"}}`),
			api.CodeUnsupportedValue, "messages[1].content[1].file.file_data"},
		{"an empty file", budgetNew, part(`{"type":"file","file":{"file_data":"data:text/plain;base64,"}}`), api.CodeUnsupportedValue,
			"messages[1].content[1].file.file_data"},
		{"an image without encryption", budgetNew, part(`{"type":"image_url","image_url":{"url":"http://example.com/a.png"}}`),
			api.CodeUnsupportedValue, "messages[1].content[1].image_url.url"},
		{"an image of another kind", budgetNew, part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
			`PHN2Zz48L3N2Zz4="}}`), api.CodeUnsupportedValue, "messages[1].content[1].image_url.url"},
		{"an image in plain text", budgetNew, part(`{"type":"image_url","image_url":{"url":"data:image/png,` + png + `"}}`),
			api.CodeUnsupportedValue, "messages[1].content[1].image_url.url"},
		{"a data URL without data", budgetNew, part(`{"type":"image_url","image_url":{"url":"data:image/png"}}`),
			api.CodeUnsupportedValue, "messages[1].content[1].image_url.url"},
		{"an image as a tool's result", budgetNew, talk(user("q"), calls("a", "f", ""), `{"role":"tool","tool_call_id":"a",`+
			`"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`), api.CodeUnsupportedValue,
			"messages[2].content[0].image_url.url"},
		{"a list as the answer of an old model", noThinking, `"response_format":{"type":"json_schema","json_schema":{"name":"n",` +
			`"schema":{"type":"array"}}},` + talk(user("q")), api.CodeUnsupportedValue, "response_format.json_schema.schema"},
		{"prefill", bothWays, talk(user("q"), `{"role":"assistant","content":"The"}`, `{"role":"system","content":"s"}`),
			api.CodeUnsupportedValue, "messages[1]"},
		{"calls at the end", budgetNew, talk(user("q"), calls("a", "f", "")), api.CodeInvalidValue, "messages[1]"},
		{"nothing said", budgetNew, talk(user(""), `{"role":"assistant","content":" "}`, user("\n")), api.CodeInvalidValue, "messages"},
		{"nothing after an answer", budgetNew, talk(user("q"), `{"role":"assistant","content":"The"}`, user(" \n")),
			api.CodeInvalidValue, "messages[2]"},
		{"nothing after an answer that cannot go on", byDefault, talk(user("q"), `{"role":"assistant","content":"The"}`,
			`{"role":"user","content":[{"type":"text","text":""}]}`, `{"role":"system","content":"s"}`), api.CodeInvalidValue, "messages[2]"},
		{"nothing on both sides", budgetNew, talk(user("q"), `{"role":"assistant","content":"The"}`, user(""),
			`{"role":"assistant","content":" ","images":[`+picture+`]}`), api.CodeInvalidValue, "messages[2]"},
		{"arguments nested too deeply", budgetNew, talk(user("q"), calls("a", "f", `{"a":`+strings.Repeat("[", 9998)+strings.Repeat("]",
			9998)+`}`), result("a", "1")), api.CodeInvalidValue, "messages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := prepare(t, tt.model, `{"model":"m",`+tt.body+`}`)
			if e := refusal(t, err); e.Code != tt.code || e.Param != tt.param {
				t.Errorf("%s at %q (%s), want %s at %q", e.Code, e.Param, e.Message, tt.code, tt.param)
			}
		})
	}
}
