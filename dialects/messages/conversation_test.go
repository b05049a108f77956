package messages

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// head begins a request; messages, and further members, follow.
const head = `{"model":"m","max_tokens":9,`

// said is the conversation of a request with these messages, without the first lines that
// say what its options are.
func said(t *testing.T, rest string) string {
	t.Helper()
	text := dump(decoded(t, head+rest+"}"))
	return text[strings.Index(text, "\nignored")+1:]
}

// faultOf is the error of the conversation of a request.
func faultOf(t *testing.T, rest string) *api.Error {
	t.Helper()
	_, err := decoded(t, head+rest+"}").Source.Conversation()
	if err == nil {
		t.Fatalf("no error: %s", rest)
	}
	return api.AsError(err)
}

// Other blocks, calls and results are in tests/messages, as each provider is sent them.
func TestBlocks(t *testing.T) {
	const user, assistant = `"messages":[{"role":"user","content":[`, `"messages":[{"role":"assistant","content":[`
	for name, tt := range map[string]struct{ body, want string }{
		"a PDF": {user + `{"type":"document","title":"t","context":"c","citations":{"enabled":true},"source":{"type":"base64",` +
			`"media_type":"application/pdf","data":"JVBERi0="}}]}]`,
			`media {Kind:2 URL:data:application/pdf;base64,JVBERi0= Data: Format: Detail: Made:false FileID: Name: ` +
				`Title:t Context:c Text: Citations:true}`},
		"a document of blocks": {user + `{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a"},` +
			`{"type":"text","text":"b"}]}}]}]`,
			"Text:a\nb "},
		"a document of one text": {user + `{"type":"document","source":{"type":"content","content":"ab"}}]}]`, `Text:ab `},
		"a search result": {user + `{"type":"search_result","title":"t","source":"https://a","content":[{"type":"text",` +
			`"text":"b"}],"citations":{"enabled":true}}]}]`,
			`{Kind:3 URL:https://a Data: Format: Detail: Made:false FileID: Name: Title:t Context: Text:b Citations:true}`},
		"messages of one role are one": {`"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]`,
			"user, in place false\n  messages[0].content text \"a\"\n  messages[1].content text \"b\"\n"},
		"a document with an image": {
			user + `{"type":"document","title":"t","source":{"type":"content","content":[{"type":"text","text":"a"},` +
				`{"type":"image","source":{"type":"url","url":"https://a"}}]}}]}]`,
			"text \"<document title=\\\"t\\\">\"\n  messages[0].content[0] text \"a\"\n  messages[0].content[0] media " +
				"{Kind:0 URL:https://a "},
		"a search of Anthropic's": {assistant + `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},` +
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"T",` +
			`"url":"https://a","encrypted_content":"zzz"}]}]}]`,
			"messages[0].content[1] text \"T\\nhttps://a\"\n"},
		"a summary of the conversation before": {assistant + `{"type":"compaction","content":"so far"},{"type":"text","text":"b"}]}]`,
			"user, in place false\n  messages[0].content[0] text \"so far\"\nassistant, in place false\n  messages[0]." +
				"content[1] text \"b\"\n"},
		"a block that is not known": {user + `{"type":"hologram","x":1},{"type":"text","text":"a"}]}]`,
			"ignored [\"messages[].content[].type\"]\nuser, in place false\n  messages[0].content[1] text \"a\"\n"},
		"an upload": {user + `{"type":"text","text":"a"},{"type":"container_upload","file_id":"f"}]}]`,
			`ignored ["messages[].content[].type"]`},
	} {
		if got := said(t, tt.body); !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

const asked = `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[`

func TestCallsAndResults(t *testing.T) {
	const call = `{"type":"tool_use","id":"toolu_1","name":"f","input":{"b":1, "a":2}}`
	for name, tt := range map[string]struct{ body, want string }{
		"tools that were searched for": {asked + call + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":[` +
			`{"type":"tool_reference","tool_name":"WebSearch"}]}]}]`, `text "The tool WebSearch has been loaded`},
		"results in two messages": {asked + call + `,{"type":"tool_use","id":"b","name":"g","input":{}}]},{"role":"user",` +
			`"content":[{"type":"tool_result","tool_use_id":"b"}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1"}]}]`, `result of "toolu_1"`},
		"an id twice in one turn": {asked + call + `,` + call + `]},{"role":"user","content":[{"type":"tool_result",` +
			`"tool_use_id":"toolu_1"},{"type":"tool_result","tool_use_id":"toolu_1"}]}]`,
			`result of "toolu_1_2" ("toolu_1")`},
		"a block that is not known": {asked + call + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":[{"type":"hologram"}]}]}]`, `ignored ["messages[].content[].content[].type"]`},
		"no id": {asked + `{"type":"tool_use","name":"f"}]},{"role":"user","content":[{"type":"tool_result","content":"a"}]}]`,
			`result of "toolu_made" ("toolu_made")`},
		"no result at the end": {asked + call + `]}]`, `call "toolu_1"`},
	} {
		if got := said(t, tt.body); !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestFaultsAreNamedInAnthropicsWords(t *testing.T) {
	const user = `"messages":[{"role":"user","content":[`
	const done = `"messages":[{"role":"user","content":"a"}]`
	for body, want := range map[string]string{
		`"x":1`:          `messages: Field required`,
		`"messages":[]`:  `messages: at least one message is required`,
		`"messages":"a"`: `messages: Input should be a valid list`,
		`"messages":[{"role":"tool","content":"a"}]`:        `messages.0.role: Input should be 'user', 'assistant' or 'system'`,
		`"messages":[{"role":"user"}]`:                      `messages.0.content: Field required`,
		`"messages":[{"role":"user","content":1}]`:          `messages.0.content: Input should be a valid string or list`,
		user + `{"text":"a"}]}]`:                            `messages.0.content.0.type: Field required`,
		user + `{"type":"text"}]}]`:                         `messages.0.content.0.text: Field required`,
		user + `{"type":"text","text":1}]}]`:                `messages.0.content.0.text: Input should be a valid string`,
		user + `{"type":"image"}]}]`:                        `messages.0.content.0.source: Field required`,
		user + `{"type":"image","source":{}}]}]`:            `messages.0.content.0.source.type: Field required`,
		user + `{"type":"hologram"}]}]`:                     `messages.0.content.0.type: nothing of the last message would be left`,
		user + `{"type":"tool_use","id":"a","name":"f"}]}]`: "messages.0.content.0: `tool_use` blocks can not be in `user` messages",
		user + `{"type":"tool_result","tool_use_id":"a"}]}]`: "messages.0.content.0: unexpected `tool_use_id` found " +
			"in `tool_result` blocks: a. " +
			"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
		user + `{"type":"image","source":{"type":"file","file_id":"f"}}]}]`: `messages.` +
			`0.content.0.source.file_id: the file is stored at Anthropic`,
		user + `{"type":"image","source":{"type":"base64","media_type":"image/svg+xml","data":"A"}}]}]`: `messages.` +
			`0.content.0.source.media_type: Input should be 'image/jpeg'`,
		user + `{"type":"image","source":{"type":"url","url":"ftp://a"}}]}]`: `messages.` +
			`0.content.0.source.url: Only HTTPS`,
		user + `{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"A"}}]}]`: `messages.` +
			`0.content.0.source.media_type: Input should be 'application/pdf'`,
		user + `{"type":"document","source":{"type":"content","content":[{"type":"document"}]}}]}]`: `messages.` +
			`0.content.0.source.content: Input should be blocks`,
		user + `{"type":"search_result","source":"a"}]}]`: `messages.` +
			`0.content.0.content: Field required`,
		asked + `{"type":"tool_use","id":"a"}]}]`: `messages.` +
			`1.content.0.name: Field required`,
		asked + `{"type":"tool_use","id":"a","name":"f","input":"x"}]}]`: `messages.` +
			`1.content.0.input: Input should be a valid dictionary`,
		asked + `{"type":"tool_use","id":"a","name":"f"}]},{"role":"user","content":"b"}]`: "messages." +
			"1: `tool_use` ids were found without `tool_result` blocks immediately after: a.",
		asked + `{"type":"tool_use","id":"a","name":"f"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a",` +
			`"content":7}]}]`: `messages.2.content.0.content: Input should`,

		done + `,"system":7`:                  `system: Input should be a valid string or list`,
		done + `,"system":[{"type":"image"}]`: `system.0.type: Input should be 'text'`,
		done + `,"temperature":1.5`:           `temperature: Input should be less than or equal to 1`,
		done + `,"top_p":"x"`:                 `top_p: Input should be a valid number`,
		done + `,"top_k":-1`:                  `top_k: Input should be`,
		done + `,"stop_sequences":[" "]`: `stop_sequences: each stop sequence ` +
			`must contain non-whitespace`,
		done + `,"thinking":{"type":"enabled"}`: `thinking.budget_tokens: Field required`,
		done + `,"thinking":{"type":"enabled","budget_tokens":5}`: `thinking.budget_tokens: Input should ` +
			`be greater than or equal to 1024`,
		done + `,"thinking":{"type":"sometimes"}`: `thinking.type: Input should be 'enabled',` +
			` 'adaptive', 'between_tools' or 'disabled'`,
		done + `,"output_config":{"effort":"ultra"}`:                `output_config.effort: Input should be`,
		done + `,"output_config":{"format":{"type":"json_schema"}}`: `output_config.format.schema: Field required`,
		done + `,"output_format":{"type":"xml"}`:                    `output_format.type: Input should be 'json_schema'`,
		done + `,"service_tier":"priority"`:                         `service_tier: Input should be 'auto' or 'standard_only'`,
		done + `,"metadata":{"user_id":7}`:                          `metadata.user_id: Input should be a valid string`,
		done + `,"inference_geo":"us"`:                              `inference_geo: only an Anthropic model`,
		done + `,"container":"c"`:                                   `container: only Anthropic models support this member`,
		done + `,"mcp_servers":[{"type":"url"}]`:                    `mcp_servers: only Anthropic models support this member`,
		done + `,"tools":{}`:                                        `tools: Input should be a valid list`,
		done + `,"tools":[{"name":"f"}]`:                            `tools.0.input_schema: Field required`,
		done + `,"tools":[{"name":"a b","input_schema":{}}]`: `tools.0.name: String should match ` +
			`pattern '^[a-zA-Z0-9_-]{1,128}$'`,
		done + `,"tools":[{"type":"computer_20250124","name":"computer"}]`: `tools.0.type: only Anthropic's models are trained`,
		done + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`: "tools.0.type: the tool `web_search_20250305` " +
			"runs at Anthropic: it needs an Anthropic model",
		done + `,"tools":[{"name":"f","input_schema":{}},{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool",` +
			`"name":"web_search"}`: "tool_choice.name: the tool `web_search` runs at Anthropic",
		done + `,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"g"}`: `tool_choice.` +
			`name: Tool 'g' not found in provided tools`,
		done + `,"tool_choice":{"type":"any"}`: "tool_choice: `tool_choice` may only be specified while providing `tools`",
		done + `,"tool_choice":{"type":"all"}`: `tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'`,
	} {
		e := faultOf(t, body)
		if !strings.HasPrefix(e.Message, want) || e.Status != 400 || !strings.HasPrefix(e.Message, fieldName(e.Param)+":") {
			t.Errorf("%s: %s: %q", body, e.Param, e.Message)
		}
	}
}

func TestThoughtsComeBack(t *testing.T) {
	sealed := roundtrip.Seal(&llm.Thought{Kind: llm.ThoughtEncrypted, Format: llm.FormatOpenAI, Model: "gpt-6", ItemID: "rs_1", Data: "enc"})
	packed := roundtrip.Pack("call_1", &llm.Thought{Kind: llm.ThoughtEncrypted, Format: llm.FormatGemini, Data: "g|sig"})
	reasoned := roundtrip.Pack("call_1", &llm.Thought{Kind: llm.ThoughtEncrypted, Format: llm.FormatOpenAI, Model: "gpt-6",
		ItemID: "rs_1", Data: "enc"})
	call := func(id string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"f"}]},{"role":"user","content":[{"type":"tool_result",` +
			`"tool_use_id":"` + id + `"}]}]`
	}
	for name, tt := range map[string]struct{ body, want string }{
		"Claude's own": {asked + `{"type":"thinking","thinking":"why","signature":"EqQB"},{"type":"text","text":"b"}]}]`,
			`thought {Kind:0 Text:why Signature:EqQB Data: Format:anthropic-claude-v1 `},
		"Claude's own without a text": {asked + `{"type":"thinking","thinking":"","signature":"EqQB"}]}]`,
			`thought {Kind:0 Text: Signature:EqQB Data: Format:anthropic-claude-v1 `},
		"redacted": {asked + `{"type":"redacted_thinking","data":"zz"}]}]`, `thought {Kind:2 Text: ` +
			`Signature: Data:zz Format:anthropic-claude-v1 `},
		"another provider's": {asked + `{"type":"thinking","thinking":"why","signature":"` + sealed + `"}]}]`,
			`thought {Kind:2 Text:why Signature: Data:enc Format:openai-responses-v1 Model:gpt-6 ItemID:rs_1 `},
		"another provider's, redacted": {asked + `{"type":"redacted_thinking","data":"` + sealed + `"}]}]`,
			`Data:enc Format:openai-responses-v1 Model:gpt-6 ItemID:rs_1 `},
		"inside an id": {asked + call(packed), `call "call_1" ("` + packed + `") f {} signature "g|sig"`},
		"inside an id, with an item": {asked + call(reasoned),
			`thought {Kind:2 Text: Signature: Data:enc Format:openai-responses-v1 Model:gpt-6 ItemID:rs_1 CallID:call_1 `},
	} {
		if got := said(t, tt.body); !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	for _, block := range []string{
		`{"type":"thinking","thinking":"why","signature":""}`, `{"type":"thinking","thinking":"why"}`,
		`{"type":"thinking","thinking":"a","signature":"mgw1.??"}`,
	} {
		if got := said(t, asked+block+`,{"type":"text","text":"b"}]}]`); strings.Contains(got, "thought") || !strings.HasPrefix(got, "ignored []\n") {
			t.Errorf("%s:\n%s", block, got)
		}
	}
}

func TestABlockMayHaveManyMembers(t *testing.T) {
	var many strings.Builder
	for i := range 2 * 64 { // jsonbytes.Fields keeps 64 with names that are not known
		many.WriteString(`"a` + index(i) + `":1,`)
	}
	if got := said(t, `"messages":[{"role":"user","content":[{`+many.String()+`"text":"b","type":"text"}]}]`); !strings.Contains(got, `text "b"`) {
		t.Error(got)
	}
}

func TestWhatIsLeftOutIsNamed(t *testing.T) {
	req := decoded(t, head+`"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"},`+
		`"sparkle":1}]}],`+
		`"context_management":{"edits":[]},"speed":"fast","service_tier":"auto","diagnostics":{},"fallbacks":[],"novel":true,`+
		`"thinking":{"type":"adaptive","depth":7},"output_config":{"effort":"low","task_budget":{"type":"tokens"}},`+
		`"top_k":3,"cache_control":{"type":"ephemeral"},"tools":[{"name":"f","input_schema":{},"strict":true,"input_examples":[{}]},`+
		`{"type":"bash_20250124","name":"bash"},{"type":"web_search_20250305","name":"web_search","max_uses":1}],"tool_choice":{"type":"any","disable_parallel_tool_use":true}}`)
	if c, err := req.Source.Conversation(); err != nil || c.Tools[0].Strict == nil || !*c.Tools[0].Strict {
		t.Fatalf("%v: %+v", err, c)
	}
	got := req.Source.Ignored([]llm.Field{llm.FieldTopK, llm.FieldCache, llm.FieldPartCache, llm.FieldPartType})
	want := []string{
		"messages[].content[].sparkle", "messages[].content[].type", "context_management", "speed", "novel", "thinking.depth",
		"output_config.task_budget", "top_k", "tools[].input_examples", "tools[].type",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\n%q", got, want)
	}
}

func TestTheSizeOfAPrompt(t *testing.T) {
	image := base64.StdEncoding.EncodeToString(make([]byte, 30_000))
	const user = `"messages":[{"role":"user","content":[`
	for name, tt := range map[string]struct {
		body   string
		want   llm.Size
		images int
	}{
		"text": {user + `{"type":"text","text":"a"}]}]`, llm.Size{Messages: 1}, 0},
		"an image": {user + `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + image + `"}}]}]`,
			llm.Size{Messages: 1, Media: 1}, 1},
		"in a result": {user + `{"type":"tool_result","content":[{"source":{"data":"` + image + `","type":"base64",` +
			`"media_type":"image/png"},"type":"image"}]}]}]`, llm.Size{Messages: 1, Media: 1}, 1},
		"by its address": {user + `{"type":"image","source":{"type":"url","url":"https://a.example/` + strings.Repeat("b",
			5000) + `"}}]}]`, llm.Size{Messages: 1, Media: 1}, 1},
		"a stored image": {user + `{"type":"image","source":{"type":"file","file_id":"f"}}]}]`, llm.Size{Messages: 1,
			Media: 1, Opaque: true}, 0},
		"a PDF": {user + `{"type":"document","source":{"type":"base64","media_type":"application/pdf",` +
			`"data":"AAAA"}}]}]`, llm.Size{Messages: 1, Media: 1, Opaque: true}, 0},
		"a text document": {user + `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"AAAA"}}]}]`,
			llm.Size{Messages: 1}, 0},
		"a new block": {user + `{"type":"hologram"}]}]`, llm.Size{Messages: 1, Opaque: true}, 0},
		"a type in escapes": {user + `{"type":"im\u0061ge","source":{"type":"base64","data":"AAAA"}}]}]`,
			llm.Size{Messages: 1, Opaque: true}, 0},
		"tools": {`"messages":[],"tools":[{"name":"f"},{"name":"g"}],"output_config":{"format":{}}`,
			llm.Size{Tools: 2, Shaped: true}, 0},
		"a search":  {`"messages":[],"tools":[{"type":"web_search_20250305","max_uses":2}]`, llm.Size{Tools: 1, Hosted: true}, 0},
		"servers":   {`"messages":[],"mcp_servers":[{}]`, llm.Size{Hosted: true}, 0},
		"a thread":  {`"messages":[],"thread":{"type":"continue","previous_message_id":"msg_1"}`, llm.Size{Hosted: true}, 0},
		"its start": {`"messages":[],"thread":{"type":"create"}`, llm.Size{}, 0},
	} {
		body := head + tt.body + "}"
		got := decoded(t, body).Source.Size()
		if len(got.Images) != tt.images || got.Bytes > 300 {
			t.Errorf("%s: %d bytes, images %.40q", name, got.Bytes, got.Images)
		}
		if tt.want.Media == 0 && got.Bytes != int64(len(body)) {
			t.Errorf("%s: %d bytes of %d", name, got.Bytes, len(body))
		}
		got.Bytes, got.Images = 0, nil
		if got.Messages != tt.want.Messages || got.Tools != tt.want.Tools || got.Shaped != tt.want.Shaped || got.Media != tt.want.Media ||
			got.Opaque != tt.want.Opaque || got.Hosted != tt.want.Hosted {
			t.Errorf("%s: %+v, not %+v", name, got, tt.want)
		}
	}
}

