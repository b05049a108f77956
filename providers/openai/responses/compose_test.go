package responses

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
)

// responded writes a request of another dialect for the Responses API.
func responded(t *testing.T, m *catalog.Model, c llm.Conversation, change func(*llm.Request)) (*respondingExchange, error) {
	t.Helper()
	req, err := chat.Decode(nil, []byte(openaitest.Hello+`}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Source = &openaitest.Conversation{Source: req.Source, Said: c}
	if change != nil {
		change(req)
	}
	x, err := apiAt("http://127.0.0.1:1").respond(providers.Call{Request: req, Model: m})
	if err != nil {
		return nil, err
	}
	return x.(*respondingExchange), nil
}

// sentInput is the input and the rest of a request, as they are sent.
func sentInput(t *testing.T, m *catalog.Model, c llm.Conversation, change func(*llm.Request)) (items []string,
	rest map[string]jsontext.Value, x *respondingExchange,
) {
	t.Helper()
	x, err := responded(t, m, c, change)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(x.body, &rest); err != nil {
		t.Fatal(err)
	}
	var input []jsontext.Value
	if err := json.Unmarshal(rest["input"], &input); err != nil {
		t.Fatal(err)
	}
	for _, item := range input {
		items = append(items, string(item))
	}
	delete(rest, "input")
	return items, rest, x
}

func turn(role llm.Role, blocks ...llm.Block) llm.Message {
	return llm.Message{Role: role, Blocks: blocks}
}

func thought(t llm.Thought) llm.Block { return llm.Block{Kind: llm.BlockThought, Thought: &t} }

func marked(b llm.Block) llm.Block {
	b.Cache = jsontext.Value(`{"type":"ephemeral"}`)
	return b
}

// packed is the id of a call that carries a thought of Gemini.
var packed = chat.PackID("call_1", []chat.ReasoningDetail{{Type: chat.ReasoningEncrypted, Data: "x", Format: llm.FormatGemini}})

// respondedGoldens are chat requests whose translations for the Responses API are in
// testdata/golden.
var respondedGoldens = []struct{ name, model, body, ignored string }{
	{"responses conversation", "gpt-6-sol", openaitest.Saying(`{"role":"system","content":"s"},{"role":"system","content":"t"},{"role":"user","content":[{"type":"text",`+
		`"text":"<é>"},{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},{"type":"file","file":`+
		`{"file_data":"data:application/pdf;base64,JVBERi0="}}]},{"role":"assistant","content":[{"type":"text","text":"one"},`+
		`{"type":"text","text":"two"}]},{"role":"developer","content":"d"},{"role":"user","content":"more"},{"role":"assistant",`+
		`"content":null,"refusal":"no"},{"role":"user","content":"why"}`) + `}`, ""},
	{"responses tool loop", "gpt-5", openaitest.Saying(`{"role":"user","content":"q"},{"role":"assistant","content":"t","tool_calls":[`+
		`{"id":"`+packed+`","type":"function","function":{"name":"lookup","arguments":"{ \"z\":1.0,\"a\":12345678901234567890 }"}},`+
		`{"id":"c2","type":"custom","custom":{"name":"sh","input":""}}]},{"role":"tool","tool_call_id":"c2","content":""},`+
		`{"role":"tool","tool_call_id":"`+packed+`","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]},`+
		`{"role":"user","content":"go on"}`) + `,"tools":[` + openaitest.Lookup +
		`,{"type":"custom","custom":{"name":"sh","description":"d","format":` +
		`{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"x\""}}}},{"type":"custom","custom":{"name":"t","format":{"type":"text"}}}],` +
		`"tool_choice":{"type":"function","function":{"name":"lookup"}},"parallel_tool_calls":false}`, ""},
	{"responses allowed tools", "gpt-5", openaitest.Hello + `,"tools":[` + openaitest.Lookup +
		`,{"type":"function","function":{"name":"f","strict":true}}],` +
		`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":` +
		`{"name":"lookup"}}]}}}`, ""},
	{"responses custom choice", "gpt-5", openaitest.Hello + `,"tools":[{"type":"custom","custom":{"name":"sh"}}],` +
		`"tool_choice":{"type":"custom","custom":{"name":"sh"}}}`, ""},
	{"responses schema", "gpt-6-sol", openaitest.Hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d",` +
		`"strict":true,"schema":{"type":"object","properties":{},"additionalProperties":false}}},"max_tokens":5,"reasoning_effort":"max",` +
		`"temperature":0.3,"top_p":1}`, "reasoning_effort temperature"},
	{"responses JSON mode", "gpt-5.2", openaitest.Saying(`{"role":"user","content":"JSON, please"}`) +
		`,"response_format":{"type":"json_object"},"seed":7,` +
		`"n":2,"stop":"END","logprobs":true,"top_logprobs":2,"logit_bias":{"50256":-100},"user":"u","safety_identifier":"u-1",` +
		`"metadata":{"b":"2","a":"1"},"service_tier":"flex","frequency_penalty":1,"presence_penalty":0,"temperature":0.2,"top_p":0.9,` +
		`"modalities":["text"],"web_search_options":{},"max_tokens":100}`,
		"seed n logprobs top_logprobs logit_bias frequency_penalty web_search_options"},
	{"responses thinking", "gpt-5.4", openaitest.Hello + `,"thinking":{"type":"enabled","budget_tokens":16000},"temperature":0.2,"stream":true}`,
		"temperature"},
	{"responses thinking switched off", "gpt-5", openaitest.Hello + `,"thinking":{"type":"disabled"}}`, "thinking"},
	{"responses of a model that does not reason", "gpt-4.1", openaitest.Hello + `,"temperature":0.2}`, ""},
}

