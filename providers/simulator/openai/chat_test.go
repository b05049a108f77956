package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/simulatortest"
)

const (
	hello       = simulatortest.Hello
	weatherTool = simulatortest.WeatherTool
)

var body = simulatortest.ChatBody

// joined is an answer, or a stream that has been put together again.
type joined struct {
	openai.Answer
	roles  int
	usages int
}

func ask(t *testing.T, request string) joined {
	t.Helper()
	var a joined
	simulatortest.OpenAI.Ask(t, simulatortest.Strict(t), request, &a.Answer)
	return a
}

// stream puts a stream together and checks its grammar on the way.
func stream(t *testing.T, request string) joined {
	t.Helper()
	a := simulatortest.OpenAI.Post(t, request)
	if got := a.Header.Get("Content-Type"); a.Status != 200 || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("%d %s %s", a.Status, got, a.Body)
	}
	sent := simulatortest.Events(t, a.Body, "\n")
	if last := sent[len(sent)-1]; string(last.Data) != "[DONE]" {
		t.Fatalf("ends with %s", last.Data)
	}
	answer := joined{}
	choices := map[int]*openai.Choice{}
	for _, e := range sent[:len(sent)-1] {
		chunk := simulatortest.Decode[openai.Chunk](t, e.Data)
		if e.Name != "" || chunk.Object != "chat.completion.chunk" || chunk.SystemFingerprint != "simulated" ||
			chunk.Created != simulatortest.Now {
			t.Fatalf("chunk %s", e.Data)
		}
		if answer.ID != "" && answer.ID != chunk.ID {
			t.Fatalf("id changed from %s to %s", answer.ID, chunk.ID)
		}
		answer.ID, answer.Model = chunk.ID, chunk.Model
		for _, c := range chunk.Choices {
			if choices[c.Index] == nil {
				choices[c.Index] = &openai.Choice{Index: c.Index, Message: openai.Text{Content: new("")}}
			}
			answer.add(t, choices[c.Index], c)
		}
		if len(chunk.Choices) == 0 {
			answer.usages++
			answer.Usage = simulatortest.Decode[openai.AnswerUsage](t, chunk.Usage)
		}
	}
	for i := range len(choices) {
		answer.Choices = append(answer.Choices, *choices[i])
	}
	return answer
}

func (h *joined) add(t *testing.T, into *openai.Choice, c openai.ChunkChoice) {
	t.Helper()
	if into.FinishReason != "" {
		t.Fatalf("choice %d goes on after its end", c.Index)
	}
	type delta struct {
		openai.Text
		ToolCalls []struct {
			Index int `json:"index"`
			openai.ToolCall
		} `json:"tool_calls"`
	}
	d := simulatortest.Decode[delta](t, c.Delta)
	if d.Role != "" {
		h.roles++
	} else if into.Message.Role == "" {
		t.Fatalf("choice %d begins without a role: %s", c.Index, c.Delta)
	}
	into.Message.Role += d.Role
	if d.Content != nil {
		*into.Message.Content += *d.Content
	}
	if c.Logprobs != nil {
		into.Logprobs = c.Logprobs
	}
	for _, call := range d.ToolCalls {
		if call.ID != "" {
			if call.Index != len(into.Message.ToolCalls) {
				t.Fatalf("call %d comes at place %d", call.Index, len(into.Message.ToolCalls))
			}
			into.Message.ToolCalls = append(into.Message.ToolCalls, call.ToolCall)
			continue
		}
		known := into.Message.ToolCalls[call.Index]
		if call.Function != nil {
			known.Function.Arguments += call.Function.Arguments
		}
		if call.Custom != nil {
			known.Custom.Input += call.Custom.Input
		}
	}
	if f := d.FunctionCall; f != nil {
		if into.Message.FunctionCall == nil {
			into.Message.FunctionCall = &openai.CalledFunction{}
		}
		into.Message.FunctionCall.Name += f.Name
		into.Message.FunctionCall.Arguments += f.Arguments
	}
	if c.FinishReason != nil {
		if string(c.Delta) != "{}" {
			t.Fatalf("last delta %s", c.Delta)
		}
		into.FinishReason = *c.FinishReason
	}
}

