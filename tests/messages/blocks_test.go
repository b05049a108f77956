package messages

import (
	"strings"
	"testing"
)

// said are the members of a request with these messages.
func said(messages ...string) string {
	return `"max_tokens":100,"messages":[` + strings.Join(messages, ",") + `]`
}

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func assistant(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func text(s string) string { return `{"type":"text","text":"` + s + `"}` }

const (
	pngData = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	pdfData = "JVBERi0xLjQK"
	picture = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pngData + `"}}`
	pdf     = `{"type":"document","title":"paper.pdf","source":{"type":"base64","media_type":"application/pdf","data":"` + pdfData + `"}}`

	pngInline = `{"inlineData":{"mimeType":"image/png","data":"` + pngData + `"}}`
	pdfInline = `{"inlineData":{"mimeType":"application/pdf","data":"` + pdfData + `"}}`
	pngURL    = `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pngData + `"}}`
	pdfFile   = `{"type":"file","file":{"file_data":"data:application/pdf;base64,` + pdfData + `","filename":"paper.pdf"}}`
)

func use(id string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"look","input":{"z":"` + id + `"}}`
}

// found is a search result as a text.
const found = `"<search_result title=\"F\" source=\"https://example.com\">\none\ntwo\n</search_result>"`

// tools are the tools that use calls.
const tools = `,"tools":[` + tool + `]`

func result(id, members string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `"` + members + `}`
}

