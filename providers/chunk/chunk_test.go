package chunk

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
)

// emit runs a generator to its end and shows every chunk.
func emit(t *testing.T, generate func(*Emitter)) (lines []string, failure error) {
	t.Helper()
	generate(New(func(c *api.ChatChunk, err error) bool {
		if err != nil {
			failure = err
			return true
		}
		text, err := json.Marshal(c.Choices)
		if err != nil {
			t.Fatal(err)
		}
		if c.Usage != nil {
			text = append(text, " usage"...)
		}
		lines = append(lines, string(text))
		return true
	}, Head{ID: "a", Model: "m", Created: 1}))
	return lines, failure
}

func TestThePromisesOfAStreamHoldWhateverIsEmitted(t *testing.T) {
	lines, err := emit(t, func(e *Emitter) {
		e.Text(0, "")
		e.Text(0, "a")
		at, _ := e.Call(0, api.ToolCall{ID: "c", Function: &api.FunctionCall{Name: "f"}})
		e.Arguments(0, at, "")
		e.Arguments(0, at, "{}")
		second, _ := e.Call(0, api.ToolCall{ID: "d", Function: &api.FunctionCall{Name: "g", Arguments: "{}"}})
		if at != 0 || second != 1 || e.Calls(0) != 2 {
			t.Errorf("calls numbered %d and %d", at, second)
		}
		e.Finish(0, "tool_calls")
		e.Finish(0, "stop")
		e.Text(0, "too late")
		e.Delta(0, api.Delta{Role: "assistant"})
		e.Usage(nil)
		e.Usage(&api.Usage{})
	})
	want := []string{
		`[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`,
		`[{"index":0,"delta":{"content":"a"},"finish_reason":null}]`,
		`[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]`,
		`[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]`,
		`[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":null}]`,
		`[{"index":0,"delta":{},"finish_reason":"tool_calls"}]`,
		`[] usage`,
	}
	if err != nil || len(lines) != len(want) {
		t.Fatalf("%d chunks, %v: %v", len(lines), err, lines)
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("chunk %d\ngot  %s\nwant %s", i, lines[i], want[i])
		}
	}
}

func TestNothingFollowsAFailureOrAConsumerWhoLeft(t *testing.T) {
	lines, err := emit(t, func(e *Emitter) {
		e.Text(0, "a")
		e.Fail(errors.New("broken"))
		e.Text(0, "b")
		e.Finish(0, "stop")
		e.Usage(&api.Usage{})
		e.Fail(errors.New("again"))
	})
	if err == nil || err.Error() != "broken" || len(lines) != 2 {
		t.Errorf("%v, %v", lines, err)
	}
	calls := 0
	e := New(func(*api.ChatChunk, error) bool {
		calls++
		return false
	}, Head{})
	if e.Text(0, "a") || e.Finish(0, "stop") || e.Usage(&api.Usage{}) {
		t.Error("says that somebody listens")
	}
	e.Fail(errors.New("x"))
	if calls != 1 {
		t.Errorf("%d chunks to a consumer who left", calls)
	}
}

func TestCollectPutsTogetherWhatWasSplit(t *testing.T) {
	stream := func(yield func(*api.ChatChunk, error) bool) {
		e := New(yield, Head{ID: "a", Model: "m", Created: 1})
		for _, text := range []string{"th", "ink"} {
			e.Delta(0, api.Delta{ReasoningContent: text, ReasoningDetails: []api.ReasoningDetail{{Type: api.ReasoningText, Text: text}}})
		}
		e.Delta(0, api.Delta{ReasoningDetails: []api.ReasoningDetail{{Type: api.ReasoningText, Signature: "s"}}})
		e.Text(1, "other")
		e.Text(0, "Hel")
		e.Text(0, "lo")
		at, _ := e.Call(0, api.ToolCall{ID: "c", Function: &api.FunctionCall{Name: "f"}})
		e.Arguments(0, at, `{"a"`)
		e.Arguments(0, at, `:1}`)
		e.Finish(0, "tool_calls")
		refusal := "no"
		e.Delta(2, api.Delta{Refusal: &refusal})
		e.Finish(2, "content_filter")
		e.Finish(1, "stop")
		e.Usage(&api.Usage{TotalTokens: 3})
	}
	answer, err := Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(answer)
	want := `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[` +
		`{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null,"reasoning_content":"think","reasoning_details":[{"type":"reasoning.text","text":"think","signature":"s","index":0}],"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"},` +
		`{"index":1,"message":{"role":"assistant","content":"other","refusal":null},"finish_reason":"stop"},` +
		`{"index":2,"message":{"role":"assistant","content":null,"refusal":"no"},"finish_reason":"content_filter"}],` +
		`"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":3}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}

func TestATextChunkCostsNoMoreThanItsPointer(t *testing.T) {
	e := New(func(*api.ChatChunk, error) bool { return true }, Head{})
	e.Begin(0)
	if n := testing.AllocsPerRun(1000, func() { e.Text(0, "hello") }); n > 1 {
		t.Errorf("%v allocations a chunk", n)
	}
}