func TestAnswersAndEchoes(t *testing.T) {
	a := ask(t, body("", `{"role":"system","content":"Be brief."},`+hello))
	c := a.Choices[0]
	if *c.Message.Content != `This is a simulated answer from gpt-4o. You said: "Hello there"` || c.FinishReason != "stop" {
		t.Fatalf("%q %s", *c.Message.Content, c.FinishReason)
	}
	if a.Model != "gpt-4o-2024-08-06" || a.SystemFingerprint != "simulated" ||
		a.Created != simulatortest.Now || !strings.HasPrefix(a.ID, "chatcmpl-") {
		t.Fatalf("%+v", a)
	}
	if a.Usage.PromptTokens != 4 || a.Usage.CompletionTokens != 11 || a.Usage.TotalTokens != 15 {
		t.Fatalf("usage %+v", a.Usage)
	}
	if b := ask(t, body("", hello)); a.ID == b.ID {
		t.Fatalf("%s came twice", a.ID)
	}
}

func TestCountsAttachments(t *testing.T) {
	a := ask(t, body("", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e.com/a.png"}},`+
		`{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"https://e.com/b.png","detail":"low"}},`+
		`{"type":"file","file":{"file_data":"data:application/pdf;base64,AA==","filename":"a.pdf"}}]}`))
	if got := *a.Choices[0].Message.Content; !strings.HasSuffix(got, `You said: "Look" With it came 2 images and 1 file.`) {
		t.Fatal(got)
	}
}

func TestStreamSaysWhatTheAnswerSays(t *testing.T) {
	for _, extra := range []string{
		"", `,"n":3`, `,"tools":[` + weatherTool + `]`, `,"max_tokens":4`, `,"stop":["simulated"]`, `,"logprobs":true,"top_logprobs":1`,
	} {
		want := ask(t, body(extra, hello))
		got := stream(t, body(extra+`,"stream":true,"stream_options":{"include_usage":true}`, hello))
		if len(got.Choices) != len(want.Choices) || got.roles != len(want.Choices) || got.usages != 1 || got.Usage != want.Usage {
			t.Fatalf("%s: %+v, want %+v", extra, got, want)
		}
		for i, c := range want.Choices {
			answer := got.Choices[i]
			if c.Message.Content != nil && *answer.Message.Content != *c.Message.Content || answer.FinishReason != c.FinishReason {
				t.Errorf("%s: choice %d: %+v, want %+v", extra, i, answer, c)
			}
			if len(c.Message.ToolCalls) != len(answer.Message.ToolCalls) {
				t.Errorf("%s: calls %+v, want %+v", extra, answer.Message.ToolCalls, c.Message.ToolCalls)
			}
			for n, call := range c.Message.ToolCalls {
				if *answer.Message.ToolCalls[n].Function != *call.Function {
					t.Errorf("%s: call %+v, want %+v", extra, answer.Message.ToolCalls[n].Function, call.Function)
				}
			}
			if (c.Logprobs == nil) != (answer.Logprobs == nil) {
				t.Errorf("%s: logprobs %v, want %v", extra, answer.Logprobs, c.Logprobs)
			}
		}
	}
}

func TestStreamsUsageOnlyWhenAsked(t *testing.T) {
	if got := stream(t, body(`,"stream":true`, hello)); got.usages != 0 {
		t.Fatal("usage came unasked")
	}
	server := simulatortest.Strict(t)
	for extra, want := range map[string]int{"": 0, `,"stream_options":{"include_usage":true}`: 11 + 2} {
		a := simulatortest.OpenAI.Send(t, server, http.MethodPost, body(`,"stream":true`+extra, hello))
		if got := strings.Count(string(a.Body), `"usage":null`); got != want {
			t.Errorf("%q: %d chunks with usage null, want %d", extra, got, want)
		}
	}
	a := simulatortest.OpenAI.Send(t, server, http.MethodPost, body(`,"stream":true,"stream_options":{"include_obfuscation":false}`, hello))
	if strings.Contains(string(a.Body), "obfuscation") {
		t.Error("obfuscation came though it was switched off")
	}
}

func TestToolRoundTrip(t *testing.T) {
	question := `{"role":"user","content":"What is the weather in Paris and Rome, both please?"}`
	tools := `,"tools":[` + weatherTool + `]`
	first := ask(t, body(tools, question)).Choices[0]
	if first.FinishReason != "tool_calls" || first.Message.Content != nil || len(first.Message.ToolCalls) != 2 {
		t.Fatalf("%+v", first)
	}
	calls := first.Message.ToolCalls
	if calls[0].Function.Arguments != `{"city": "Paris", "days": 1}` || calls[1].Function.Arguments != `{"city": "Rome", "days": 1}` ||
		calls[0].ID == calls[1].ID {
		t.Fatalf("%+v %+v", calls[0].Function, calls[1].Function)
	}
	messages := question + "," + string(rawjson.Encode(first.Message)) +
		`,{"role":"tool","tool_call_id":"` + calls[0].ID + `","content":"sunny"}` +
		`,{"role":"tool","tool_call_id":"` + calls[1].ID + `","content":[{"type":"text","text":"{\"c\":14}"}]}`
	second := ask(t, body(tools, messages)).Choices[0]
	want := `The tool get_weather returned: "sunny" The tool get_weather returned: "{"c":14}"`
	if got := *second.Message.Content; !strings.HasSuffix(got, want) {
		t.Fatal(got)
	}
	again := ask(t, body(tools, messages+`,{"role":"user","content":"And Oslo?"}`)).Choices[0]
	if again.FinishReason != "tool_calls" {
		t.Fatalf("a new question is answered without the tool: %+v", again)
	}
}

func TestToolChoiceIsObeyed(t *testing.T) {
	getTime := `{"type":"function","function":{"name":"get_time"}}`
	two := `,"tools":[` + weatherTool + `,` + getTime + `,{"type":"custom","custom":{"name":"shout"}}]`
	both := `{"role":"user","content":"both"}`
	for choice, want := range map[string]string{
		`"auto"`:     "get_weather get_weather",
		`"required"`: "get_weather get_weather",
		`"none"`:     "",
		getTime:      "get_time get_time",
		`{"type":"custom","custom":{"name":"shout"}}`:                                                            "shout shout",
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[` + getTime + `]}}`:                 "get_time get_time",
		`{"type":"function","function":{"name":"get_weather"}},"parallel_tool_calls":false`:                      "get_weather",
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + getTime + `]}},"seed":7,"user":"u"`: "get_time get_time",
	} {
		for _, a := range []joined{
			ask(t, body(two+`,"tool_choice":`+choice, both)),
			stream(t, body(two+`,"stream":true,"tool_choice":`+choice, both)),
		} {
			var names []string
			for _, call := range a.Choices[0].Message.ToolCalls {
				names = append(names, call.Called().Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s: %q, want %q", choice, got, want)
			}
		}
	}
}

func TestFunctionsOfOldAreCalled(t *testing.T) {
	request := body(`,"functions":[{"name":"f","parameters":{"type":"object","properties":{}}}]`, hello)
	for _, a := range []joined{ask(t, request), stream(t, strings.Replace(request, `"model"`, `"stream":true,"model"`, 1))} {
		c := a.Choices[0]
		if c.FinishReason != "function_call" || *c.Message.FunctionCall != (openai.CalledFunction{"f", "{}"}) {
			t.Fatalf("%+v", c)
		}
	}
	a := ask(
		t,
		body(`,"functions":[{"name":"f"}]`, hello+`,{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`+
			`,{"role":"function","name":"f","content":"done"}`),
	)
	if got := *a.Choices[0].Message.Content; !strings.Contains(got, `The tool f returned: "done"`) {
		t.Fatal(got)
	}
}

func TestWritesJSON(t *testing.T) {
	a := ask(t, body(`,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object",`+
		`"properties":{"name":{"type":"string"},"ok":{"type":"boolean"}},"required":["name","ok"],"additionalProperties":false}}}`, hello))
	if got := *a.Choices[0].Message.Content; got != `{"name": "Hello there", "ok": true}` {
		t.Fatal(got)
	}
	a = ask(t, body(`,"response_format":{"type":"json_object"}`, `{"role":"user","content":"JSON please"}`))
	if got := *a.Choices[0].Message.Content; got != `{"simulated": true, "model": "gpt-4o", "you_said": "JSON please"}` {
		t.Fatal(got)
	}
}

func TestEndsAtStopsAndLimits(t *testing.T) {
	for extra, want := range map[string][2]string{
		`,"max_tokens":5`:                               {"This is a simulated answer", "length"},
		`,"max_completion_tokens":1`:                    {"This", "length"},
		`,"max_tokens":100`:                             {`This is a simulated answer from gpt-4o. You said: "Hello there"`, "stop"},
		`,"stop":" answer"`:                             {"This is a simulated", "stop"},
		`,"stop":["nowhere"," said","is a"]`:            {"This ", "stop"},
		`,"stop":["from"],"max_tokens":3`:               {"This is a", "length"},
		`,"tools":null,"stop":null,"max_tokens":null`:   {`This is a simulated answer from gpt-4o. You said: "Hello there"`, "stop"},
		`,"max_tokens":6,"tools":[` + weatherTool + `]`: {"", "tool_calls"},
	} {
		c := ask(t, body(extra, hello)).Choices[0]
		said := ""
		if c.Message.Content != nil {
			said = *c.Message.Content
		}
		if said != want[0] || c.FinishReason != want[1] {
			t.Errorf("%s: %q %s, want %q", extra, said, c.FinishReason, want)
		}
	}
	cut := ask(t, body(`,"max_tokens":3,"tools":[`+weatherTool+`]`, hello)).Choices[0]
	if got := cut.Message.ToolCalls[0].Function.Arguments; cut.FinishReason != "length" || got != `{"city": "Hello` {
		t.Fatalf("%s %s", got, cut.FinishReason)
	}
}

func TestCountsReasoningWithoutShowingIt(t *testing.T) {
	request := `{"model":"gpt-5","reasoning_effort":"low","messages":[` + hello + `]`
	a := ask(t, request+`}`)
	u := a.Usage
	if u.CompletionDetails.Reasoning == 0 || u.CompletionTokens != u.CompletionDetails.Reasoning+11 ||
		strings.Contains(*a.Choices[0].Message.Content, "reasoning") {
		t.Fatalf("%+v %s", u, *a.Choices[0].Message.Content)
	}
	a = ask(t, request+`,"max_completion_tokens":5}`)
	if c := a.Choices[0]; *c.Message.Content != "" || c.FinishReason != "length" || a.Usage.CompletionTokens != 5 {
		t.Fatalf("%+v %+v", c, a.Usage)
	}
}

func TestGivesSeveralChoices(t *testing.T) {
	a := ask(t, body(`,"n":2`, hello))
	if len(a.Choices) != 2 || a.Choices[1].Index != 1 || !strings.HasSuffix(*a.Choices[1].Message.Content, "(choice 2)") {
		t.Fatalf("%+v", a.Choices)
	}
}

func TestLogprobsCoverTheText(t *testing.T) {
	a := ask(t, body(`,"logprobs":true,"top_logprobs":2`, hello))
	said := ""
	for _, token := range a.Choices[0].Logprobs.Content {
		said += token.Token
		if len(token.Bytes) != len(token.Token) || len(token.TopLogprobs) != 1 {
			t.Fatalf("%+v", token)
		}
	}
	if said != *a.Choices[0].Message.Content {
		t.Fatalf("%q", said)
	}
}

func TestCachesLongPrompts(t *testing.T) {
	server := simulatortest.Strict(t)
	long := strings.Repeat("word ", 1500)
	request := body("", `{"role":"system","content":"`+long+`"},`+hello)
	for _, want := range []int{0, 1408} {
		var a openai.Answer
		simulatortest.OpenAI.Ask(t, server, request, &a)
		if a.Usage.PromptDetails.Cached != want || a.Usage.PromptTokens != 1502 {
			t.Fatalf("%+v, want %d cached", a.Usage, want)
		}
	}
}

func TestAnswersHaveTheKeysOfTheService(t *testing.T) {
	a := simulatortest.OpenAI.Post(t, body("", hello))
	choice := rawjson.Elements(rawjson.Get(a.Body, "choices"))[0]
	for _, want := range []string{`"refusal":null`, `"annotations":[]`, `"logprobs":null`} {
		if !strings.Contains(string(choice), want) {
			t.Errorf("no %s in %s", want, choice)
		}
	}
	if rawjson.Get(rawjson.Get(choice, "message"), "tool_calls") != nil {
		t.Errorf("tool_calls in %s", choice)
	}
	calls := simulatortest.OpenAI.Post(t, body(`,"tools":[`+weatherTool+`]`, hello))
	message := rawjson.Get(rawjson.Elements(rawjson.Get(calls.Body, "choices"))[0], "message")
	if got := rawjson.Get(message, "content"); got.Kind() != jsontext.Value("null").Kind() {
		t.Errorf("content is %s beside tool calls", got)
	}
}

func TestWithoutKeyIsUnauthorized(t *testing.T) {
	server := simulatortest.Strict(t)
	for _, header := range []string{"", "Bearer ", "Basic abc"} {
		client := simulatortest.Client{Header: map[string]string{"Authorization": header}, Path: simulatortest.OpenAI.Path}
		a := client.Send(t, server, http.MethodPost, body("", hello))
		fault := simulatortest.Decode[map[string]openai.Fault](t, a.Body)["error"]
		if a.Status != 401 || fault.Type != "invalid_request_error" || fault.Code != nil {
			t.Errorf("%q: %d %s", header, a.Status, a.Body)
		}
	}
}