func blockRows() []row {
	const gpt, gem = gpt4, flash3
	return []row{
		{
			"texts and empty ones", said(user(text("a"), text(""), text("b"))),
			wanted{gpt, map[string]string{"messages": `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text",` +
				`"text":"b"}]}]`}, ""},
			wanted{gem, map[string]string{"contents": `[{"role":"user","parts":[{"text":"a"},{"text":"b"}]}]`}, ""},
		},
		{
			"turn without blocks", said(user(text("a")), assistant(), user(text("b"))),
			wanted{gpt, map[string]string{"messages": `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text",` +
				`"text":"b"}]}]`}, ""},
			wanted{gem, map[string]string{"contents": `[{"role":"user","parts":[{"text":"a"},{"text":"b"}]}]`}, ""},
		},
		{
			"picture", said(user(picture)),
			wanted{gpt, map[string]string{"messages.0.content": `[` + pngURL + `]`}, ""},
			wanted{gem, map[string]string{"contents.0.parts": `[` + pngInline + `]`}, ""},
		},
		{
			"picture by its address", said(user(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`, text("q"))),
			wanted{gpt, map[string]string{"messages.0.content.0": `{"type":"image_url",` +
				`"image_url":{"url":"https://example.com/a.png"}}`}, ""},
			wanted{gem, map[string]string{"contents.0.parts.0": `{"fileData":{"mimeType":"image/png",` +
				`"fileUri":"https://example.com/a.png"}}`}, ""},
		},
		{
			"PDF", said(user(pdf, text("q"))),
			wanted{gpt, map[string]string{"messages.0.content.0": pdfFile}, ""},
			wanted{gem, map[string]string{"contents.0.parts.0": `{"text":"<document title=\"paper.pdf\"/>"}`,
				"contents.0.parts.1": pdfInline}, ""},
		},
		{
			"document as a text", said(user(`{"type":"document","title":"T","context":"c","source":{"type":"text",`+
				`"media_type":"text/plain","data":"plain"}}`, text("q"))),
			wanted{gpt, map[string]string{"messages.0.content.0.text": `"<document title=\"T\" context=\"c\">\nplain\n</document>"`}, ""},
			wanted{gem, map[string]string{"contents.0.parts.0.text": `"<document title=\"T\" context=\"c\">\nplain\n</document>"`}, ""},
		},
		{
			"document that shall be cited", said(user(`{"type":"document","citations":{"enabled":true},"source":{"type":"text",`+
				`"media_type":"text/plain","data":"plain"}}`, text("q"))),
			wanted{gpt, map[string]string{"messages.0.content.0.text": `"<document>\nplain\n</document>"`},
				"messages[].content[].citations"},
			wanted{gem, map[string]string{"contents.0.parts.0.text": `"<document>\nplain\n</document>"`}, "messages[].content[].citations"},
		},
		{
			"search result", said(user(`{"type":"search_result","title":"F","source":"https://example.com","content":[{"type":"text",`+
				`"text":"one"},{"type":"text","text":"two"}]}`, text("q"))),
			wanted{gpt, map[string]string{"messages.0.content.0.text": found}, ""},
			wanted{gem, map[string]string{"contents.0.parts.0.text": found}, ""},
		},
		{
			"calls and results", said(user(text("q")), assistant(text("I look."), use("toolu_1"), use("toolu_2")),
				user(result("toolu_1", `,"content":"one"`), result("toolu_2", `,"content":[{"type":"text","text":"two"}],`+
					`"is_error":true`), text("go on"))) + tools,
			wanted{gpt, map[string]string{
				"messages.1": `{"role":"assistant","content":"I look.","tool_calls":[{"id":"toolu_1","type":"function",` +
					`"function":{"name":"look","arguments":"{\"z\":\"toolu_1\"}"}},` +
					`{"id":"toolu_2","type":"function","function":{"name":"look","arguments":"{\"z\":\"toolu_2\"}"}}]}`,
				"messages.2": `{"role":"tool","tool_call_id":"toolu_1","content":"one"}`,
				"messages.3": `{"role":"tool","tool_call_id":"toolu_2","content":"Error: two"}`, "messages.4": `{"role":"user",` +
					`"content":"go on"}`,
			}, ""},
			wanted{flash2, map[string]string{
				"contents.1.parts": `[{"text":"I look."},{"functionCall":{"name":"look","args":{"z":"toolu_1"}}},` +
					`{"functionCall":{"name":"look","args":{"z":"toolu_2"}}}]`,
				"contents.2.parts": `[{"functionResponse":{"name":"look","response":{"output":"one"}}},` +
					`{"functionResponse":{"name":"look","response":{"error":"two"}}},{"text":"go on"}]`,
			}, ""},
		},
		{
			"call without arguments and result without content", said(user(text("q")), assistant(`{"type":"tool_use","id":"t",`+
				`"name":"look","input":{}}`), user(result("t", ""))) + tools,
			wanted{gpt, map[string]string{"messages.1.tool_calls.0.function.arguments": `"{}"`, "messages.2.content": `""`}, ""},
			wanted{flash2, map[string]string{
				"contents.1.parts": `[{"functionCall":{"name":"look",` +
					`"args":{}}}]`, "contents.2.parts.0.functionResponse.response": `{"output":""}`,
			}, ""},
		},
		{
			"reference to a tool", said(user(text("q")), assistant(use("t")), user(result("t", `,"content":[{"type":"tool_reference",`+
				`"tool_name":"WebSearch"}]`))) + tools,
			wanted{gpt, map[string]string{"messages.2.role": `"tool"`}, ""},
			wanted{flash2, map[string]string{"contents.2.parts.0.functionResponse.name": `"look"`}, ""},
		},
		{
			"instructions in the middle", said(user(text("q")), assistant(text("a")), `{"role":"system","content":"now"}`, user(text("r"))),
			wanted{gpt, map[string]string{"messages": `[{"role":"user","content":"q"},{"role":"assistant","content":"a"},` +
				`{"role":"system","content":"now"},{"role":"user","content":"r"}]`}, ""},
			wanted{gem, map[string]string{
				"systemInstruction": "", "contents.2": `{"role":"user","parts":[{"text":"<system>\nnow\n</system>"},{"text":"r"}]}`,
			}, ""},
		},
		{
			"instructions between a call and its result", said(user(text("q")), assistant(use("t")), `{"role":"system",`+
				`"content":[{"type":"text","text":"now"}]}`, user(result("t", `,"content":"r"`))) + tools,
			wanted{gpt, map[string]string{"messages.2.role": `"tool"`, "messages.3": `{"role":"system","content":"now"}`}, ""},
			wanted{flash2, map[string]string{
				"contents.2.parts": `[{"functionResponse":{"name":"look","response":{"output":"r"}}},{"text":"<system>\nnow\n</system>"}]`,
			}, ""},
		},
		{
			"document of texts and pictures", said(user(`{"type":"document","title":"T","source":{"type":"content",`+
				`"content":[{"type":"text","text":"one"},`+picture+`]}}`, text("q"))),
			wanted{gpt, map[string]string{
				"messages.0.content": `[{"type":"text","text":"<document title=\"T\">"},{"type":"text","text":"one"},` + pngURL +
					`,{"type":"text","text":"</document>"},{"type":"text","text":"q"}]`,
			}, ""},
			wanted{gem, map[string]string{"contents.0.parts.2": pngInline}, ""},
		},
		{
			"PDF by its address", said(user(`{"type":"document","source":{"type":"url","url":"https://example.com/paper"}}`, text("q"))),
			wanted{},
			wanted{gem, map[string]string{"contents.0.parts.0": `{"fileData":{"mimeType":"application/pdf",` +
				`"fileUri":"https://example.com/paper"}}`}, ""},
		},
		{
			"what a search at Anthropic found", said(user(text("q")), assistant(
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`,
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Title",`+
					`"url":"https://example.com","encrypted_content":"c2VjcmV0"}]}`,
				text("a")), user(text("r"))),
			wanted{gpt, map[string]string{"messages.1.content.0.text": `"Title\nhttps://example.com"`,
				"messages.1.content.1.text": `"a"`}, "messages[].content[].type"},
			wanted{gem, map[string]string{"contents.1.parts": `[{"text":"Title\nhttps://example.com"},{"text":"a"}]`},
				"messages[].content[].type"},
		},
		{
			"summary of what came before", said(user(text("q")), assistant(`{"type":"compaction","content":"so far"}`), user(text("r"))),
			wanted{gpt, map[string]string{"messages.0.content.1.text": `"so far"`, "messages.1": ""}, ""},
			wanted{gem, map[string]string{"contents": `[{"role":"user","parts":[{"text":"q"},{"text":"so far"},{"text":"r"}]}]`}, ""},
		},
		{
			"unknown block beside others", said(user(`{"type":"future_block","x":1}`, text("q"))),
			wanted{gpt, map[string]string{"messages": `[{"role":"user","content":"q"}]`}, "messages[].content[].type"},
			wanted{gem, map[string]string{"contents": `[{"role":"user","parts":[{"text":"q"}]}]`}, "messages[].content[].type"},
		},
		{
			"tools that Claude knows", hi + `,"tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728",` +
				`"name":"str_replace_based_edit_tool"},{"type":"memory_20250818","name":"memory"}]`,
			wanted{gpt, map[string]string{
				"tools.0.function.name":                `"bash"`,
				"tools.1.function.parameters.required": `["command","path"]`, "tools.2.type": `"function"`,
			}, ""},
			wanted{gem, map[string]string{"tools.0.functionDeclarations.0.name": `"bash"`,
				"tools.0.functionDeclarations.2.name": `"memory"`}, ""},
		},
		{
			"thoughts of Claude's", said(user(text("q")), assistant(`{"type":"thinking","thinking":"secret thought",`+
				`"signature":"c2VjcmV0"}`, `{"type":"redacted_thinking","data":"c2VjcmV0"}`, text("a")), user(text("r"))),
			wanted{gpt, map[string]string{"messages.1": `{"role":"assistant","content":"a"}`}, ""},
			wanted{gem, map[string]string{"contents.1": `{"role":"model","parts":[{"text":"a"}]}`}, ""},
		},
		{
			"thought without a signature", said(user(text("q")), assistant(`{"type":"thinking","thinking":"secret thought",`+
				`"signature":""}`, text("a")), user(text("r"))),
			wanted{gpt, map[string]string{"messages.1": `{"role":"assistant","content":"a"}`}, ""},
			wanted{gem, map[string]string{"contents.1": `{"role":"model","parts":[{"text":"a"}]}`}, ""},
		},
	}
}

