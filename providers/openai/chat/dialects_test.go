package chat

import (
	"fmt"
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
)

// sentRequest is the body of a composed request, decoded.
func sentRequest(t *testing.T, m *catalog.Model, c llm.Conversation, change func(*llm.Request)) (request, providers.Exchange) {
	t.Helper()
	x, err := composed(t, m, c, change)
	if err != nil {
		t.Fatal(err)
	}
	var sent request
	if err := json.Unmarshal(sentBody(x), &sent); err != nil {
		t.Fatal(err)
	}
	return sent, x
}

func TestCacheIsNotFilledWithoutAnAnswer(t *testing.T) {
	_, err := composed(t, openaitest.Model(t, "gpt-5"), openaitest.Asking(openaitest.Text("q")),
		func(r *llm.Request) { r.MaxOutput = new(int64) })
	if e := api.AsError(err); err == nil || e.Status != 400 || e.Param != "max_tokens" || e.Code != api.CodeUnsupportedValue {
		t.Errorf("%v", err)
	}
}

func TestToolsBeyondTheLimitAreLeftOutButForTheForcedOne(t *testing.T) {
	c := openaitest.Asking(openaitest.Text("q"))
	for i := range 200 {
		c.Tools = append(c.Tools, llm.Tool{Name: fmt.Sprint("f", i)})
	}
	for forced, last := range map[string]string{"f5": "f127", "f150": "f150", "": "f127"} {
		if forced != "" {
			c.Choice = &llm.ToolChoice{Mode: llm.ChooseNamed, Name: forced}
		} else {
			c.Choice = &llm.ToolChoice{Mode: llm.ChooseRequired}
		}
		sent, x := sentRequest(t, openaitest.Model(t, "gpt-5"), c, nil)
		if n := len(sent.Tools); n != 128 || sent.Tools[n-1].Function.Name != last || !slices.Equal(x.Properties().Ignored,
			[]string{"tools[]"}) {
			t.Errorf("%q: %d tools, the last is %s, ignored %v", forced, n, sent.Tools[n-1].Function.Name, x.Properties().Ignored)
		}
	}
}

const legalLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

func TestNamesAndIDsOfOtherDialectsBecomeLegal(t *testing.T) {
	long := strings.Repeat("n", longestPart)
	c := llm.Conversation{
		Messages: []llm.Message{
			{Role: llm.RoleAssistant, Blocks: []llm.Block{openaitest.Called("functions.Bash:0", "mcp.read file"), openaitest.Called("a", "f"),
				openaitest.Called("a", "f")}},
			{Blocks: []llm.Block{openaitest.Result("functions.Bash:0", false, openaitest.Text("1")), openaitest.Result("a", false,
				openaitest.Text("2")), openaitest.Result("a", false,
				openaitest.Text("3"))}},
			{Role: llm.RoleAssistant, Blocks: []llm.Block{openaitest.Called("a", "f"), openaitest.Called(long, "f"), openaitest.Called(long, "f")}},
			{Blocks: []llm.Block{openaitest.Result("a", false, openaitest.Text("4")), openaitest.Result(long, false, openaitest.Text("5")),
				openaitest.Result(long, false, openaitest.Text("6"))}},
		},
		Tools: []llm.Tool{{Name: "mcp.read file"}, {Name: "f"}},
	}
	whole, x := sentRequest(t, openaitest.Model(t, "gpt-4"), c, nil)
	var calls, answers []string
	for _, m := range whole.Messages {
		for _, call := range m.ToolCalls {
			calls = append(calls, call.ID)
		}
		if m.Role == "tool" {
			answers = append(answers, m.ToolCallID)
		}
	}
	if !slices.Equal(calls, answers) || len(slices.Compact(slices.Sorted(slices.Values(calls)))) != 6 {
		t.Errorf("calls %q, answers %q", calls, answers)
	}
	for _, id := range calls {
		if len(id) > compose.LongestID || strings.Trim(id, legalLetters) != "" {
			t.Errorf("%q is no id of OpenAI's", id)
		}
	}
	name := whole.Tools[0].Function.Name
	if _, original := x.(*exchange).names.Original(name); original != "mcp.read file" || strings.Trim(name, legalLetters) != "" {
		t.Errorf("%q of %q", name, original)
	}
	c.Messages = c.Messages[:2]
	if first, _ := sentRequest(t, openaitest.Model(t, "gpt-4"), c, nil); first.Messages[0].ToolCalls[2].ID != calls[2] {
		t.Errorf("%q was %q in the request before", calls[2], first.Messages[0].ToolCalls[2].ID)
	}
}