func TestTextsOfAPrompt(t *testing.T) {
	req := decoded(t, head+`"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"a\nb"},{"type":"image",`+
		`"source":{"type":"base64","data":"AAAA"}},`+
		`{"type":"document","source":{"type":"text","data":"doc"}},{"type":"tool_use","name":"f","id":"x","input":{"q":1}}]}],`+
		`"tools":[{"name":"f","input_schema":{"type":"object"}}]}`)
	got := slices.Collect(req.Source.Texts())
	want := []string{"f", `{"type":"object"}`, "s", "user", "a\nb", "doc", "f", `{"q":1}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q\n%q", got, want)
	}
	for range req.Source.Texts() {
		break
	}
}

// What is no request has no size, as at Anthropic.
func TestACountNeedsMessages(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m","messages":"a text","tools":[]}`: "messages: Input should be a valid list",
		`{"model":"m","messages":[]}`:                  "messages: at least one message is required",
		`{"model":"m","system":"s"}`:                   "messages: Field required",
	} {
		req, err := DecodeCount(nil, []byte(body))
		if err == nil {
			_, err = req.Source.Conversation()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// The last message may hold nothing but a tool that is added: the user's turn before it is what the model
// answers.
func TestAMessageThatOnlyAddsAToolEndsAConversation(t *testing.T) {
	const turn = head + `"tools":[{"name":"load","input_schema":{"type":"object"}},{"name":"look","defer_loading":true,"input_schema":{"type":"object"}}],` +
		`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"load","input":{}}]},`
	const result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"{}"}]},`
	const adds = `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"look"}}]}]}`
	if got := dump(decoded(t, turn+result+adds)); !strings.Contains(got, "look") {
		t.Error(got)
	}
	const lost = head + `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":[{"type":"hologram"}]},`
	if _, err := decoded(t, lost+adds).Source.Conversation(); err == nil {
		t.Error("nothing of the user's turn is left")
	}
}

// Several providers may translate a request at the same time.
func TestAConversationIsMadeOnce(t *testing.T) {
	req := decoded(t, head+`"messages":[{"role":"user","content":"a"}]}`)
	var all [8]*llm.Conversation
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			all[i], _ = req.Source.Conversation()
			req.Source.Ignored(nil)
			req.Source.Size()
		})
	}
	wait.Wait()
	for _, c := range all {
		if c == nil || c != all[0] {
			t.Errorf("%p, not %p", c, all[0])
		}
	}
}
