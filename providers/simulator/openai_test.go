package simulator

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const weatherTool = `{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}}`

func openaiBody(extra, messages string) string {
	return `{"model":"gpt-4o"` + extra + `,"messages":[` + messages + `]}`
}

const hello = `{"role":"user","content":"Hello there"}`

// openaiHeard is an answer, or a stream that has been put together again.
type openaiHeard struct {
	openaiAnswer
	roles  int
	usages int
}

func askOpenAI(t *testing.T, body string) openaiHeard {
	t.Helper()
	var a openaiHeard
	asOpenAI.ask(t, serve(t, Options{}), body, &a.openaiAnswer)
	return a
}

// streamOpenAI puts a stream together and checks its grammar on the way.
func streamOpenAI(t *testing.T, body string) openaiHeard {
	t.Helper()
	a := asOpenAI.send(t, serve(t, Options{}), http.MethodPost, body)
	if got := a.header.Get("Content-Type"); a.status != 200 || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("%d %s %s", a.status, got, a.body)
	}
	sent := events(t, a.body, "\n")
	if last := sent[len(sent)-1]; string(last.data) != "[DONE]" {
		t.Fatalf("ends with %s", last.data)
	}
	heard := openaiHeard{}
	choices := map[int]*openaiSaidChoice{}
	for _, e := range sent[:len(sent)-1] {
		chunk := decode[openaiChunk](t, e.data)
		if e.name != "" || chunk.Object != "chat.completion.chunk" || chunk.SystemFingerprint != "simulated" || chunk.Created != 1760000000 {
			t.Fatalf("chunk %s", e.data)
		}
		if heard.ID != "" && heard.ID != chunk.ID {
			t.Fatalf("id changed from %s to %s", heard.ID, chunk.ID)
		}
		heard.ID, heard.Model = chunk.ID, chunk.Model
		for _, c := range chunk.Choices {
			if choices[c.Index] == nil {
				choices[c.Index] = &openaiSaidChoice{Index: c.Index, Message: openaiSaid{Content: new("")}}
			}
			heard.hear(t, choices[c.Index], c)
		}
		if len(chunk.Choices) == 0 {
			heard.usages++
			heard.Usage = decode[openaiUsage](t, chunk.Usage)
		}
	}
	for i := range len(choices) {
		heard.Choices = append(heard.Choices, *choices[i])
	}
	return heard
}

