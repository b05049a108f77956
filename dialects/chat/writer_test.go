package chat

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// answered is a stream of everything that a provider may send.
func answered(yield func(*llm.Event, error) bool) {
	e := llm.NewEmitter(yield, llm.Head{ID: "a", Model: "m", Created: 1})
	for _, text := range []string{"th", "ink"} {
		e.Thought(0, text, &llm.Thought{Text: text, Format: llm.FormatAnthropic})
	}
	e.Thought(0, "", &llm.Thought{Signature: "s", Format: llm.FormatAnthropic, WithCalls: true})
	e.Text(1, "other")
	e.Text(0, "Hel")
	e.Text(0, "lo")
	at, _ := e.Call(0, &llm.CallStart{ID: "c", Name: "f"})
	e.Input(0, at, `{"a"`)
	e.Input(0, at, `:1}`)
	e.Finish(0, llm.Ending{Finish: llm.FinishToolCalls, NativeReason: "tool_use"})
	e.Refusal(2, "no")
	e.Finish(2, llm.Ending{Finish: llm.FinishContentFilter, NativeReason: "refusal"})
	e.Finish(1, llm.Ending{Finish: llm.FinishStop, NativeReason: "end_turn"})
	e.Usage(&llm.Usage{Total: 3})
}

func TestCompletionIsCollectedFromItsStream(t *testing.T) {
	answer, err := llm.Collect(answered)
	if err != nil {
		t.Fatal(err)
	}
	got, err := AppendAnswer(nil, new(llm.Request), answer)
	id := PackID("c", []ReasoningDetail{{Type: ReasoningText, Text: "think", Signature: "s", Format: llm.FormatAnthropic}})
	want := `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[` +
		`{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null,"reasoning_content":"think",` +
		`"reasoning_details":[{"type":"reasoning.text","text":"think","signature":"s","format":"anthropic-claude-v1","index":0}],` +
		`"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls",` +
		`"native_finish_reason":"tool_use"},` +
		`{"index":1,"message":{"role":"assistant","content":"other","refusal":null},"finish_reason":"stop",` +
		`"native_finish_reason":"end_turn"},` +
		`{"index":2,"message":{"role":"assistant","content":null,"refusal":"no"},"finish_reason":"content_filter",` +
		`"native_finish_reason":"refusal"}],` +
		`"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":3}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}

func written(t *testing.T, req *llm.Request, stream llm.Stream) string {
	t.Helper()
	w := NewWriter(req)
	var text []byte
	for e, err := range stream {
		if err == nil && e != nil {
			text, err = w.Append(text, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(w.Done(text))
}

func TestStreamIsWrittenInTheOrderOfTheAPI(t *testing.T) {
	id := PackID("c", []ReasoningDetail{{Type: ReasoningText, Text: "think", Signature: "s", Format: llm.FormatAnthropic}})
	want := ""
	for _, choice := range []string{
		`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`,
		`{"index":0,"delta":{"reasoning_content":"th","reasoning_details":[{"type":"reasoning.text","text":"th",` +
			`"format":"anthropic-claude-v1","index":0}]},"finish_reason":null}`,
		`{"index":0,"delta":{"reasoning_content":"ink","reasoning_details":[{"type":"reasoning.text","text":"ink","index":0}]},` +
			`"finish_reason":null}`,
		`{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0}]},"finish_reason":null}`,
		`{"index":1,"delta":{"role":"assistant","content":""},"finish_reason":null}`,
		`{"index":1,"delta":{"content":"other"},"finish_reason":null}`,
		`{"index":0,"delta":{"content":"Hel"},"finish_reason":null}`,
		`{"index":0,"delta":{"content":"lo"},"finish_reason":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + id +
			`","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]},"finish_reason":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":null}`,
		`{"index":0,"delta":{},"finish_reason":"tool_calls","native_finish_reason":"tool_use"}`,
		`{"index":2,"delta":{"role":"assistant","content":""},"finish_reason":null}`,
		`{"index":2,"delta":{"refusal":"no"},"finish_reason":null}`,
		`{"index":2,"delta":{},"finish_reason":"content_filter","native_finish_reason":"refusal"}`,
		`{"index":1,"delta":{},"finish_reason":"stop","native_finish_reason":"end_turn"}`,
	} {
		want += `data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[` + choice + "]}\n\n"
	}
	want += "data: [DONE]\n\n"
	if got := written(t, new(llm.Request), answered); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDeprecatedFunctionsHaveOneCallAndKeepAllLogprobs(t *testing.T) {
	stream := func(yield func(*llm.Event, error) bool) {
		e := llm.NewEmitter(yield, llm.Head{ID: "a", Model: "m", Created: 1})
		e.Begin(0)
		for _, text := range []string{"a", "b"} {
			e.Logprobs(jsontext.Value(`{"content":[{"token":"` + text + `"}],"refusal":null}`))
			e.Text(0, text)
		}
		at, _ := e.Call(1, &llm.CallStart{ID: "x", Name: "f"})
		e.Input(1, at, `{"x"`)
		e.Input(1, at, `:1}`)
		e.Call(1, &llm.CallStart{ID: "y", Name: "g", Arguments: "{}"})
		e.Finish(0, llm.Ending{Finish: llm.FinishStop})
		e.Finish(1, llm.Ending{Finish: llm.FinishToolCalls})
	}
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	got, err := completion(answer, true)
	if err != nil {
		t.Fatal(err)
	}
	if probable := string(got.Choices[0].Logprobs); probable != `{"content":[{"token":"a"},{"token":"b"}],"refusal":null}` {
		t.Errorf("logprobs %s", probable)
	}
	m := got.Choices[1].Message
	if m.Content != nil || m.FunctionCall == nil || m.FunctionCall.Name != "f" || m.FunctionCall.Arguments != `{"x":1}` ||
		got.Choices[1].FinishReason != "function_call" {
		t.Errorf("message %+v", m)
	}
}