func TestResponsesRequestsAreWrittenFromTheCommonForm(t *testing.T) {
	for _, tt := range respondedGoldens {
		t.Run(tt.name, func(t *testing.T) {
			req, err := chat.Decode(nil, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			p, call := apiAt("http://127.0.0.1:1"), providers.Call{Request: providertest.Foreign(req), Model: openaitest.Model(t, tt.model)}
			x, err := p.respond(call)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(x.Properties().Ignored, " "); got != tt.ignored {
				t.Errorf("ignored %q, want %q", got, tt.ignored)
			}
			body := x.(*respondingExchange).body
			openaitest.Golden(t, tt.name, body)
			again, err := p.respond(call)
			if err != nil || string(again.(*respondingExchange).body) != string(body) {
				t.Errorf("the same request has other bytes: %v", err)
			}
		})
	}
}

func TestInstructionsAreAMemberWhereTheyAreOnlyText(t *testing.T) {
	mark := func(m llm.Message) llm.Message {
		m.Blocks[len(m.Blocks)-1] = marked(m.Blocks[len(m.Blocks)-1])
		return m
	}
	system := func() llm.Message { return turn(llm.RoleInstructions, openaitest.Text("a"), openaitest.Text("b")) }
	question := turn(llm.RoleUser, openaitest.Text("q"))
	for name, tt := range map[string]struct {
		messages     []llm.Message
		instructions string
		items        []string
	}{
		"text": {[]llm.Message{system(), question}, `"a\n\nb"`, []string{`{"role":"user","content":"q"}`}},
		"marked": {[]llm.Message{mark(system()), question}, "", []string{
			`{"role":"developer","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b",` +
				`"prompt_cache_breakpoint":{"mode":"explicit"}}]}`,
			`{"role":"user","content":"q"}`,
		}},
		"alone": {[]llm.Message{turn(llm.RoleInstructions, openaitest.Text("a"))}, "", []string{`{"role":"developer","content":"a"}`}},
		"in the middle": {[]llm.Message{question, system()}, "", []string{
			`{"role":"user","content":"q"}`, `{"role":"developer","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}`,
		}},
		"before results": {[]llm.Message{turn(llm.RoleAssistant, openaitest.Called("1", "f")), turn(llm.RoleInstructions, openaitest.Text("s")),
			turn(llm.RoleUser, openaitest.Result("1", false, openaitest.Text("r")))}, "", []string{
			`{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"1","output":"r"}`, `{"role":"developer","content":"s"}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			items, rest, x := sentInput(t, openaitest.Model(t, "gpt-6-sol"), llm.Conversation{Messages: tt.messages}, nil)
			if got := string(rest["instructions"]); got != tt.instructions || !slices.Equal(items, tt.items) || len(x.Properties().Ignored) > 0 && name != "marked" {
				t.Errorf("instructions %s, items %s, ignored %v", got, items, x.Properties().Ignored)
			}
		})
	}
}

func TestThoughtsOfOpenAIComeBackAsTheyWere(t *testing.T) {
	own := func(id, text, data string, kind llm.ThoughtKind) llm.Block {
		return thought(llm.Thought{Format: llm.FormatOpenAI, Kind: kind, ItemID: id, Text: text, Data: data})
	}
	reasoning := func(id, summary, data string) string {
		if summary != "" {
			summary = `{"type":"summary_text","text":"` + summary + `"}`
		}
		return `{"type":"reasoning","id":"` + id + `","summary":[` + summary + `],"encrypted_content":"` + data + `"}`
	}
	const call = `{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`
	answered := turn(llm.RoleUser, openaitest.Result("1", false))
	const output = `{"type":"function_call_output","call_id":"1","output":""}`
	for name, tt := range map[string]struct {
		messages []llm.Message
		want     []string
	}{
		"between what was said": {
			[]llm.Message{turn(llm.RoleAssistant, own("r1", "why", "e1", llm.ThoughtEncrypted), openaitest.Text("a"), openaitest.Text("b"),
				own("r2", "", "e2", llm.ThoughtEncrypted), openaitest.Called("1", "f")), answered},
			[]string{reasoning("r1", "why", "e1"), `{"role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}`,
				reasoning("r2", "", "e2"), call, output},
		},
		"summary apart": {
			[]llm.Message{turn(llm.RoleAssistant, own("r1", "why", "", llm.ThoughtSummary), own("r1", "", "e1", llm.ThoughtEncrypted),
				own("r2", "", "e2", llm.ThoughtEncrypted), openaitest.Called("1", "f")), answered},
			[]string{reasoning("r1", "why", "e1"), reasoning("r2", "", "e2"), call, output},
		},
		"summary alone": {
			[]llm.Message{turn(llm.RoleAssistant, own("r1", "why", "", llm.ThoughtSummary), openaitest.Called("1", "f")), answered},
			[]string{call, output},
		},
		"of others": {
			[]llm.Message{turn(llm.RoleAssistant, thought(llm.Thought{Format: llm.FormatAnthropic, Data: "x", Signature: "s"}),
				thought(llm.Thought{Format: llm.FormatGemini, Data: "x"}), thought(llm.Thought{Data: "x"}), openaitest.Called("1", "f")), answered},
			[]string{call, output},
		},
		"twice": {
			[]llm.Message{turn(llm.RoleAssistant, own("r1", "", "e1", llm.ThoughtEncrypted), own("r1", "", "e1", llm.ThoughtEncrypted),
				openaitest.Called("1", "f")), answered},
			[]string{reasoning("r1", "", "e1"), call, output},
		},
		"nothing follows": {
			[]llm.Message{turn(llm.RoleAssistant, own("r1", "", "e1", llm.ThoughtEncrypted)), turn(llm.RoleUser, openaitest.Text("q")),
				turn(llm.RoleAssistant, openaitest.Text("a"), own("r2", "", "e2", llm.ThoughtEncrypted))},
			[]string{`{"role":"user","content":"q"}`, `{"role":"assistant","content":[{"type":"output_text","text":"a"}]}`},
		},
		"in a message of its own": {
			[]llm.Message{turn(llm.RoleAssistant, own("r1", "", "e1", llm.ThoughtEncrypted)), turn(llm.RoleAssistant, openaitest.Text("a"))},
			[]string{reasoning("r1", "", "e1"), `{"role":"assistant","content":[{"type":"output_text","text":"a"}]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if items, _, _ := sentInput(t, openaitest.Model(t, "gpt-5"), llm.Conversation{Messages: tt.messages}, nil); !slices.Equal(items,
				tt.want) {
				t.Errorf("got  %s\nwant %s", items, tt.want)
			}
		})
	}
}

func TestPicturesAndFilesStayInTheResultsOfTools(t *testing.T) {
	image := openaitest.Media(llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="})
	pdf := openaitest.Media(llm.Media{Kind: llm.File, URL: "data:application/pdf;base64,JVBERi0=", Title: "paper", Context: "of 2026"})
	items, _, _ := sentInput(t, openaitest.Model(t, "gpt-6-sol"), llm.Conversation{Messages: []llm.Message{
		turn(llm.RoleAssistant, openaitest.Called("1", "f"), openaitest.Called("2", "f"), openaitest.Called("3", "f"), openaitest.Called("4",
			"f")),
		turn(llm.RoleUser, openaitest.Result("1", false, openaitest.Text("see"), image), marked(openaitest.Result("2", true, pdf)),
			openaitest.Result("3", false),
			openaitest.Result("4", true), openaitest.Media(llm.Media{Kind: llm.File, URL: "https://example.com/a.pdf"}), openaitest.Text("go on")),
	}}, nil)
	want := []string{
		`{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"see"},` +
			`{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"}]}`,
		`{"type":"function_call_output","call_id":"2","output":[{"type":"input_text","text":"Error: <document title=\"paper\" context=\"of 2026\"/>"},` +
			`{"type":"input_file","file_data":"data:application/pdf;base64,JVBERi0=","filename":"paper",` +
			`"prompt_cache_breakpoint":{"mode":"explicit"}}]}`,
		`{"type":"function_call_output","call_id":"3","output":""}`,
		`{"type":"function_call_output","call_id":"4","output":"Error:"}`,
		`{"role":"user","content":[{"type":"input_file","file_url":"https://example.com/a.pdf"},{"type":"input_text","text":"go on"}]}`,
	}
	if len(items) != 9 || !slices.Equal(items[4:], want) {
		t.Errorf("got  %s\nwant %s", items, want)
	}
}

func TestLimitsBelowTheLeastAreRaised(t *testing.T) {
	for wish, want := range map[int64]string{1: "16", 16: "16", 17: "17", 1 << 40: "128000"} {
		_, rest, x := sentInput(t, openaitest.Model(t, "gpt-6-sol"), openaitest.Asking(openaitest.Text("q")),
			func(r *llm.Request) { r.MaxOutput = &wish })
		if got := string(rest["max_output_tokens"]); got != want || x.Properties().MaxOutput == 0 || (len(x.Properties().Ignored) > 0) != (wish > 1<<20) {
			t.Errorf("%d became %s, ignored %v", wish, got, x.Properties().Ignored)
		}
	}
}

func TestResponsesRefuseWhatWouldChangeTheMeaning(t *testing.T) {
	for name, tt := range map[string]struct {
		said  llm.Conversation
		param string
	}{
		"no content": {openaitest.Asking(), "messages"},
		"sound": {openaitest.Asking(openaitest.Media(llm.Media{Kind: llm.Audio, Data: "AA==", Format: "wav"})),
			"messages[0].content[0].type"},
		"file by id": {openaitest.Asking(openaitest.Media(llm.Media{Kind: llm.File, FileID: "f"})), "messages[0].content[0].file.file_id"},
		"provider tool": {llm.Conversation{Messages: openaitest.Asking(openaitest.Text("q")).Messages, Tools: []llm.Tool{{Kind: llm.ToolClient,
			Type: "shell"}}}, "tools[0].type"},
		"choice of none": {llm.Conversation{Messages: openaitest.Asking(openaitest.Text("q")).Messages,
			Choice: &llm.ToolChoice{Mode: llm.ChooseRequired}}, "tool_choice"},
		"orphan": {openaitest.Asking(openaitest.Result("1", false)), "messages[0].tool_call_id"},
		"not answered": {llm.Conversation{Messages: []llm.Message{turn(llm.RoleAssistant, openaitest.Called("1", "f")), turn(llm.RoleUser,
			openaitest.Text("q"))}}, "messages[0]"},
		"half answered": {llm.Conversation{Messages: []llm.Message{turn(llm.RoleAssistant, openaitest.Called("1", "f"), openaitest.Called("2",
			"f")),
			turn(llm.RoleUser, openaitest.Result("2", false))}}, "messages[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := responded(t, openaitest.Model(t, "gpt-5"), tt.said, nil)
			if e := api.AsError(err); err == nil || e.Status != 400 || e.Param != tt.param {
				t.Errorf("got %+v, %v, want %s", e, err, tt.param)
			}
		})
	}
}