func TestEndUserIsHashedAndNamesTheCache(t *testing.T) {
	name := func(r *llm.Request) { r.SafetyIdentifier = `{"device_id":"d"}` }
	sent, x := sentRequest(t, openaitest.Model(t, "gpt-5"), openaitest.Asking(openaitest.Text("q")), name)
	if len(sent.SafetyIdentifier) != 64 || sent.PromptCacheKey != sent.SafetyIdentifier || len(x.Properties().Ignored) > 0 {
		t.Errorf("%q, %q, %v", sent.SafetyIdentifier, sent.PromptCacheKey, x.Properties().Ignored)
	}
	copied := openaitest.Model(t, "gpt-5")
	copied.Provider = "groq"
	sent, x = sentRequest(t, copied, openaitest.Asking(openaitest.Text("q")), name)
	if sent.SafetyIdentifier+sent.PromptCacheKey != "" || !slices.Equal(x.Properties().Ignored, []string{"safety_identifier"}) {
		t.Errorf("%+v, %v", sent, x.Properties().Ignored)
	}
}

func TestReasoningGoesBackToTheServerThatMadeIt(t *testing.T) {
	thought := func(format llm.ThoughtFormat) llm.Block {
		return llm.Block{Kind: llm.BlockThought, Thought: &llm.Thought{Text: "by " + string(format), Format: format, Signature: "opaque",
			Data: "opaque"}}
	}
	c := llm.Conversation{Messages: []llm.Message{
		{Blocks: []llm.Block{openaitest.Text("q")}},
		{Role: llm.RoleAssistant, Blocks: []llm.Block{thought(llm.FormatAnthropic), thought("deepseek"), thought(llm.FormatGemini), thought(""),
			openaitest.Text("a")}},
		{Role: llm.RoleAssistant, Blocks: []llm.Block{thought("anthropic")}},
		{Blocks: []llm.Block{openaitest.Text("r")}},
	}}
	req, err := chat.Decode(nil, []byte(openaitest.Hello+`}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Source = &openaitest.Conversation{Source: req.Source, Said: c}
	for reasoning, want := range map[string]string{"reasoning_content": "by deepseek", "": ""} {
		p := apiWith("http://127.0.0.1:1", providers.Server{Reasoning: reasoning})
		m := openaitest.Model(t, "gpt-4")
		m.Provider = "deepseek"
		x, err := p.Prepare(providers.Call{Request: req, Model: m})
		if err != nil {
			t.Fatal(err)
		}
		body := sentBody(x)
		var sent request
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		if len(sent.Messages) != 3 || sent.Messages[1].Reasoning != want || strings.Contains(string(body), "opaque") {
			t.Errorf("%q: %s", reasoning, body)
		}
	}
}

// What a server reasons is known by its provider and its model, so that it alone gets
// it back.
func TestReasoningSaysWhoMadeIt(t *testing.T) {
	for _, server := range []providers.Server{{}, {Reasoning: "reasoning_content"}} {
		u := apiAnswering(t, 200, "text/event-stream", data(part(`{"reasoning_content":"h"}`, "null"), part(`{"reasoning_content":"m"}`, "null"),
			part(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","format":"anthropic-claude-v1","index":0}]}`, "null"),
			part(`{"content":"a"}`, "stop"), done))
		u.server = server
		req, err := chat.Decode(nil, []byte(openaitest.Hello+`,"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Source = &openaitest.Conversation{Source: req.Source, Said: openaitest.Asking(openaitest.Text("q"))}
		m := openaitest.Model(t, "gpt-4")
		m.Provider = "server"
		x, err := u.Prepare(providers.Call{Request: req, Model: m})
		if err != nil {
			t.Fatal(err)
		}
		events, err := x.Open(t.Context(), openaitest.Key)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := llm.Collect(events)
		if err != nil {
			t.Fatal(err)
		}
		blocks := answer.Choices[0].Blocks
		if len(blocks) != 3 || blocks[0].Text != "hm" || blocks[1].Thought == nil || blocks[1].Thought.Data != "x" {
			t.Fatalf("%+v", blocks)
		}
		made := blocks[:2]
		if server.Reasoning == "" {
			made = blocks[1:2]
		}
		for _, b := range made {
			if b.Thought == nil || b.Thought.Format != "server" || b.Thought.Model != m.Upstream {
				t.Errorf("%+v", b.Thought)
			}
		}
	}
}

func TestFinishOfAForcedCallIsACall(t *testing.T) {
	for reason, want := range map[string]llm.Finish{"stop": llm.FinishToolCalls, "length": llm.FinishLength,
		"content_filter": llm.FinishContentFilter} {
		p := apiAnswering(t, 200, "application/json", `{"choices":[{"message":{"tool_calls":[{"id":"c","type":"function","function":`+
			`{"name":"f","arguments":"{}"}}]},"finish_reason":"`+reason+`"}]}`)
		req, err := chat.Decode(nil, []byte(openaitest.Hello+`}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Source = &openaitest.Conversation{Source: req.Source, Said: openaitest.Asking(openaitest.Text("q"))}
		x, err := p.Prepare(providers.Call{Request: req, Model: openaitest.Model(t, "gpt-4")})
		if err != nil {
			t.Fatal(err)
		}
		events, err := x.Open(t.Context(), openaitest.Key)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := llm.Collect(events)
		if err != nil || answer.Choices[0].Finish != want || answer.Choices[0].NativeReason != reason {
			t.Errorf("%s: %+v, %v", reason, answer, err)
		}
	}
}

