package anthropic_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/simulatortest"
)

const (
	hello   = simulatortest.Hello
	weather = simulatortest.ClaudeTool
)

var body = simulatortest.MessagesBody

type joined struct {
	ID           string            `json:"id"`
	Model        string            `json:"model"`
	Content      []anthropic.Block `json:"content"`
	StopReason   string            `json:"stop_reason"`
	StopSequence *string           `json:"stop_sequence"`
	Usage        anthropic.Usage   `json:"usage"`
}

func (h joined) text() string {
	said := ""
	for _, b := range h.Content {
		said += b.Text
	}
	return said
}

func ask(t *testing.T, request string) joined {
	t.Helper()
	var a joined
	simulatortest.Anthropic.Ask(t, simulatortest.Strict(t), request, &a)
	return a
}

// event is an event of any type.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message joined          `json:"message"`
	Block   anthropic.Block `json:"content_block"`
	Delta   struct {
		Type         string  `json:"type"`
		Text         string  `json:"text"`
		Thinking     string  `json:"thinking"`
		Signature    string  `json:"signature"`
		Partial      string  `json:"partial_json"`
		StopReason   string  `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	} `json:"delta"`
	Usage anthropic.Usage `json:"usage"`
}

// stream puts a stream together and holds it to the grammar:
// message_start, blocks one after the other with pings anywhere, one
// message_delta, message_stop.
func stream(t *testing.T, request string) joined {
	t.Helper()
	return streamFrom(t, simulatortest.Anthropic, request)
}

func streamFrom(t *testing.T, c simulatortest.Client, request string) joined {
	t.Helper()
	a := c.Post(t, strings.Replace(request, "{", `{"stream":true,`, 1))
	if got := a.Header.Get("Content-Type"); a.Status != 200 || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("%d %s %s", a.Status, got, a.Body)
	}
	answer := joined{}
	state, pings, args := "start", 0, ""
	step := func(from, to string, e simulatortest.Event) {
		t.Helper()
		if state != from {
			t.Fatalf("%s in state %s: %s", e.Name, state, a.Body)
		}
		state = to
	}
	for _, sent := range simulatortest.Events(t, a.Body, "\n") {
		e := simulatortest.Decode[event](t, sent.Data)
		if e.Type != sent.Name {
			t.Fatalf("event %s has type %s", sent.Name, e.Type)
		}
		switch e.Type {
		case "ping":
			pings++
		case "message_start":
			step("start", "between", sent)
			answer = e.Message
			if len(answer.Content) != 0 || answer.StopReason != "" || answer.Usage.OutputTokens != 1 {
				t.Fatalf("message_start %s", sent.Data)
			}
		case "content_block_start":
			step("between", "block", sent)
			if e.Index != len(answer.Content) {
				t.Fatalf("block %d comes at place %d", e.Index, len(answer.Content))
			}
			answer.Content, args = append(answer.Content, e.Block), ""
		case "content_block_delta":
			step("block", "block", sent)
			b := &answer.Content[e.Index]
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
			answer.StopReason, answer.StopSequence = e.Delta.StopReason, e.Delta.StopSequence
			answer.Usage.OutputTokens = e.Usage.OutputTokens
			answer.Usage.OutputDetails = e.Usage.OutputDetails
		case "message_stop":
			step("delta", "end", sent)
		default:
			t.Fatalf("event %s", sent.Name)
		}
	}
	if state != "end" || pings == 0 && len(answer.Content) > 0 {
		t.Fatalf("ends in state %s after %d pings", state, pings)
	}
	return answer
}

func TestAnswersAndEchoes(t *testing.T) {
	a := ask(t, body(`,"system":[{"type":"text","text":"Be brief."}]`, `{"role":"user","content":[{"type":"text","text":"Hello there"},`+
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`))
	if got := a.text(); got != `This is a simulated answer from claude-haiku-4-5-20251001. You said: "Hello there" With it came 1 image.` {
		t.Fatal(got)
	}
	if a.StopReason != "end_turn" || a.StopSequence != nil || !strings.HasPrefix(a.ID, "msg_01") {
		t.Fatalf("%+v", a)
	}
	if a.Usage.InputTokens != 4+reply.MediaTokens || a.Usage.OutputTokens != 16 {
		t.Fatalf("%+v", a.Usage)
	}
}

func TestAliasIsAnsweredByItsSnapshot(t *testing.T) {
	if a := ask(t, body(`,"model":"claude-sonnet-4-5"`, hello)); a.Model != "claude-sonnet-4-5-20250929" {
		t.Fatal(a.Model)
	}
}

func TestStreamSaysWhatTheAnswerSays(t *testing.T) {
	for _, extra := range []string{
		"",
		`,"tools":[` + weather + `]`,
		`,"tools":[{"name":"now","input_schema":{"type":"object"}}]`,
		`,"thinking":{"type":"enabled","budget_tokens":1024}`,
		`,"thinking":{"type":"enabled","budget_tokens":1024},"tools":[` + weather + `]`,
		`,"thinking":{"type":"enabled","budget_tokens":1024,"display":"omitted"}`,
		`,"max_tokens":4`,
		`,"stop_sequences":["simulated"]`,
	} {
		want, got := ask(t, body(extra, hello)), stream(t, body(extra, hello))
		if got.StopReason != want.StopReason || got.Usage != want.Usage || len(got.Content) != len(want.Content) {
			t.Fatalf("%s: %+v, want %+v", extra, got, want)
		}
		for i, b := range want.Content {
			g := got.Content[i]
			if g.Type != b.Type || g.Text != b.Text || g.Thinking != b.Thinking || g.Signature != b.Signature || g.Name != b.Name ||
				compact(g.Input) != compact(b.Input) {
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

func TestPadsItsEvents(t *testing.T) {
	a := simulatortest.Anthropic.Post(t, body(`,"stream":true`, `{"role":"user","content":"hi"}`))
	if !strings.Contains(string(a.Body), "  }\n\n") {
		t.Fatalf("no padding: %s", a.Body)
	}
}

func TestToolRoundTripWithThinking(t *testing.T) {
	question := `{"role":"user","content":"Weather in Paris and Rome, in parallel"}`
	extra := `,"thinking":{"type":"enabled","budget_tokens":2000},"tools":[` + weather + `]`
	raw := simulatortest.Anthropic.Post(t, body(extra, question))
	first := simulatortest.Decode[joined](t, raw.Body)
	if first.StopReason != "tool_use" || len(first.Content) != 3 ||
		first.Content[0].Type != "thinking" || first.Content[0].Signature == "" {
		t.Fatalf("%+v", first)
	}
	one, two := first.Content[1], first.Content[2]
	if string(one.Input) != `{"city":"Paris"}` || string(two.Input) != `{"city":"Rome"}` ||
		one.ID == two.ID || !strings.HasPrefix(one.ID, "toolu_01") {
		t.Fatalf("%s %s", one.Input, two.Input)
	}
	content := rawjson.Get(raw.Body, "content")
	results := func(more string) string {
		return question + `,{"role":"assistant","content":` + string(content) + `},{"role":"user","content":[` +
			`{"type":"tool_result","tool_use_id":"` + one.ID + `","content":"sunny"},` +
			`{"type":"tool_result","tool_use_id":"` + two.ID + `","content":[{"type":"text","text":"rain"}],"is_error":true}` + more + `]}`
	}
	second := ask(t, body(extra, results("")))
	want := `The tool get_weather returned: "sunny" The tool get_weather returned: "rain"`
	if got := second.text(); second.StopReason != "end_turn" || !strings.Contains(got, want) {
		t.Fatalf("%s: %s", second.StopReason, got)
	}
	if third := ask(t, body(extra, results(`,{"type":"text","text":"And Oslo?"}`))); third.StopReason != "tool_use" {
		t.Fatalf("a new question is answered without the tool: %+v", third)
	}
	refuses := simulatortest.Anthropic.Refuser(t)
	changed := strings.Replace(results(""), "simulated reasoning", "my own reasoning", 1)
	refuses("changed thinking", body(extra, changed), 400, "cannot be modified")
	content = rawjson.Encode(rawjson.Elements(content)[1:])
	refuses("dropped thinking", body(extra, results("")), 400, "Expected `thinking` or `redacted_thinking`, but found `tool_use`")
	content = jsontext.Value(`[{"type":"thinking","thinking":"x","signature":"Zm9yZWlnbg=="},` + strings.TrimPrefix(string(content), "["))
	refuses("foreign thinking", body(extra, results("")), 400, "Invalid `signature`")
}

func TestToolChoiceIsObeyed(t *testing.T) {
	two := `,"tools":[` + weather + `,{"name":"get_time","input_schema":{"type":"object","properties":{}}}]`
	for choice, want := range map[string][]string{
		`{"type":"auto"}`:                   {"get_weather", "get_weather"},
		`{"type":"any"}`:                    {"get_weather", "get_weather"},
		`{"type":"tool","name":"get_time"}`: {"get_time", "get_time"},
		`{"type":"tool","name":"get_time","disable_parallel_tool_use":true}`: {"get_time"},
		`{"type":"none"}`: nil,
	} {
		var names []string
		for _, b := range ask(t, body(two+`,"tool_choice":`+choice, `{"role":"user","content":"both"}`)).Content {
			if b.Type == "tool_use" {
				names = append(names, b.Name)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", choice, names, want)
		}
	}
}

func TestForcedToolIsCalledAfterAResult(t *testing.T) {
	a := ask(t, body(`,"tool_choice":{"type":"any"},"tools":[`+weather+`]`,
		hello+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_weather","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`))
	if a.StopReason != "tool_use" {
		t.Fatalf("%+v", a)
	}
}

func TestWritesJSON(t *testing.T) {
	schema := `{"type":"json_schema","schema":{"type":"object","properties":{"unit":{"enum":["celsius","kelvin"]},"n":{"type":"integer"}},` +
		`"required":["unit","n"],"additionalProperties":false}}`
	for _, extra := range []string{`,"output_config":{"format":` + schema + `}`, `,"output_format":` + schema} {
		if got := ask(t, body(extra, hello)).text(); got != `{"unit": "celsius", "n": 1}` {
			t.Fatal(got)
		}
	}
}

func TestEndsAtStopsAndLimits(t *testing.T) {
	a := ask(t, body(`,"max_tokens":5`, hello))
	if a.text() != "This is a simulated answer" || a.StopReason != "max_tokens" || a.Usage.OutputTokens != 5 {
		t.Fatalf("%+v", a)
	}
	a = ask(t, body(`,"stop_sequences":["xx"," answer"]`, hello))
	if a.text() != "This is a simulated" || a.StopReason != "stop_sequence" || *a.StopSequence != " answer" {
		t.Fatalf("%+v", a)
	}
	cut := body(`,"max_tokens":2,"tools":[`+weather+`]`, hello)
	a = ask(t, cut)
	if a.StopReason != "max_tokens" || string(a.Content[0].Input) != "{}" {
		t.Fatalf("%+v", a)
	}
	if s := stream(t, cut); s.StopReason != "max_tokens" || s.Content[0].Input.IsValid() {
		t.Fatalf("%s %s", s.StopReason, s.Content[0].Input)
	}
}

func TestThinksWithinItsLimit(t *testing.T) {
	a := ask(t, body(`,"model":"claude-sonnet-5","max_tokens":4`, hello))
	if a.StopReason != "max_tokens" || a.Usage.OutputTokens != 4 || a.Usage.OutputDetails.Thinking != 4 || len(a.Content) != 1 {
		t.Fatalf("%+v", a)
	}
	if b := a.Content[0]; b.Thinking != "" || b.Signature == "" {
		t.Fatalf("hidden thinking: %+v", b)
	}
	a = ask(t, body(`,"model":"claude-sonnet-5","thinking":{"type":"adaptive","display":"summarized"}`, hello))
	if b := a.Content[0]; b.Thinking == "" {
		t.Fatalf("summarized thinking: %+v", b)
	}
}

func TestCountsTheCacheApart(t *testing.T) {
	server := simulatortest.Strict(t)
	system := `,"system":[{"type":"text","text":"one two three","cache_control":{"type":"ephemeral"}}]`
	turn := `{"role":"user","content":[{"type":"text","text":"four five","cache_control":{"type":"ephemeral","ttl":"5m"}}]}`
	for i, c := range []struct {
		body                 string
		input, written, read int
	}{
		{body(system, hello), 2, 3, 0},
		{body(system, hello), 2, 0, 3},
		{body(system, turn), 0, 2, 3},
		{body(`,"system":"one two three"`, turn), 0, 0, 5},
		{body(system, turn+`,{"role":"assistant","content":"six"},`+hello), 3, 0, 5},
		{body(`,"cache_control":{"type":"ephemeral"},"system":"one two three"`, turn+`,{"role":"assistant","content":"six"},`+hello), 0, 3, 5},
		{body(`,"model":"claude-3-haiku-20240307"`+system, hello), 2, 3, 0},
	} {
		var a joined
		simulatortest.Anthropic.Ask(t, server, c.body, &a)
		if u := a.Usage; u.InputTokens != c.input || u.CacheCreation != c.written || u.CacheRead != c.read {
			t.Errorf("request %d: input %d written %d read %d, want %+v", i, u.InputTokens, u.CacheCreation, u.CacheRead, c)
		}
	}
}

func TestChecksItsHeaders(t *testing.T) {
	server := simulatortest.Strict(t)
	for _, c := range []struct {
		header map[string]string
		status int
		says   string
	}{
		{nil, 401, "authentication_error"},
		{map[string]string{"X-Api-Key": "k"}, 400, "anthropic-version: header is required"},
		{map[string]string{"X-Api-Key": "k", "Authorization": "Bearer t", "Anthropic-Version": "2023-06-01"}, 401, "may not both be sent"},
		{map[string]string{"Authorization": "Bearer t", "Anthropic-Version": "2023-06-01"}, 200, "simulated"},
	} {
		a := (simulatortest.Client{Header: c.header, Path: "/v1/messages"}).Send(t, server, http.MethodPost, body("", hello))
		if a.Status != c.status || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("%v: %d %s", c.header, a.Status, a.Body)
		}
	}
}