func TestEachChoiceOfAStreamHasItsOwnThoughtsAndCalls(t *testing.T) {
	stream := func(yield func(*llm.Event, error) bool) {
		e := llm.NewEmitter(yield, llm.Head{ID: "a", Model: "m", Created: 1})
		for choice := range 2 {
			e.Thought(choice, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "d", Format: llm.FormatGemini})
			e.Call(choice, &llm.CallStart{ID: "c", Name: "f", Arguments: "{}"})
		}
	}
	for legacy, call := range map[bool]string{false: `"tool_calls":[{`, true: `"function_call":{`} {
		text := written(t, &llm.Request{SingleCall: legacy}, stream)
		if strings.Count(text, string(llm.FormatGemini)) != 2 || strings.Count(text, call) != 2 {
			t.Errorf("legacy %t: %s", legacy, text)
		}
	}
}

// calledCustom is a stream with a call of a custom tool beside one of a function.
func calledCustom(yield func(*llm.Event, error) bool) {
	e := llm.NewEmitter(yield, llm.Head{ID: "a", Model: "m", Created: 1})
	one, _ := e.Call(0, &llm.CallStart{ID: "c", Name: "sh", Kind: llm.ToolCustom, Arguments: "ls"})
	two, _ := e.Call(0, &llm.CallStart{ID: "d", Name: "f"})
	e.Input(0, one, ` -l "x"`)
	e.Input(0, two, `{}`)
	e.Finish(0, llm.Ending{Finish: llm.FinishToolCalls, NativeReason: "tool_calls"})
}

func TestCallsOfCustomToolsHaveTheirOwnForm(t *testing.T) {
	const head = `data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`
	want := head + `{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n" +
		head + `{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"sh","input":"ls"}}]},"finish_reason":null}]}` + "\n\n" +
		head + `{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]}` + "\n\n" +
		head + `{"tool_calls":[{"index":0,"custom":{"input":" -l \"x\""}}]},"finish_reason":null}]}` + "\n\n" +
		head + `{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]}` + "\n\n" +
		head + `{},"finish_reason":"tool_calls","native_finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	if got := written(t, new(llm.Request), calledCustom); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	answer, err := llm.Collect(calledCustom)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := AppendAnswer(nil, new(llm.Request), answer)
	if calls := `"tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls -l \"x\""}},{"id":"d","type":"function",` +
		`"function":{"name":"f","arguments":"{}"}}]`; err != nil || !strings.Contains(string(whole), calls) {
		t.Errorf("%s, %v", whole, err)
	}
}

func TestBytesOfAnotherDialectAreNotWritten(t *testing.T) {
	if text, err := AppendAnswer(nil, new(llm.Request), &llm.Answer{Raw: []byte(`{}`), RawDialect: "other"}); err == nil {
		t.Errorf("an answer was written: %s", text)
	}
	event := &llm.Event{Kind: llm.EventOther, Raw: []byte(`{}`), RawDialect: "other", Head: new(llm.Head)}
	if text, err := NewWriter(new(llm.Request)).Append(nil, event); err == nil {
		t.Errorf("an event was written: %s", text)
	}
}
