package providertest

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/chat"
)

// event is a chunk of a stream of the gateway.
func event(choices, rest string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[` + choices + `]` + rest + "}\n\n"
}

const (
	role  = `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`
	text  = `{"index":0,"delta":{"content":"Hi"},"finish_reason":null}`
	stop  = `{"index":0,"delta":{},"finish_reason":"stop"}`
	callA = `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]},` +
		`"finish_reason":null}`
	callA2 = `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":null}`
	callC  = `{"index":0,"delta":{"tool_calls":[{"index":2,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`"finish_reason":null}`
	usage = `,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`
	done  = "data: [DONE]\n\n"
)

func TestFromStreamPutsTheChoicesTogether(t *testing.T) {
	other := `{"index":1,"delta":{"role":"assistant","content":"Ho"},"finish_reason":null},{"index":1,"delta":{},"finish_reason":"length"}`
	o := FromStream([]byte(event(role, "") + ": ping\n\n" + event(text, "") + event(callA, "") + event(callA2, "") +
		event(other, "") + event(stop, "") + event("", usage) + done))
	if len(o.Breaches) > 0 || o.Failure != nil {
		t.Fatalf("%v %v", o.Breaches, o.Failure)
	}
	if o.Text != "Hi" || o.FinishReason != "stop" || o.Usage.TotalTokens != 3 {
		t.Errorf("%+v", o)
	}
	if len(o.ToolCalls) != 1 || o.ToolCalls[0] != (ToolCall{ID: "a", Name: "f", Arguments: "{}"}) {
		t.Errorf("%+v", o.ToolCalls)
	}
	if len(o.Others) != 1 || o.Others[0].Text != "Ho" || o.Others[0].FinishReason != "length" {
		t.Errorf("%+v", o.Others)
	}
}

func TestFromStreamKeepsWhatCameBeforeAnError(t *testing.T) {
	o := FromStream([]byte(event(role, "") + event(text, "") +
		`data: {"error":{"type":"api_error","message":"m","code":"provider_error","param":null}}` + "\n\n"))
	if o.Text != "Hi" || o.Failure == nil || *o.Failure != (Failure{Type: "api_error", Code: "provider_error"}) || len(o.Breaches) > 0 {
		t.Errorf("%+v", o)
	}
}

func TestStreamsThatViolateTheContractAreReported(t *testing.T) {
	failed := `data: {"error":{"type":"api_error","message":"m","code":"provider_error"}}` + "\n\n"
	for says, stream := range map[string]string{
		"neither [DONE] nor an error":     event(role, "") + event(stop, ""),
		"follows the end of the stream":   event(role, "") + event(text, "") + failed + done,
		"begins with the role":            event(text, "") + event(stop, "") + done,
		"says its role again":             event(role, "") + event(role, "") + event(stop, "") + done,
		"has no finish":                   event(role, "") + event(text, "") + done,
		"goes on after its finish":        event(role, "") + event(stop, "") + event(text, "") + done,
		"brings more than the finish":     event(role, "") + event(`{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}`, "") + done,
		"a chunk follows the usage":       event(role, "") + event("", usage) + event(stop, "") + done,
		"usage comes with choices":        event(role, "") + event(stop, usage) + done,
		"neither choices nor usage":       event(role, "") + event("", "") + event(stop, "") + done,
		"tool call 2 comes as number 0":   event(role, "") + event(callC, "") + event(stop, "") + done,
		"tool call 0 says its id or type": event(role, "") + event(callA, "") + event(callA, "") + event(stop, "") + done,
		"begins with the id":              event(role, "") + event(callA2, "") + event(stop, "") + done,
		"id, model or created change":     event(role, "") + strings.ReplaceAll(event(stop, ""), "c1", "c2") + done,
		"object is":                       strings.ReplaceAll(event(role, "")+event(stop, ""), ".chunk", "") + done,
		"created is 0":                    strings.ReplaceAll(event(role, "")+event(stop, ""), `:7`, ":0") + done,
		"there are no choices":            event("", usage) + done,
		"is not a chunk":                  "data: {\n\n" + done,
		"an error has no error object":    event(role, "") + "data: {\"error\":null}\n\n",
	} {
		o := FromStream([]byte(stream))
		if got := fmt.Sprint(o.Breaches); !strings.Contains(got, says) {
			t.Errorf("%s, not %q", got, says)
		}
	}
}

func TestFromChunksWantsErrorsForClientsAtTheEnd(t *testing.T) {
	chunk := func() *chat.Chunk {
		return &chat.Chunk{ID: "c", Object: chat.ObjectChunk, Created: 1, Model: "m", Choices: []chat.ChunkChoice{
			{Delta: chat.Delta{Role: "assistant", Content: ptr("Hi")}},
		}}
	}
	broken := &api.Error{Status: 502, Type: api.TypeAPI, Code: api.CodeProviderError, Message: "m"}
	stream := func(after ...error) iter.Seq2[*chat.Chunk, error] {
		return func(yield func(*chat.Chunk, error) bool) {
			more := yield(chunk(), nil)
			for _, err := range after {
				more = more && yield(nil, err)
			}
		}
	}
	if o := FromChunks(stream(fmt.Errorf("wrapped: %w", broken))); o.Text != "Hi" || o.Failure.Status != 502 || len(o.Breaches) > 0 {
		t.Errorf("%+v", o)
	}
	for says, s := range map[string]iter.Seq2[*chat.Chunk, error]{
		"not one for clients": stream(errors.New("raw")),
		"follows an error":    stream(broken, broken),
		"has no finish":       stream(),
		"no chunk before it":  stream(nil, nil),
	} {
		if got := fmt.Sprint(FromChunks(s).Breaches); !strings.Contains(got, says) {
			t.Errorf("%s, not %q", got, says)
		}
	}
}

func TestFromAnswerReadsCompletionsAndErrors(t *testing.T) {
	o := FromAnswer(200, []byte(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[
		{"index":1,"message":{"role":"assistant","content":"Ho"},"finish_reason":"stop"},
		{"index":0,"message":{"role":"assistant","content":null,"refusal":"No","reasoning_content":"why"},"finish_reason":"content_filter"}]}`))
	if len(o.Breaches) > 0 || o.Refusal != "No" || o.Reasoning != "why" || o.FinishReason != "content_filter" || o.Others[0].Text != "Ho" {
		t.Errorf("%+v", o)
	}
	o = FromAnswer(429, []byte(`{"error":{"type":"api_error","message":"m","code":"provider_error","param":null}}`))
	if len(o.Breaches) > 0 || *o.Failure != (Failure{Status: 429, Type: "api_error", Code: "provider_error"}) {
		t.Errorf("%+v", o)
	}
	for says, body := range map[string]string{
		"not a completion":     `<html>`,
		"there are no choices": `{"id":"c","object":"chat.completion","model":"m","choices":[]}`,
		"has no finish reason": `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",` +
			`"content":"x"}}]}`,
		"content is null": `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",` +
			`"content":null},"finish_reason":"stop"}]}`,
		"object is": `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},` +
			`"finish_reason":"stop"}]}`,
	} {
		if got := fmt.Sprint(FromAnswer(200, []byte(body)).Breaches); !strings.Contains(got, says) {
			t.Errorf("%s, not %q", got, says)
		}
	}
}