func (h *openaiHeard) hear(t *testing.T, into *openaiSaidChoice, c openaiChunkChoice) {
	t.Helper()
	if into.FinishReason != "" {
		t.Fatalf("choice %d goes on after its end", c.Index)
	}
	type delta struct {
		openaiSaid
		ToolCalls []struct {
			Index int `json:"index"`
			openaiToolCall
		} `json:"tool_calls"`
	}
	d := decode[delta](t, c.Delta)
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
			into.Message.ToolCalls = append(into.Message.ToolCalls, call.openaiToolCall)
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
			into.Message.FunctionCall = &openaiCalled{}
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

func TestOpenAIAnswersAndEchoes(t *testing.T) {
	a := askOpenAI(t, openaiBody("", `{"role":"system","content":"Be brief."},`+hello))
	c := a.Choices[0]
	if *c.Message.Content != `This is a simulated answer from gpt-4o. You said: "Hello there"` || c.FinishReason != "stop" {
		t.Fatalf("%q %s", *c.Message.Content, c.FinishReason)
	}
	if a.Model != "gpt-4o-2024-08-06" || a.SystemFingerprint != "simulated" || a.Created != 1760000000 || !strings.HasPrefix(a.ID, "chatcmpl-") {
		t.Fatalf("%+v", a)
	}
	if a.Usage.PromptTokens != 4 || a.Usage.CompletionTokens != 11 || a.Usage.TotalTokens != 15 {
		t.Fatalf("usage %+v", a.Usage)
	}
	if b := askOpenAI(t, openaiBody("", hello)); a.ID == b.ID {
		t.Fatalf("%s came twice", a.ID)
	}
}

func TestOpenAICountsAttachments(t *testing.T) {
	a := askOpenAI(t, openaiBody("", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e.com/a.png"}},{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"https://e.com/b.png","detail":"low"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA==","filename":"a.pdf"}}]}`))
	if got := *a.Choices[0].Message.Content; !strings.HasSuffix(got, `You said: "Look" With it came 2 images and 1 file.`) {
		t.Fatal(got)
	}
}

func TestOpenAIStreamSaysWhatTheAnswerSays(t *testing.T) {
	for _, extra := range []string{"", `,"n":3`, `,"tools":[` + weatherTool + `]`, `,"max_tokens":4`, `,"stop":["simulated"]`, `,"logprobs":true,"top_logprobs":1`} {
		want := askOpenAI(t, openaiBody(extra, hello))
		got := streamOpenAI(t, openaiBody(extra+`,"stream":true,"stream_options":{"include_usage":true}`, hello))
		if len(got.Choices) != len(want.Choices) || got.roles != len(want.Choices) || got.usages != 1 || got.Usage != want.Usage {
			t.Fatalf("%s: %+v, want %+v", extra, got, want)
		}
		for i, c := range want.Choices {
			heard := got.Choices[i]
			if c.Message.Content != nil && *heard.Message.Content != *c.Message.Content || heard.FinishReason != c.FinishReason {
				t.Errorf("%s: choice %d: %+v, want %+v", extra, i, heard, c)
			}
			if len(c.Message.ToolCalls) != len(heard.Message.ToolCalls) {
				t.Errorf("%s: calls %+v, want %+v", extra, heard.Message.ToolCalls, c.Message.ToolCalls)
			}
			for n, call := range c.Message.ToolCalls {
				if *heard.Message.ToolCalls[n].Function != *call.Function {
					t.Errorf("%s: call %+v, want %+v", extra, heard.Message.ToolCalls[n].Function, call.Function)
				}
			}
			if (c.Logprobs == nil) != (heard.Logprobs == nil) {
				t.Errorf("%s: logprobs %v, want %v", extra, heard.Logprobs, c.Logprobs)
			}
		}
	}
}

func TestOpenAIStreamsUsageOnlyWhenAsked(t *testing.T) {
	if got := streamOpenAI(t, openaiBody(`,"stream":true`, hello)); got.usages != 0 {
		t.Fatal("usage came unasked")
	}
	server := serve(t, Options{})
	for extra, want := range map[string]int{"": 0, `,"stream_options":{"include_usage":true}`: 11 + 2} {
		a := asOpenAI.send(t, server, http.MethodPost, openaiBody(`,"stream":true`+extra, hello))
		if got := strings.Count(string(a.body), `"usage":null`); got != want {
			t.Errorf("%q: %d chunks with usage null, want %d", extra, got, want)
		}
	}
	a := asOpenAI.send(t, server, http.MethodPost, openaiBody(`,"stream":true,"stream_options":{"include_obfuscation":false}`, hello))
	if strings.Contains(string(a.body), "obfuscation") {
		t.Error("obfuscation came though it was switched off")
	}
}

func TestOpenAIToolRoundTrip(t *testing.T) {
	question := `{"role":"user","content":"What is the weather in Paris and Rome, both please?"}`
	tools := `,"tools":[` + weatherTool + `]`
	first := askOpenAI(t, openaiBody(tools, question)).Choices[0]
	if first.FinishReason != "tool_calls" || first.Message.Content != nil || len(first.Message.ToolCalls) != 2 {
		t.Fatalf("%+v", first)
	}
	calls := first.Message.ToolCalls
	if calls[0].Function.Arguments != `{"city": "Paris", "days": 1}` || calls[1].Function.Arguments != `{"city": "Rome", "days": 1}` || calls[0].ID == calls[1].ID {
		t.Fatalf("%+v %+v", calls[0].Function, calls[1].Function)
	}
	messages := question + "," + string(encode(first.Message)) +
		`,{"role":"tool","tool_call_id":"` + calls[0].ID + `","content":"sunny"},{"role":"tool","tool_call_id":"` + calls[1].ID + `","content":[{"type":"text","text":"{\"c\":14}"}]}`
	second := askOpenAI(t, openaiBody(tools, messages)).Choices[0]
	if got := *second.Message.Content; !strings.HasSuffix(got, `The tool get_weather returned: "sunny" The tool get_weather returned: "{"c":14}"`) {
		t.Fatal(got)
	}
	again := askOpenAI(t, openaiBody(tools, messages+`,{"role":"user","content":"And Oslo?"}`)).Choices[0]
	if again.FinishReason != "tool_calls" {
		t.Fatalf("a new question is answered without the tool: %+v", again)
	}
}

func TestOpenAIToolChoiceIsObeyed(t *testing.T) {
	two := `,"tools":[` + weatherTool + `,{"type":"function","function":{"name":"get_time"}},{"type":"custom","custom":{"name":"shout"}}]`
	both := `{"role":"user","content":"both"}`
	for choice, want := range map[string]string{
		`"auto"`:     "get_weather get_weather",
		`"required"`: "get_weather get_weather",
		`"none"`:     "",
		`{"type":"function","function":{"name":"get_time"}}`: "get_time get_time",
		`{"type":"custom","custom":{"name":"shout"}}`:        "shout shout",
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"get_time"}}]}}`:                 "get_time get_time",
		`{"type":"function","function":{"name":"get_weather"}},"parallel_tool_calls":false`:                                                         "get_weather",
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"get_time"}}]}},"seed":7,"user":"u"`: "get_time get_time",
	} {
		for _, hear := range []openaiHeard{
			askOpenAI(t, openaiBody(two+`,"tool_choice":`+choice, both)),
			streamOpenAI(t, openaiBody(two+`,"stream":true,"tool_choice":`+choice, both)),
		} {
			var names []string
			for _, call := range hear.Choices[0].Message.ToolCalls {
				names = append(names, call.called().Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s: %q, want %q", choice, got, want)
			}
		}
	}
}