// TestEachBlockReachesTheOtherProviders has a case for each kind of block.
func TestEachBlockReachesTheOtherProviders(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for _, tt := range blockRows() {
		t.Run(tt.name, func(t *testing.T) {
			if tt.openai.model != "" {
				sentWanted(t, p, r, tt.members, tt.openai)
			}
			sentWanted(t, p, r, tt.members, tt.gemini)
		})
	}
}

// TestBlocksThatNoOtherProviderCanReadAreRefused sends what would be missing from the
// question.
func TestBlocksThatNoOtherProviderCanReadAreRefused(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for name, tt := range map[string]struct{ model, members string }{
		"a picture by its id": {gpt4, said(user(`{"type":"image","source":{"type":"file","file_id":"file_1"}}`, text("q")))},
		"a picture by its id, Gemini": {flash3, said(user(`{"type":"image","source":{"type":"file","file_id":"file_1"}}`,
			text("q")))},
		"a PDF by its address": {gpt4, said(user(`{"type":"document","source":{"type":"url",`+
			`"url":"https://example.com/a.pdf"}}`, text("q")))},
		"nothing but an unknown block":      {gpt4, said(user(`{"type":"future_block","x":1}`))},
		"a result without its call":         {gpt4, said(user(result("t", `,"content":"r"`)))},
		"a result without its call, Gemini": {flash3, said(user(result("t", `,"content":"r"`)))},
		"a call without its result":         {gpt4, said(user(text("q")), assistant(use("t")), user(text("r"))) + tools},
		"a call without its result, Gemini": {flash3, said(user(text("q")), assistant(use("t")), user(text("r"))) + tools},
	} {
		x := call(t, p, `{"model":"`+tt.model+`",`+tt.members+`}`, false)
		refused(t, x.err, 400, "invalid_request_error", "messages")
		if sent := r.take(); len(sent) > 0 {
			t.Errorf("%s: the upstream was asked: %s", name, sent[0].body)
		}
	}
}
