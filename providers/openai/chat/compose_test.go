package chat

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
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
)

// written are chat requests whose translations from the common form are in
// testdata/golden.
var written = []struct{ name, model, body, ignored string }{
	{"written conversation", "gpt-4", openaitest.Saying(`{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"<é>"},`+
		`{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},{"type":"input_audio","input_audio":`+
		`{"data":"AA==","format":"wav"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"a.pdf"}}]},`+
		`{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},{"role":"developer","content":"d"},`+
		`{"role":"user","content":"more"},{"role":"assistant","content":null,"refusal":"no"},{"role":"user","content":"why"}`) + `}`, ""},
	{"written tool loop", "gpt-5", openaitest.Saying(`{"role":"user","content":"q"},{"role":"assistant","content":"t","tool_calls":[`+
		`{"id":"`+packed+`","type":"function","function":{"name":"lookup","arguments":"{ \"z\":1.0,\"a\":12345678901234567890 }"}},`+
		`{"id":"c2","type":"custom","custom":{"name":"sh","input":"ls \"x\""}}]},{"role":"tool","tool_call_id":"c2","content":""},`+
		`{"role":"tool","tool_call_id":"`+packed+`","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]},`+
		`{"role":"user","content":"go on"}`) + `,"tools":[` + openaitest.Lookup +
		`,{"type":"custom","custom":{"name":"sh","format":{"type":"text"}}}],` +
		`"tool_choice":{"type":"function","function":{"name":"lookup"}},"parallel_tool_calls":false}`, ""},
	{"written allowed tools", "gpt-4", openaitest.Hello + `,"tools":[` + openaitest.Lookup +
		`],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":` +
		`"required","tools":[{"type":"function","function":{"name":"lookup"}}]}}}`, ""},
	{"written custom choice", "gpt-4", openaitest.Hello + `,"tools":[{"type":"custom","custom":{"name":"sh"}}],` +
		`"tool_choice":{"type":"custom","custom":{"name":"sh"}}}`, ""},
	{"written strict that is not enforceable", "gpt-4", openaitest.Hello +
		`,"tools":[{"type":"function","function":{"name":"f","strict":true,` +
		`"parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}],"response_format":{"type":"json_schema","json_schema":` +
		`{"name":"n","strict":true,"schema":{"type":"array"}}}}`, "tools[].function.strict response_format"},
	{"written schema", "gpt-4", openaitest.Hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","strict":true,` +
		`"schema":{"type":"object","properties":{"b":{"type":"array","items":{"$ref":"#/$defs/x"}}},"required":["b"],` +
		`"additionalProperties":false,"$defs":{"x":{"type":"object","properties":{},"additionalProperties":false}}}}}}`, ""},
	{"written JSON mode", "gpt-4", openaitest.Saying(`{"role":"user","content":"JSON, please"}`) +
		`,"response_format":{"type":"json_object"},"seed":7,"n":2,"stop":"END","logprobs":true,` +
		`"top_logprobs":2,"logit_bias":{"50256":-100},"user":"u","safety_identifier":"` + strings.Repeat("s", 65) +
		`","metadata":{"b":"2","a":"1"},"service_tier":"flex","frequency_penalty":1,"presence_penalty":0.5,"temperature":0.2,"top_p":0.9,` +
		`"modalities":["text"],"web_search_options":{}}`, ""},
	{"written functions", "gpt-4", openaitest.Saying(`{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f",`+
		`"arguments":"{}"}},{"role":"function","name":"f","content":"1"}`) + `,"functions":[{"name":"f"}],"function_call":{"name":"f"}}`, ""},
	{"written for a reasoning model", "gpt-6-sol", openaitest.Hello +
		`,"max_tokens":9,"temperature":0.2,"top_p":1,"reasoning_effort":"minimal"}`,
		"temperature"},
	{"written for a model that is not known", "qwen", openaitest.Hello + `,"max_tokens":9,"reasoning_effort":"minimal","temperature":0.2}`,
		""},
	{"written thinking by budget", "gpt-5.4", openaitest.Hello + `,"thinking":{"type":"enabled","budget_tokens":16000},"temperature":0.2}`,
		"temperature"},
	{"written thinking switched off", "gpt-5", openaitest.Hello + `,"thinking":{"type":"disabled"}}`, "thinking"},
	{"written thinking of a model that does not think", "gpt-4", openaitest.Hello +
		`,"thinking":{"type":"enabled","budget_tokens":2000},"top_k":5,` +
		`"cache_control":{"type":"ephemeral"},"verbosity":"low","reasoning_effort":"low"}`, "thinking top_k cache_control verbosity"},
	{"written marks", "gpt-4", openaitest.Saying(`{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}],"name":"n"},`+
		`{"role":"assistant","content":"a","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}],"reasoning_details":`+
		`[{"type":"reasoning.text","text":"hm","signature":"s","format":"anthropic-claude-v1","index":0}]},{"role":"user","content":"r",`+
		`"cache_control":{"type":"ephemeral"}}`) + `}`,
		"messages[].cache_control messages[].content[].cache_control messages[].images messages[].name"},
	{"written stream", "gpt-4", openaitest.Hello + `,"stream":true}`, ""},
}

