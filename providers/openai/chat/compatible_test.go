package chat

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/providers/openai/openaitest"
)

func TestStreamWithoutAnEndMarkIsWholeAfterItsFinishReason(t *testing.T) {
	body := data(part(`{"role":"assistant","content":"a"}`, "null"), part(`{}`, "stop"))
	p := apiAnswering(t, 200, "text/event-stream", body)
	c, err := collect(t, p, openaitest.Hello+`,"stream":true}`)
	if err != nil || *c.Choices[0].Message.Content != "a" || c.Choices[0].FinishReason != "stop" || c.Usage != nil {
		t.Errorf("%+v, %v", c, err)
	}
	body = data(part(`{"role":"assistant","content":"a"}`, "null"), part(`{}`, "stop"), `{"id":"x","created":5,"model":"m","choices":[],"usage":`+usageOfTwo+`}`)
	for _, body := range []string{body, strings.TrimRight(body, "\n")} {
		c, err := collect(t, apiAnswering(t, 200, "text/event-stream", body),
			openaitest.Hello+`,"stream":true,"stream_options":{"include_usage":true}}`)
		if err != nil || *c.Choices[0].Message.Content != "a" || c.Usage == nil {
			t.Errorf("with the usage behind it: %+v, %v", c, err)
		}
	}
}

// Some compatible servers cannot stream, and answer with the whole at once.
func TestWholeAnswerInPlaceOfAStreamIsAStream(t *testing.T) {
	const whole = ` {"id":"x","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",` +
		`"message":{"role":"assistant","content":"Hello","tool_calls":[{"id":"c","type":"function",` +
		`"function":{"name":"f","arguments":"{}"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
	for kind, body := range map[string]string{
		"application/json": whole, "application/json; charset=utf-8": "\r\n " + whole + "\n",
	} {
		c, err := collect(t, apiAnswering(t, 200, kind, body), openaitest.Hello+`,"stream":true}`)
		if err != nil {
			t.Fatal(err)
		}
		m := c.Choices[0].Message
		if *m.Content != "Hello" || len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Name != "f" || c.Choices[0].FinishReason != "tool_calls" ||
			c.ID != "x" {
			t.Errorf("%+v", c)
		}
	}
	_, err := collect(t, apiAnswering(t, 200, "application/json", `{"error":{"message":"no","type":"invalid_request_error"}}`),
		openaitest.Hello+`,"stream":true}`)
	if e := api.AsError(err); err == nil || e.Message != "no" {
		t.Errorf("%v", err)
	}
	events := data(part(`{"role":"assistant","content":"a"}`, "null"), part(`{}`, "stop"), done)
	if c, err := collect(t, apiAnswering(t, 200, "application/json", events), openaitest.Hello+`,"stream":true}`); err != nil ||
		*c.Choices[0].Message.Content != "a" {
		t.Errorf("events that are called JSON: %+v, %v", c, err)
	}
	if _, err := collect(t, apiAnswering(t, 200, "application/json", ""), openaitest.Hello+`,"stream":true}`); err == nil {
		t.Error("an empty body is an answer")
	}
}

// Mistral's models that reason answer with a list of parts.
func TestContentOfPartsIsTextAndReasoning(t *testing.T) {
	const parts = `[{"type":"thinking","thinking":[{"type":"text","text":"Hm, "},{"type":"text","text":"so."}]},` +
		`{"type":"text","text":"Fif"},{"type":"reference","reference_ids":[1]},{"type":"text","text":"ty"}]`
	p := apiAnswering(t, 200, "application/json", `{"id":"x","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":`+parts+`,"refusal":null},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`)
	for name, read := range map[string]func() (string, string, error){
		"whole": func() (string, string, error) {
			c, err := complete(t, p, "gpt-4", openaitest.Hello+`}`)
			if err != nil {
				return "", "", err
			}
			return *c.Choices[0].Message.Content, c.Choices[0].Message.ReasoningContent, nil
		},
		"a stream": func() (string, string, error) {
			events := data(part(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm, "}]}]}`, "null"),
				part(`{"content":[{"type":"thinking","thinking":"so."}]}`, "null"), part(`{"content":[{"type":"text","text":"Fif"}]}`, "null"),
				part(`{"content":"ty"}`, "null"), part(`{}`, "stop"), done)
			c, err := collect(t, apiAnswering(t, 200, "text/event-stream", events), openaitest.Hello+`,"stream":true}`)
			if err != nil {
				return "", "", err
			}
			return *c.Choices[0].Message.Content, c.Choices[0].Message.ReasoningContent, nil
		},
	} {
		if text, reasoning, err := read(); err != nil || text != "Fifty" || reasoning != "Hm, so." {
			t.Errorf("%s: %q, %q, %v", name, text, reasoning, err)
		}
	}
}

func TestReasoningHasOneNameInAnswersAndStreams(t *testing.T) {
	p := apiAnswering(t, 200, "application/json", `{"id":"x","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":"a","refusal":null,"reasoning":"Hm.","mood":"good"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`)
	c, err := complete(t, p, "gpt-4", openaitest.Hello+`}`)
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Choices[0].Message; m.ReasoningContent != "Hm." || string(m.Extra) != `{"mood":"good"}` {
		t.Errorf("%q, %s", m.ReasoningContent, m.Extra)
	}
}

func TestRefusalsOfCompatibleServersKeepTheirReason(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"error","message":"too many tokens","type":"BadRequestError","param":null,"code":400}`: "too many tokens",
		`{"message":"too many tokens"}`:                                               "too many tokens",
		`{"error":"too many tokens"}`:                                                 "too many tokens",
		`{"error":{"message":"too many tokens"}}`:                                     "too many tokens",
		`{"detail":"too many tokens"}`:                                                "too many tokens",
		`{"detail":[{"loc":["body","top_p"],"msg":"must be a number"},{"msg":"no"}]}`: "must be a number; no",
		`{"detail":{"error":"too many tokens"}}`:                                      "too many tokens",
		"too many tokens\n":                                                           "too many tokens",
		`"too many tokens"`:                                                           "too many tokens",
		`<html><body>too many tokens</body></html>`:                                   "openai answered with status 400",
		`{"error":{}}`:                                                                "openai answered with status 400",
		`{"detail":17}`:                                                               "openai answered with status 400",
		``:                                                                            "openai answered with status 400",
	} {
		_, err := complete(t, apiAnswering(t, 400, "text/plain", body), "gpt-4", openaitest.Hello+`}`)
		if e := wantError(t, err, 400); e.Message != want {
			t.Errorf("%s: %q", body, e.Message)
		}
	}
	_, err := complete(t, apiAnswering(t, 503, "text/plain", strings.Repeat("upstream connect error", 2)), "gpt-4", openaitest.Hello+`}`)
	if api.AsError(err).Message != "openai answered with status 503" {
		t.Errorf("%v", err)
	}
}