func TestOpenAIFunctionsOfOldAreCalled(t *testing.T) {
	body := openaiBody(`,"functions":[{"name":"f","parameters":{"type":"object","properties":{}}}]`, hello)
	for _, a := range []openaiHeard{askOpenAI(t, body), streamOpenAI(t, strings.Replace(body, `"model"`, `"stream":true,"model"`, 1))} {
		c := a.Choices[0]
		if c.FinishReason != "function_call" || *c.Message.FunctionCall != (openaiCalled{"f", "{}"}) {
			t.Fatalf("%+v", c)
		}
	}
	a := askOpenAI(t, openaiBody(`,"functions":[{"name":"f"}]`, hello+`,{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"done"}`))
	if got := *a.Choices[0].Message.Content; !strings.Contains(got, `The tool f returned: "done"`) {
		t.Fatal(got)
	}
}

func TestOpenAIWritesJSON(t *testing.T) {
	a := askOpenAI(t, openaiBody(`,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object","properties":{"name":{"type":"string"},"ok":{"type":"boolean"}},"required":["name","ok"],"additionalProperties":false}}}`, hello))
	if got := *a.Choices[0].Message.Content; got != `{"name": "Hello there", "ok": true}` {
		t.Fatal(got)
	}
	a = askOpenAI(t, openaiBody(`,"response_format":{"type":"json_object"}`, `{"role":"user","content":"JSON please"}`))
	if got := *a.Choices[0].Message.Content; got != `{"simulated": true, "model": "gpt-4o", "you_said": "JSON please"}` {
		t.Fatal(got)
	}
}

func TestOpenAIEndsAtStopsAndLimits(t *testing.T) {
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
		c := askOpenAI(t, openaiBody(extra, hello)).Choices[0]
		said := ""
		if c.Message.Content != nil {
			said = *c.Message.Content
		}
		if said != want[0] || c.FinishReason != want[1] {
			t.Errorf("%s: %q %s, want %q", extra, said, c.FinishReason, want)
		}
	}
	cut := askOpenAI(t, openaiBody(`,"max_tokens":3,"tools":[`+weatherTool+`]`, hello)).Choices[0]
	if got := cut.Message.ToolCalls[0].Function.Arguments; cut.FinishReason != "length" || got != `{"city": "Hello` {
		t.Fatalf("%s %s", got, cut.FinishReason)
	}
}

func TestOpenAICountsReasoningWithoutShowingIt(t *testing.T) {
	body := `{"model":"gpt-5","reasoning_effort":"low","messages":[` + hello + `]`
	a := askOpenAI(t, body+`}`)
	u := a.Usage
	if u.CompletionDetails.Reasoning == 0 || u.CompletionTokens != u.CompletionDetails.Reasoning+11 || strings.Contains(*a.Choices[0].Message.Content, "reasoning") {
		t.Fatalf("%+v %s", u, *a.Choices[0].Message.Content)
	}
	a = askOpenAI(t, body+`,"max_completion_tokens":5}`)
	if c := a.Choices[0]; *c.Message.Content != "" || c.FinishReason != "length" || a.Usage.CompletionTokens != 5 {
		t.Fatalf("%+v %+v", c, a.Usage)
	}
}

func TestOpenAIGivesSeveralChoices(t *testing.T) {
	a := askOpenAI(t, openaiBody(`,"n":2`, hello))
	if len(a.Choices) != 2 || a.Choices[1].Index != 1 || !strings.HasSuffix(*a.Choices[1].Message.Content, "(choice 2)") {
		t.Fatalf("%+v", a.Choices)
	}
}

func TestOpenAILogprobsCoverTheText(t *testing.T) {
	a := askOpenAI(t, openaiBody(`,"logprobs":true,"top_logprobs":2`, hello))
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

func TestOpenAICachesLongPrompts(t *testing.T) {
	server := serve(t, Options{})
	long := strings.Repeat("word ", 1500)
	body := openaiBody("", `{"role":"system","content":"`+long+`"},`+hello)
	for _, want := range []int{0, 1408} {
		var a openaiAnswer
		asOpenAI.ask(t, server, body, &a)
		if a.Usage.PromptDetails.Cached != want || a.Usage.PromptTokens != 1502 {
			t.Fatalf("%+v, want %d cached", a.Usage, want)
		}
	}
}

func TestOpenAIAnswersHaveTheKeysOfTheService(t *testing.T) {
	a := asOpenAI.send(t, serve(t, Options{}), http.MethodPost, openaiBody("", hello))
	choice := elements(member(a.body, "choices"))[0]
	for _, want := range []string{`"refusal":null`, `"annotations":[]`, `"logprobs":null`} {
		if !strings.Contains(string(choice), want) {
			t.Errorf("no %s in %s", want, choice)
		}
	}
	if member(member(choice, "message"), "tool_calls") != nil {
		t.Errorf("tool_calls in %s", choice)
	}
	calls := asOpenAI.send(t, serve(t, Options{}), http.MethodPost, openaiBody(`,"tools":[`+weatherTool+`]`, hello))
	message := member(elements(member(calls.body, "choices"))[0], "message")
	if got := member(message, "content"); got.Kind() != jsontext.Value("null").Kind() {
		t.Errorf("content is %s beside tool calls", got)
	}
}