func TestRequestsAreWrittenFromTheCommonForm(t *testing.T) {
	for _, tt := range written {
		t.Run(tt.name, func(t *testing.T) {
			req, err := chat.Decode(nil, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			x, err := apiAt("http://127.0.0.1:1").Prepare(providers.Call{Request: providertest.Foreign(req), Model: openaitest.Model(t, tt.model)})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(x.Properties().Ignored, " "); got != tt.ignored {
				t.Errorf("ignored %q, want %q", got, tt.ignored)
			}
			openaitest.Golden(t, tt.name, sentBody(x))
		})
	}
}

func composed(t *testing.T, m *catalog.Model, c llm.Conversation, change func(*llm.Request)) (providers.Exchange, error) {
	t.Helper()
	req, err := chat.Decode(nil, []byte(openaitest.Hello+`}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Source = &openaitest.Conversation{Source: req.Source, Said: c}
	if change != nil {
		change(req)
	}
	return apiAt("http://127.0.0.1:1").Prepare(providers.Call{Request: req, Model: m})
}

const longestPart = 90

// What only other dialects can say.
func TestWhatNoChatRequestCanSayIsWritten(t *testing.T) {
	long := strings.Repeat("n", longestPart)
	yes := true
	said := llm.Conversation{
		Messages: []llm.Message{
			{Blocks: []llm.Block{
				openaitest.Text("q"),
				openaitest.Media(llm.Media{Kind: llm.File, Text: "plain", Title: "T", Context: "c", Citations: true}),
				openaitest.Media(llm.Media{Kind: llm.SearchResult, Text: "found", Title: "F", URL: "https://example.com"}),
				openaitest.Media(llm.Media{Kind: llm.File, Data: "JVBERi0xLjQ=", Title: "paper"}),
			}},
			{Role: llm.RoleAssistant, Blocks: []llm.Block{
				{Kind: llm.BlockThought, Thought: &llm.Thought{Format: llm.FormatOpenAI, Kind: llm.ThoughtEncrypted, Data: "x"}},
				openaitest.Text("a"), openaitest.Called("1", long), openaitest.Text("b"), openaitest.Called("2", "lookup"), openaitest.Called("3",
					"lookup"),
				{Kind: llm.BlockHosted, Hosted: jsontext.Value(`{}`)},
			}},
			{Blocks: []llm.Block{
				openaitest.Result("2", true, openaitest.Text("broken")), openaitest.Result("3", true),
				openaitest.Text("and"),
				openaitest.Result("1", false, openaitest.Media(llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="})),
			}},
			{Role: llm.RoleInstructions, Blocks: []llm.Block{openaitest.Text("now")}},
		},
		Tools: []llm.Tool{
			{Type: "function", Name: long}, {Type: "function", Namespace: "ns", Name: "lookup", Strict: &yes, Cache: jsontext.Value(`{}`)},
		},
		Choice: &llm.ToolChoice{Mode: llm.ChooseNamed, Name: "lookup"},
		Format: &llm.Format{Schema: jsontext.Value(`{"type":"object","additionalProperties":false}`)},
	}
	x, err := composed(t, openaitest.Model(t, "gpt-5"), said, func(r *llm.Request) {
		r.ServiceTier, r.Stop = "standard_only", []string{"1",
			"2", "3", "4", "5"}
	})
	if err != nil {
		t.Fatal(err)
	}
	const ignored = "messages[].content[].citations messages[].content[].type messages[].reasoning_details service_tier stop " +
		"tools[].cache_control"
	if got := x.Properties().Ignored; strings.Join(sorted(got), " ") != ignored {
		t.Errorf("ignored %q", got)
	}
	openaitest.Golden(t, "written from another dialect", sentBody(x))
	var sent request
	if err := json.Unmarshal(sentBody(x), &sent); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]string{{"", long}, {"ns", "lookup"}} {
		name := sent.Tools[i].Function.Name
		if space, original := x.(*exchange).names.Original(name); ([2]string{space, original}) != want || len(name) > 64 {
			t.Errorf("%s is %q of %q", name, original, space)
		}
	}
}

func TestInstructionsWaitForTheResults(t *testing.T) {
	x, err := composed(t, openaitest.Model(t, "gpt-4"), llm.Conversation{Messages: []llm.Message{
		{Role: llm.RoleAssistant, Blocks: []llm.Block{openaitest.Called("1", "f"), openaitest.Called("2", "f")}},
		{Blocks: []llm.Block{openaitest.Result("1", false, openaitest.Text("r1"))}},
		{Role: llm.RoleInstructions, Blocks: []llm.Block{openaitest.Text("s")}},
		{Blocks: []llm.Block{openaitest.Result("2", false, openaitest.Text("r2"))}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var sent request
	if err := json.Unmarshal(sentBody(x), &sent); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range sent.Messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "assistant tool tool system" {
		t.Errorf("roles %s", got)
	}
}

func TestWhatWouldChangeTheMeaningIsRefused(t *testing.T) {
	user := func(blocks ...llm.Block) llm.Conversation {
		return llm.Conversation{Messages: []llm.Message{{Blocks: blocks}}}
	}
	assistant := func(blocks ...llm.Block) llm.Message { return llm.Message{Role: llm.RoleAssistant, Blocks: blocks} }
	for name, tt := range map[string]struct {
		said   llm.Conversation
		change func(*llm.Request)
		param  string
	}{
		"spoken answer": {user(openaitest.Text("q")), func(r *llm.Request) { r.Modalities = []string{"text", "audio"} }, "modalities"},
		"no content":    {user(), nil, "messages"},
		"file by id":    {user(openaitest.Media(llm.Media{Kind: llm.File, FileID: "f"})), nil, "messages[0].content[0].file.file_id"},
		"file by URL": {user(openaitest.Media(llm.Media{Kind: llm.File, URL: "https://example.com/a.pdf"})), nil,
			"messages[0].content[0].file.file_data"},
		"search result": {user(openaitest.Media(llm.Media{Kind: llm.SearchResult})), nil, "messages[0].content[0].type"},
		"provider tool": {llm.Conversation{Messages: user(openaitest.Text("q")).Messages, Tools: []llm.Tool{{Kind: llm.ToolClient,
			Type: "shell"}}}, nil, "tools[0].type"},
		"choice of none": {llm.Conversation{Messages: user(openaitest.Text("q")).Messages, Choice: &llm.ToolChoice{Mode: llm.ChooseRequired}},
			nil, "tool_choice"},
		"image as instructions": {llm.Conversation{Messages: []llm.Message{{Role: llm.RoleInstructions,
			Blocks: []llm.Block{openaitest.Media(llm.Media{URL: "https://example.com"})}}}}, nil, "messages[0].content[0].type"},
		"orphan": {user(openaitest.Result("1", false)), nil, "messages[0].tool_call_id"},
		"answered twice": {llm.Conversation{Messages: []llm.Message{assistant(openaitest.Called("1", "f")),
			{Blocks: []llm.Block{openaitest.Result("1", false)}},
			{Blocks: []llm.Block{openaitest.Result("1", false)}}}}, nil, "messages[0].tool_call_id"},
		"not answered": {llm.Conversation{Messages: []llm.Message{assistant(openaitest.Called("1", "f")),
			{Blocks: []llm.Block{openaitest.Text("q")}}}}, nil, "messages[0]"},
		"half answered": {llm.Conversation{Messages: []llm.Message{assistant(openaitest.Called("1", "f"), openaitest.Called("2", "f")),
			{Blocks: []llm.Block{openaitest.Result("2", false)}}}}, nil, "messages[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := composed(t, openaitest.Model(t, "gpt-5"), tt.said, tt.change)
			if e := api.AsError(err); err == nil || e.Status != 400 || e.Param != tt.param {
				t.Errorf("got %+v, %v, want %s", e, err, tt.param)
			}
		})
	}
}

func TestLimitBeyondTheModelsOwnIsLowered(t *testing.T) {
	m := openaitest.Model(t, "gpt-4")
	m.MaxOutput = 100
	x, err := composed(t, m, llm.Conversation{Messages: []llm.Message{{Blocks: []llm.Block{openaitest.Text("q")}}}}, func(r *llm.Request) {
		r.MaxOutput = new(int64)
		*r.MaxOutput = 32_000
	})
	if err != nil || !strings.Contains(string(sentBody(x)), `"max_tokens":100`) || len(x.Properties().Ignored) != 1 {
		t.Errorf("%s, %v, %v", sentBody(x), x.Properties().Ignored, err)
	}
}

// The names that were shortened come back as they were, in streams and answers.
func TestNamesOfToolsComeBackAsTheyWere(t *testing.T) {
	long := strings.Repeat("n", longestPart)
	var names compose.ToolNames
	wire := names.Upstream("ns", long)
	for _, stream := range []bool{false, true} {
		body := `{"choices":[{"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"` + wire + `","arguments":"{}"}}]}}]}`
		if stream {
			body = data(part(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"`+wire+`","arguments":"{}"}}]}`, "tool_calls"), done)
		}
		p := apiAnswering(t, 200, "text/plain", body)
		req, err := chat.Decode(nil, []byte(openaitest.Hello+`}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Stream = stream
		req.Source = &openaitest.Conversation{Source: req.Source, Said: llm.Conversation{
			Messages: []llm.Message{{Blocks: []llm.Block{openaitest.Text("q")}}}, Tools: []llm.Tool{{Namespace: "ns", Name: long}},
		}}
		x, err := p.Prepare(providers.Call{Request: req, Model: openaitest.Model(t, "gpt-4")})
		if err != nil {
			t.Fatal(err)
		}
		events, err := x.Open(t.Context(), openaitest.Key)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := llm.Collect(events)
		if err != nil || len(answer.Choices) != 1 || len(answer.Choices[0].Blocks) != 1 {
			t.Fatalf("%+v, %v", answer, err)
		}
		if c := answer.Choices[0].Blocks[0].Call; c.Name != long || c.Namespace != "ns" || c.Input != "{}" {
			t.Errorf("%+v", c)
		}
	}
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }
