package simulator

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const weatherClaude = `{"name":"get_weather","description":"d","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`

func claudeBody(extra, messages string) string {
	if !strings.Contains(extra, `"model"`) {
		extra = `,"model":"claude-haiku-4-5-20251001"` + extra
	}
	if !strings.Contains(extra, `"max_tokens"`) {
		extra += `,"max_tokens":4096`
	}
	return `{` + strings.TrimPrefix(extra, ",") + `,"messages":[` + messages + `]}`
}

type claudeHeard struct {
	ID           string           `json:"id"`
	Model        string           `json:"model"`
	Content      []anthropicBlock `json:"content"`
	StopReason   string           `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	Usage        anthropicUsage   `json:"usage"`
}

func (h claudeHeard) text() string {
	said := ""
	for _, b := range h.Content {
		said += b.Text
	}
	return said
}

func askClaude(t *testing.T, body string) claudeHeard {
	t.Helper()
	var a claudeHeard
	asAnthropic.ask(t, serve(t, Options{}), body, &a)
	return a
}

// claudeEvent is an event of any type.
type claudeEvent struct {
	Type    string         `json:"type"`
	Index   int            `json:"index"`
	Message claudeHeard    `json:"message"`
	Block   anthropicBlock `json:"content_block"`
	Delta   struct {
		Type         string  `json:"type"`
		Text         string  `json:"text"`
		Thinking     string  `json:"thinking"`
		Signature    string  `json:"signature"`
		Partial      string  `json:"partial_json"`
		StopReason   string  `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// streamClaude puts a stream together and holds it to the grammar:
// message_start, blocks one after the other with pings anywhere, one
// message_delta, message_stop.
func streamClaude(t *testing.T, body string) claudeHeard {
	t.Helper()
	a := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, strings.Replace(body, "{", `{"stream":true,`, 1))
	if got := a.header.Get("Content-Type"); a.status != 200 || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("%d %s %s", a.status, got, a.body)
	}
	heard := claudeHeard{}
	state, pings, args := "start", 0, ""
	step := func(from, to string, e sentEvent) {
		t.Helper()
		if state != from {
			t.Fatalf("%s in state %s: %s", e.name, state, a.body)
		}
		state = to
	}
	for _, sent := range events(t, a.body, "\n") {
		e := decode[claudeEvent](t, sent.data)
		if e.Type != sent.name {
			t.Fatalf("event %s has type %s", sent.name, e.Type)
		}
		switch e.Type {
		case "ping":
			pings++
		case "message_start":
			step("start", "between", sent)
			heard = e.Message
			if len(heard.Content) != 0 || heard.StopReason != "" || heard.Usage.OutputTokens != 1 {
				t.Fatalf("message_start %s", sent.data)
			}
		case "content_block_start":
			step("between", "block", sent)
			if e.Index != len(heard.Content) {
				t.Fatalf("block %d comes at place %d", e.Index, len(heard.Content))
			}
			heard.Content, args = append(heard.Content, e.Block), ""
		case "content_block_delta":
			step("block", "block", sent)
			b := &heard.Content[e.Index]
			b.Text += e.Delta.Text
			b.Thinking += e.Delta.Thinking
			b.Signature += e.Delta.Signature
			args += e.Delta.Partial
			if b.Type == "tool_use" && args != "" {
				b.Input = jsontext.Value(args)
			}
		case "content_block_stop":
			step("block", "between", sent)
		case "message_delta":
			step("between", "delta", sent)
			heard.StopReason, heard.StopSequence = e.Delta.StopReason, e.Delta.StopSequence
			heard.Usage.OutputTokens = e.Usage.OutputTokens
			heard.Usage.OutputDetails = e.Usage.OutputDetails
		case "message_stop":
			step("delta", "end", sent)
		default:
			t.Fatalf("event %s", sent.name)
		}
	}
	if state != "end" || pings == 0 && len(heard.Content) > 0 {
		t.Fatalf("ends in state %s after %d pings", state, pings)
	}
	return heard
}

func TestAnthropicAnswersAndEchoes(t *testing.T) {
	a := askClaude(t, claudeBody(`,"system":[{"type":"text","text":"Be brief."}]`, `{"role":"user","content":[{"type":"text","text":"Hello there"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`))
	if got := a.text(); got != `This is a simulated answer from claude-haiku-4-5-20251001. You said: "Hello there" With it came 1 image.` {
		t.Fatal(got)
	}
	if a.StopReason != "end_turn" || a.StopSequence != nil || !strings.HasPrefix(a.ID, "msg_01") {
		t.Fatalf("%+v", a)
	}
	if a.Usage.InputTokens != 4+mediaTokens || a.Usage.OutputTokens != 16 {
		t.Fatalf("%+v", a.Usage)
	}
}

func TestAnthropicAliasIsAnsweredByItsSnapshot(t *testing.T) {
	if a := askClaude(t, claudeBody(`,"model":"claude-sonnet-4-5"`, hello)); a.Model != "claude-sonnet-4-5-20250929" {
		t.Fatal(a.Model)
	}
}

func TestAnthropicStreamSaysWhatTheAnswerSays(t *testing.T) {
	for _, extra := range []string{
		"",
		`,"tools":[` + weatherClaude + `]`,
		`,"tools":[{"name":"now","input_schema":{"type":"object"}}]`,
		`,"thinking":{"type":"enabled","budget_tokens":1024}`,
		`,"thinking":{"type":"enabled","budget_tokens":1024},"tools":[` + weatherClaude + `]`,
		`,"thinking":{"type":"enabled","budget_tokens":1024,"display":"omitted"}`,
		`,"max_tokens":4`,
		`,"stop_sequences":["simulated"]`,
	} {
		want, got := askClaude(t, claudeBody(extra, hello)), streamClaude(t, claudeBody(extra, hello))
		if got.StopReason != want.StopReason || got.Usage != want.Usage || len(got.Content) != len(want.Content) {
			t.Fatalf("%s: %+v, want %+v", extra, got, want)
		}
		for i, b := range want.Content {
			g := got.Content[i]
			if g.Type != b.Type || g.Text != b.Text || g.Thinking != b.Thinking || g.Signature != b.Signature || g.Name != b.Name || compact(g.Input) != compact(b.Input) {
				t.Errorf("%s: block %+v, want %+v", extra, g, b)
			}
		}
	}
}

func compact(raw jsontext.Value) string {
	if err := raw.Compact(); err != nil {
		return string(raw)
	}
	return string(raw)
}

func TestAnthropicPadsItsEvents(t *testing.T) {
	a := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, asAnthropic.saying("hi", true))
	if !strings.Contains(string(a.body), "  }\n\n") {
		t.Fatalf("no padding: %s", a.body)
	}
}

func TestAnthropicToolRoundTripWithThinking(t *testing.T) {
	question := `{"role":"user","content":"Weather in Paris and Rome, in parallel"}`
	extra := `,"thinking":{"type":"enabled","budget_tokens":2000},"tools":[` + weatherClaude + `]`
	raw := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, claudeBody(extra, question))
	first := decode[claudeHeard](t, raw.body)
	if first.StopReason != "tool_use" || len(first.Content) != 3 || first.Content[0].Type != "thinking" || first.Content[0].Signature == "" {
		t.Fatalf("%+v", first)
	}
	one, two := first.Content[1], first.Content[2]
	if string(one.Input) != `{"city":"Paris"}` || string(two.Input) != `{"city":"Rome"}` || one.ID == two.ID || !strings.HasPrefix(one.ID, "toolu_01") {
		t.Fatalf("%s %s", one.Input, two.Input)
	}
	content := member(raw.body, "content")
	results := func(more string) string {
		return question + `,{"role":"assistant","content":` + string(content) + `},{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + one.ID + `","content":"sunny"},{"type":"tool_result","tool_use_id":"` + two.ID + `","content":[{"type":"text","text":"rain"}],"is_error":true}` + more + `]}`
	}
	second := askClaude(t, claudeBody(extra, results("")))
	if got := second.text(); second.StopReason != "end_turn" || !strings.Contains(got, `The tool get_weather returned: "sunny" The tool get_weather returned: "rain"`) {
		t.Fatalf("%s: %s", second.StopReason, got)
	}
	if third := askClaude(t, claudeBody(extra, results(`,{"type":"text","text":"And Oslo?"}`))); third.StopReason != "tool_use" {
		t.Fatalf("a new question is answered without the tool: %+v", third)
	}
	changed := strings.Replace(results(""), "simulated reasoning", "my own reasoning", 1)
	if a := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, claudeBody(extra, changed)); a.status != 400 || !strings.Contains(string(a.body), "cannot be modified") {
		t.Fatalf("changed thinking: %d %s", a.status, a.body)
	}
	content = encode(elements(content)[1:])
	if a := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, claudeBody(extra, results(""))); a.status != 400 || !strings.Contains(string(a.body), "Expected `thinking` or `redacted_thinking`, but found `tool_use`") {
		t.Fatalf("dropped thinking: %d %s", a.status, a.body)
	}
	content = jsontext.Value(`[{"type":"thinking","thinking":"x","signature":"Zm9yZWlnbg=="},` + strings.TrimPrefix(string(content), "["))
	if a := asAnthropic.send(t, serve(t, Options{}), http.MethodPost, claudeBody(extra, results(""))); a.status != 400 || !strings.Contains(string(a.body), "Invalid `signature`") {
		t.Fatalf("foreign thinking: %d %s", a.status, a.body)
	}
}

func TestAnthropicToolChoiceIsObeyed(t *testing.T) {
	two := `,"tools":[` + weatherClaude + `,{"name":"get_time","input_schema":{"type":"object","properties":{}}}]`
	for choice, want := range map[string][]string{
		`{"type":"auto"}`:                   {"get_weather", "get_weather"},
		`{"type":"any"}`:                    {"get_weather", "get_weather"},
		`{"type":"tool","name":"get_time"}`: {"get_time", "get_time"},
		`{"type":"tool","name":"get_time","disable_parallel_tool_use":true}`: {"get_time"},
		`{"type":"none"}`: nil,
	} {
		var names []string
		for _, b := range askClaude(t, claudeBody(two+`,"tool_choice":`+choice, `{"role":"user","content":"both"}`)).Content {
			if b.Type == "tool_use" {
				names = append(names, b.Name)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", choice, names, want)
		}
	}
}

func TestAnthropicForcedToolIsCalledAfterAResult(t *testing.T) {
	a := askClaude(t, claudeBody(`,"tool_choice":{"type":"any"},"tools":[`+weatherClaude+`]`,
		hello+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_weather","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`))
	if a.StopReason != "tool_use" {
		t.Fatalf("%+v", a)
	}
}

func TestAnthropicWritesJSON(t *testing.T) {
	schema := `{"type":"json_schema","schema":{"type":"object","properties":{"unit":{"enum":["celsius","kelvin"]},"n":{"type":"integer"}},"required":["unit","n"],"additionalProperties":false}}`
	for _, extra := range []string{`,"output_config":{"format":` + schema + `}`, `,"output_format":` + schema} {
		if got := askClaude(t, claudeBody(extra, hello)).text(); got != `{"unit": "celsius", "n": 1}` {
			t.Fatal(got)
		}
	}
}

func TestAnthropicEndsAtStopsAndLimits(t *testing.T) {
	a := askClaude(t, claudeBody(`,"max_tokens":5`, hello))
	if a.text() != "This is a simulated answer" || a.StopReason != "max_tokens" || a.Usage.OutputTokens != 5 {
		t.Fatalf("%+v", a)
	}
	a = askClaude(t, claudeBody(`,"stop_sequences":["xx"," answer"]`, hello))
	if a.text() != "This is a simulated" || a.StopReason != "stop_sequence" || *a.StopSequence != " answer" {
		t.Fatalf("%+v", a)
	}
	cut := claudeBody(`,"max_tokens":2,"tools":[`+weatherClaude+`]`, hello)
	a = askClaude(t, cut)
	if a.StopReason != "max_tokens" || string(a.Content[0].Input) != "{}" {
		t.Fatalf("%+v", a)
	}
	if s := streamClaude(t, cut); s.StopReason != "max_tokens" || s.Content[0].Input.IsValid() {
		t.Fatalf("%s %s", s.StopReason, s.Content[0].Input)
	}
}

func TestAnthropicThinksWithinItsLimit(t *testing.T) {
	a := askClaude(t, claudeBody(`,"model":"claude-sonnet-5","max_tokens":4`, hello))
	if a.StopReason != "max_tokens" || a.Usage.OutputTokens != 4 || a.Usage.OutputDetails.Thinking != 4 || len(a.Content) != 1 {
		t.Fatalf("%+v", a)
	}
	if b := a.Content[0]; b.Thinking != "" || b.Signature == "" {
		t.Fatalf("hidden thinking: %+v", b)
	}
	if b := askClaude(t, claudeBody(`,"model":"claude-sonnet-5","thinking":{"type":"adaptive","display":"summarized"}`, hello)).Content[0]; b.Thinking == "" {
		t.Fatalf("summarized thinking: %+v", b)
	}
}

func TestAnthropicCountsTheCacheApart(t *testing.T) {
	server := serve(t, Options{})
	system := `,"system":[{"type":"text","text":"one two three","cache_control":{"type":"ephemeral"}}]`
	turn := `{"role":"user","content":[{"type":"text","text":"four five","cache_control":{"type":"ephemeral","ttl":"5m"}}]}`
	for i, c := range []struct {
		body                 string
		input, written, read int
	}{
		{claudeBody(system, hello), 2, 3, 0},
		{claudeBody(system, hello), 2, 0, 3},
		{claudeBody(system, turn), 0, 2, 3},
		{claudeBody(`,"system":"one two three"`, turn), 0, 0, 5},
		{claudeBody(system, turn+`,{"role":"assistant","content":"six"},`+hello), 3, 0, 5},
		{claudeBody(`,"cache_control":{"type":"ephemeral"},"system":"one two three"`, turn+`,{"role":"assistant","content":"six"},`+hello), 0, 3, 5},
		{claudeBody(`,"model":"claude-3-haiku-20240307"`+system, hello), 2, 3, 0},
	} {
		var a claudeHeard
		asAnthropic.ask(t, server, c.body, &a)
		if u := a.Usage; u.InputTokens != c.input || u.CacheCreation != c.written || u.CacheRead != c.read {
			t.Errorf("request %d: input %d written %d read %d, want %+v", i, u.InputTokens, u.CacheCreation, u.CacheRead, c)
		}
	}
}