func TestPictureAndFileOfResultsFollowAllResults(t *testing.T) {
	image := openaitest.Media(llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="})
	pdf := openaitest.Media(llm.Media{Kind: llm.File, URL: "data:application/pdf;base64,JVBERi0=", Title: "paper", Context: "of 2026"})
	sent, _ := sentRequest(t, openaitest.Model(t, "gpt-4"), llm.Conversation{Messages: []llm.Message{
		{Role: llm.RoleAssistant, Blocks: []llm.Block{openaitest.Called("1", "f"), openaitest.Called("2", "f"), openaitest.Called("3", "f")}},
		{Blocks: []llm.Block{openaitest.Result("1", false, image), openaitest.Result("2", true, openaitest.Text("no"), pdf),
			openaitest.Result("3", false), openaitest.Text("go on")}},
	}}, nil)
	var shape []string
	for _, m := range sent.Messages {
		shape = append(shape, m.Role+" "+m.ToolCallID+" "+string(m.Content))
	}
	want := []string{
		"assistant  null",
		`tool 1 "The result follows in a message of the user."`, `tool 2 [{"type":"text","text":"Error: no"},{"type":"text",` +
			`"text":"<document title=\"paper\" context=\"of 2026\"/>"}]`, `tool 3 ""`,
		`user  [{"type":"text","text":"Images and files of the result of the tool call 1:"},` +
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},` +
			`{"type":"text","text":"Images and files of the result of the tool call 2:"},` +
			`{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"paper"}}]`,
		`user  "go on"`,
	}
	if !slices.Equal(shape, want) {
		t.Errorf("got  %q\nwant %q", shape, want)
	}
}

func TestThinkingBecomesAnEffort(t *testing.T) {
	budget := func(n int64) *llm.Thinking { return &llm.Thinking{Type: "enabled", BudgetTokens: n} }
	for _, tt := range []struct {
		model    string
		thinking *llm.Thinking
		effort   string
		want     string
	}{
		{"gpt-5.2", budget(2048), "", "low"},
		{"gpt-5.2", budget(10_000), "", "medium"},
		{"gpt-5.2", budget(16_384), "", "high"},
		{"gpt-5.2", budget(31_999), "", "xhigh"},
		{"gpt-5", budget(31_999), "", "high"},
		{"gpt-5.2", &llm.Thinking{Type: "adaptive"}, "medium", "medium"},
		{"gpt-5.2", &llm.Thinking{Type: "adaptive"}, "max", "xhigh"},
		{"gpt-5.2", &llm.Thinking{Type: "adaptive"}, "", ""},
		{"gpt-5.2", &llm.Thinking{Type: "between_tools"}, "low", "low"},
		{"gpt-5.2", &llm.Thinking{Type: "disabled"}, "high", "none"},
		{"gpt-5", &llm.Thinking{Type: "disabled"}, "", "minimal"},
		{"gpt-5.2", nil, "low", "low"},
		{"gpt-4", budget(2048), "", ""},
	} {
		sent, _ := sentRequest(t, openaitest.Model(t, tt.model), openaitest.Asking(openaitest.Text("q")), func(r *llm.Request) {
			r.Thinking, r.Effort = tt.thinking,
				tt.effort
		})
		if sent.ReasoningEffort != tt.want {
			t.Errorf("%s, %+v, %s: %q, want %q", tt.model, tt.thinking, tt.effort, sent.ReasoningEffort, tt.want)
		}
	}
}

func TestCacheMarksBecomeBreakpointsWhereTheModelTakesThem(t *testing.T) {
	mark := jsontext.Value(`{"type":"ephemeral"}`)
	marked := func(b llm.Block) llm.Block {
		b.Cache = mark
		return b
	}
	c := llm.Conversation{Messages: []llm.Message{
		{Role: llm.RoleInstructions, Blocks: []llm.Block{openaitest.Text("a"), marked(openaitest.Text("b"))}},
		{Blocks: []llm.Block{marked(openaitest.Text("q"))}},
		{Role: llm.RoleAssistant, Blocks: []llm.Block{marked(openaitest.Text("t")), openaitest.Called("1", "f")}},
		{Blocks: []llm.Block{marked(openaitest.Result("1", false, openaitest.Text("r"))), marked(openaitest.Text("and"))}},
	}}
	const breakpoint = `"prompt_cache_breakpoint":{"mode":"explicit"}`
	sent, _ := sentRequest(t, openaitest.Model(t, "gpt-6-sol"), c, nil)
	var contents []string
	for _, m := range sent.Messages {
		contents = append(contents, string(m.Content))
	}
	if want := []string{
		`[{"type":"text","text":"a"},{"type":"text","text":"b",` + breakpoint + `}]`, `[{"type":"text","text":"q",` + breakpoint + `}]`,
		`[{"type":"text","text":"t",` + breakpoint + `}]`, `[{"type":"text","text":"r",` + breakpoint + `}]`, `"and"`,
	}; !slices.Equal(contents, want) {
		t.Errorf("got  %s\nwant %s", contents, want)
	}
	if x, err := composed(t, openaitest.Model(t, "gpt-5.5"), c, nil); err != nil || strings.Contains(string(sentBody(x)), "breakpoint") {
		t.Errorf("%v, %s", err, sentBody(x))
	}
}

func TestManyCallsOfATurnAreAnsweredInAnyOrder(t *testing.T) {
	const many = 20_000
	var calls, results []llm.Block
	for i := range many {
		id := fmt.Sprint("a", i/2)
		calls = append(calls, openaitest.Called(id, "f"))
		results = append(results, openaitest.Result(id, false, openaitest.Text("r")))
	}
	slices.Reverse(results)
	sent, _ := sentRequest(t, openaitest.Model(t, "gpt-4"), llm.Conversation{Messages: []llm.Message{
		{Role: llm.RoleAssistant, Blocks: calls}, {Blocks: results},
	}}, nil)
	if len(sent.Messages) != many+1 {
		t.Errorf("%d messages", len(sent.Messages))
	}
}
