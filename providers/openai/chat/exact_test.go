package chat

import (
	"strings"
	"testing"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
)

// shownEvents are the bytes of the events that a client of this API gets, from their
// choices on.
func shownEvents(t *testing.T, kind, body string) (string, error) {
	t.Helper()
	x := prepare(t, apiAnswering(t, 200, kind, body), "gpt-4", openaitest.Hello+`,"stream":true,"stream_options":{"include_usage":true}}`)
	stream, err := x.Open(t.Context(), openaitest.Key)
	if err != nil {
		return "", err
	}
	w := chat.NewWriter(x.(*exchange).call.Request)
	var lines []string
	for e, err := range stream {
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		if e == nil {
			continue // a pause
		}
		text, err := w.Append(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, ok := strings.Cut(string(text), `"choices":`); ok {
			lines = append(lines, strings.TrimSuffix(strings.ReplaceAll(strings.TrimSpace(rest), `,"usage":null`, ""), "}"))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// translated is what a client of another dialect reads of an answer.
func translated(t *testing.T, stream bool, kind, body string) (*llm.Answer, error) {
	t.Helper()
	text := openaitest.Hello + `}`
	if stream {
		text = openaitest.Hello + `,"stream":true}`
	}
	req, err := chat.Decode(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	x, err := apiAnswering(t, 200, kind, body).Prepare(providers.Call{Request: providertest.Foreign(req), Model: openaitest.Model(t, "gpt-4")})
	if err != nil {
		t.Fatal(err)
	}
	events, err := x.Open(t.Context(), openaitest.Key)
	if err != nil {
		return nil, err
	}
	return llm.Collect(events)
}

const (
	eventStream = "text/event-stream"
	usageOfTwo  = `{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`
)

// answerOf is a whole answer with this message.
func answerOf(message, finish string) string {
	return `{"id":"x","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":` + message +
		`,"finish_reason":"` + finish + `"}],"usage":` + usageOfTwo + `}`
}

// The content of a message is null only if the message has a call, a refusal or audio instead.
func TestNullContentStaysNullInPlaceOfSomethingElse(t *testing.T) {
	got, err := shownEvents(t, eventStream, data(
		part(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
			"null"), part(`{}`, "tool_calls"), done))
	want := `[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]`
	if first, _, _ := strings.Cut(got, "\n"); err != nil || first != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for message, isNull := range map[string]bool{
		`"refusal":null`: false, `"reasoning_content":"Hm."`: false, `"refusal":"no"`: true, `"audio":{"id":"a","data":"AAAA"}`: true, `"audio":null`: false,
		`"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`: true,
	} {
		c, err := complete(t, apiAnswering(t, 200, "application/json", answerOf(`{"role":"assistant","content":null,`+message+`}`, "length")),
			"gpt-4", openaitest.Hello+`}`)
		if err != nil || (c.Choices[0].Message.Content == nil) != isNull {
			t.Errorf("%s: %+v, %v", message, c, err)
		}
	}
}

func TestReasoningUnderTwoNamesIsShownOnce(t *testing.T) {
	for _, message := range []string{
		`{"role":"assistant","content":"a","reasoning":"Hm.","reasoning_content":"Hm."}`,
		`{"role":"assistant","content":"a","reasoning":"Hm.","reasoning_content":null}`,
		`{"role":"assistant","content":"a","reasoning":"Hm.","reasoning_content":""}`,
		`{"role":"assistant","content":"a","reasoning":null,"reasoning_content":"Hm."}`,
	} {
		body := answerOf(message, "stop")
		c, err := complete(t, apiAnswering(t, 200, "application/json", body), "gpt-4", openaitest.Hello+`}`)
		if err != nil || c.Choices[0].Message.ReasoningContent != "Hm." || len(c.Choices[0].Message.Extra) > 0 {
			t.Errorf("%s: %+v, %v", message, c, err)
		}
		got, err := shownEvents(t, eventStream, data(part(message, "null"), part(`{}`, "stop"), done))
		if err != nil || strings.Contains(got, `"reasoning"`) || strings.Count(got, `"reasoning_content":"Hm."`) != 1 {
			t.Errorf("%s: %s, %v", message, got, err)
		}
		for _, stream := range []bool{false, true} {
			text := body
			if stream {
				text = data(part(message, "null"), part(`{}`, "stop"), done)
			}
			a, err := translated(t, stream, "", text)
			if err != nil || len(a.Choices[0].Blocks) != 2 || a.Choices[0].Blocks[0].Text != "Hm." {
				t.Errorf("%s: %+v, %v", message, a, err)
			}
		}
	}
}

func TestErrorAsATextUnderStatus200(t *testing.T) {
	for _, body := range []string{`{"error":"model is loading"}`, `{"object":"error","message":"model is loading","code":503}`} {
		_, err := complete(t, apiAnswering(t, 200, "application/json", body), "gpt-4", openaitest.Hello+`}`)
		wantMessage(t, err, "model is loading")
		for _, events := range []string{data(body), "event: error\n" + data(body)} {
			_, err = shownEvents(t, eventStream, events)
			wantMessage(t, err, "model is loading")
			_, err = shownEvents(t, eventStream, data(part(`{"content":"a"}`, "null"))+events)
			wantMessage(t, err, "model is loading")
			_, err = translated(t, true, eventStream, data(part(`{"content":"a"}`, "null"))+events)
			wantMessage(t, err, "model is loading")
		}
		_, err = translated(t, false, "application/json", body)
		wantMessage(t, err, "model is loading")
	}
}

func wantMessage(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestArgumentsAsAnObjectAreTheirText(t *testing.T) {
	const message = `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function",` +
		`"function":{"name":"f","arguments":{"a": [1, "<é>"], "b":12345678901234567890}}}]}`
	const want = `{"a": [1, "<é>"], "b":12345678901234567890}`
	body := answerOf(message, "tool_calls")
	c, err := complete(t, apiAnswering(t, 200, "application/json", body), "gpt-4", openaitest.Hello+`}`)
	if err != nil || c.Choices[0].Message.ToolCalls[0].Function.Arguments != want {
		t.Errorf("%+v, %v", c, err)
	}
	events := data(part(message, "null"), part(`{}`, "tool_calls"), done)
	c, err = collect(t, apiAnswering(t, 200, eventStream, events), openaitest.Hello+`,"stream":true}`)
	if err != nil || c.Choices[0].Message.ToolCalls[0].Function.Arguments != want {
		t.Errorf("%+v, %v", c, err)
	}
	for stream, text := range map[bool]string{false: body, true: events} {
		a, err := translated(t, stream, "", text)
		if err != nil || a.Choices[0].Blocks[0].Call.Input != want {
			t.Errorf("%+v, %v", a, err)
		}
	}
}

// Azure's filters judge the prompt before the first token, or tokens that are
// already sent (learn.microsoft.com, Azure OpenAI content streaming).
func TestResultsOfAzuresFiltersPass(t *testing.T) {
	const safe = `{"hate":{"filtered":false,"severity":"safe"}}`
	const judged = `"content_filter_results":` + safe + `,"content_filter_offsets":{"check_offset":35,"start_offset":35,"end_offset":36}`
	const late = `{"id":"","object":"","created":0,"model":"","choices":[{"index":0,"finish_reason":null,` + judged + `}]}`
	const prompt = `"prompt_filter_results":[{"prompt_index":0,"content_filter_results":` + safe + `}]`
	got, err := shownEvents(t, eventStream, data(`{"id":"","object":"","created":0,"model":"","choices":[],`+prompt+`}`,
		part(`{"role":"assistant","content":""}`, "null"), part(`{"content":"a"}`, "null"), late, part(`{}`, "stop"), late,
		`{"id":"x","created":5,"model":"m","choices":[],`+prompt+`,"usage":`+usageOfTwo+`}`, done))
	want := `[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],` + prompt + `
[{"index":0,"delta":{"content":"a"},"finish_reason":null}]
[{"index":0,"delta":{},"finish_reason":null,` + judged + `}]
[{"index":0,"delta":{},"finish_reason":null,` + judged + `}]
[{"index":0,"delta":{},"finish_reason":"stop"}],` + prompt + `
[],"usage":` + usageOfTwo
	if err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	a, err := translated(t, true, eventStream, data(part(`{"content":"a"}`, "null"), late, part(`{}`, "stop"), late, done))
	if err != nil || len(a.Choices) != 1 || a.Choices[0].Blocks[0].Text != "a" || a.Choices[0].Finish != llm.FinishStop {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestUnknownMembersOfCallsAndImagesPass(t *testing.T) {
	const calls = `"tool_calls":[{"index":0,"id":"c","type":"function","mood":"good","function":{"name":"f","arguments":"{}","kind":1}}]`
	const images = `"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","width":7},"index":0}]`
	message := `{"role":"assistant","content":null,` + calls + `,` + images + `}`
	x := prepare(t, apiAnswering(t, 200, "application/json", answerOf(message, "tool_calls")), "gpt-4", openaitest.Hello+`}`)
	stream, err := x.Open(t.Context(), openaitest.Key)
	if err != nil {
		t.Fatal(err)
	}
	var whole string
	for e := range stream {
		whole = string(e.Raw)
	}
	events, err := shownEvents(t, eventStream, data(part(message, "null"), part(`{}`, "tool_calls"), done))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{whole, events} {
		for _, want := range []string{`"mood":"good"`, `"kind":1`, `"width":7`, `"index":0`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is missing: %s", want, got)
			}
		}
	}
}

func TestWholeAnswerInPlaceOfAStreamKeepsItsMembers(t *testing.T) {
	body := strings.Replace(answerOf(`{"role":"assistant","content":null,"annotations":[{"type":"url_citation"}],"reasoning":"Hm.",`+
		`"tool_calls":[{"id":"c","type":"function","mood":"good","function":{"name":"f","arguments":{"a":1}}},`+
		`{"id":"d","type":"function","function":{"name":"g","arguments":""}}]}`, "tool_calls"), `"model":"m"`,
		"\n\"model\":\"m\",\"provider\":\"p\"", 1)
	got, err := shownEvents(t, "application/json", body)
	for _, want := range []string{
		`"content":null`, `"annotations":[{"type":"url_citation"}]`, `"reasoning_content":"Hm."`, `"mood":"good"`, `"arguments":"{\"a\":1}"`,
		`{"index":1,"function":{"arguments":"{}"}}`, `"provider":"p"`, `"finish_reason":"tool_calls"`, `[],"usage":` + usageOfTwo,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing: %s, %v", want, got, err)
		}
	}
	if strings.Contains(got, `"reasoning"`) {
		t.Error(got)
	}
	a, err := translated(t, true, "application/json", body)
	if err != nil || len(a.Choices[0].Blocks) != 3 || a.Choices[0].Finish != llm.FinishToolCalls || a.Usage.Total != 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestStreamsWithoutAnEndMarkAreWholeInAnotherDialect(t *testing.T) {
	a, err := translated(t, true, eventStream, data(part(`{"content":"a"}`, "null"), part(`{}`, "stop")))
	if err != nil || a.Choices[0].Blocks[0].Text != "a" || a.Choices[0].Finish != llm.FinishStop {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := translated(t, true, eventStream, data(part(`{"content":"a"}`, "null"))); err == nil {
		t.Error("a stream that breaks off is whole")
	}
}

// Members of another type than OpenAI's do not cost the answer.
func TestMembersOfAnotherTypeAreReadAsWhatTheySay(t *testing.T) {
	for name, message := range map[string]string{
		"reasoning is an object": `{"role":"assistant","content":"a","reasoning":{"text":"Hm."}}`,
		"an id is a number":      `{"role":"assistant","content":"a","tool_calls":[{"index":0,"id":7,"function":{"name":"f","arguments":"{}"}}]}`,
		"parts with a null":      `{"role":"assistant","content":[{"type":"text","text":"a"},null]}`,
		"text and list content":  `{"role":"assistant","content":["a"]}`,
	} {
		c, err := complete(t, apiAnswering(t, 200, "application/json", answerOf(message, "stop")), "gpt-4", openaitest.Hello+`}`)
		if err != nil || *c.Choices[0].Message.Content != "a" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		c, err = collect(t, apiAnswering(t, 200, eventStream, data(part(message, "null"), part(`{}`, "stop"), done)),
			openaitest.Hello+`,"stream":true}`)
		if err != nil || *c.Choices[0].Message.Content != "a" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// The events have all members that clients rely on, so that nothing but the type of
// one keeps them from being forwarded as they are.
func TestEventsWithOtherTypesAreNotForwardedAsTheyAre(t *testing.T) {
	const head = `{"id":"x","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":`
	const tail = `,"finish_reason":null}]}`
	got, err := shownEvents(t, eventStream, data(head+`{"role":"assistant","content":""}`+tail,
		head+`{"content":[{"type":"text","text":"a"}]}`+tail,
		head+`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"["}}]}`+tail,
		head+`{"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]}`+tail,
		part(`{}`, "tool_calls"), done))
	want := `[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]
[{"index":0,"delta":{"content":"a"},"finish_reason":null}]
[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"["}}]},"finish_reason":null}]
[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]},"finish_reason":null}]
[{"index":0,"delta":{},"finish_reason":"tool_calls"}]`
	if err != nil || got != want {
		t.Errorf("%v, got\n%s", err, got)
	}
}

// xAI's total has the tokens of reasoning, and its completion_tokens has not.
// Gemini's compatible endpoint says nothing else of it.
func TestReasoningIsCountedAmongTheTokensOfTheAnswer(t *testing.T) {
	for _, usage := range []string{
		`{"prompt_tokens":12,"completion_tokens":2,"total_tokens":334,"completion_tokens_details":{"reasoning_tokens":320}}`,
		`{"prompt_tokens":12,"completion_tokens":2,"total_tokens":334}`,
	} {
		checkReasoningIsCounted(t, usage)
	}
}

func checkReasoningIsCounted(t *testing.T, usage string) {
	t.Helper()
	body := strings.Replace(answerOf(`{"role":"assistant","content":"a","refusal":null}`, "stop"), usageOfTwo, usage, 1)
	c, err := complete(t, apiAnswering(t, 200, "application/json", body), "gpt-4", openaitest.Hello+`}`)
	if err != nil || c.Usage.CompletionTokens != 322 || c.Usage.TotalTokens != 334 {
		t.Errorf("%+v, %v", c, err)
	}
	got, err := shownEvents(t, eventStream, data(part(`{"content":"a"}`, "null"), part(`{}`, "stop"), part(`{}`, "stop"),
		`{"id":"x","created":5,"model":"m","choices":[],"usage":`+usage+`}`, done))
	if err != nil || !strings.Contains(got, `"completion_tokens":322`) || strings.Count(got, `"finish_reason":"stop"`) != 1 {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWrongKeyUnderStatus400IsTheGatewaysFault(t *testing.T) {
	const body = `{"code":"invalid-argument","error":"Incorrect API key provided: xa***. ` +
		`You can obtain an API key from https://console.x.ai."}`
	_, err := complete(t, apiAnswering(t, 400, "application/json", body), "gpt-4", openaitest.Hello+`}`)
	wantError(t, err, 502)
}

func TestWordsOfOtherServersForFinishReasonsAreOpenAIs(t *testing.T) {
	for native, want := range map[string]string{"eos": "stop", "model_length": "length"} {
		body := answerOf(`{"role":"assistant","content":"a","refusal":null}`, native)
		c, err := complete(t, apiAnswering(t, 200, "application/json", body), "gpt-4", openaitest.Hello+`}`)
		if err != nil || c.Choices[0].FinishReason != want || string(c.Choices[0].Extra) != `{"native_finish_reason":"`+native+`"}` {
			t.Errorf("%+v, %v", c, err)
		}
		events := data(part(`{"content":"a"}`, "null"), part(`{}`, native), done)
		got, err := shownEvents(t, eventStream, events)
		if err != nil || !strings.HasSuffix(got, `"delta":{},"finish_reason":"`+want+`","native_finish_reason":"`+native+`"}]`) {
			t.Errorf("%s, %v", got, err)
		}
		if a, err := translated(t, true, eventStream, events); err != nil || string(a.Choices[0].Finish) != want {
			t.Errorf("%+v, %v", a, err)
		}
	}
}
