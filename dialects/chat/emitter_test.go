package chat

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
)

// emit runs a generator to its end and shows every chunk.
func emit(t *testing.T, generate func(*Emitter)) (lines []string, failure error) {
	t.Helper()
	generate(NewEmitter(func(c *Chunk, err error) bool {
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

func TestEmitterKeepsTheOrderOfAStream(t *testing.T) {
	lines, err := emit(t, func(e *Emitter) {
		e.Text(0, "")
		e.Text(0, "a")
		at, _ := e.Call(0, ToolCall{ID: "c", Function: &FunctionCall{Name: "f"}})
		e.Arguments(0, at, "")
		e.Arguments(0, at, "{}")
		second, _ := e.Call(0, ToolCall{ID: "d", Function: &FunctionCall{Name: "g", Arguments: "{}"}})
		if at != 0 || second != 1 || e.Calls(0) != 2 {
			t.Errorf("calls numbered %d and %d", at, second)
		}
		e.Finish(0, "tool_calls")
		e.Finish(0, "stop")
		e.Text(0, "too late")
		e.Delta(0, Delta{Role: "assistant"})
		e.Usage(nil)
		e.Usage(&Usage{})
	})
	want := []string{
		`[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`,
		`[{"index":0,"delta":{"content":"a"},"finish_reason":null}]`,
		`[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},` +
			`"finish_reason":null}]`,
		`[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]`,
		`[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"g","arguments":"{}"}}]},` +
			`"finish_reason":null}]`,
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

func TestNothingFollowsAFailureOrADepartedConsumer(t *testing.T) {
	lines, err := emit(t, func(e *Emitter) {
		e.Text(0, "a")
		e.Fail(errors.New("broken"))
		e.Text(0, "b")
		e.Finish(0, "stop")
		e.Usage(&Usage{})
		e.Fail(errors.New("again"))
	})
	if err == nil || err.Error() != "broken" || len(lines) != 2 {
		t.Errorf("%v, %v", lines, err)
	}
	calls := 0
	e := NewEmitter(func(*Chunk, error) bool {
		calls++
		return false
	}, Head{})
	if e.Text(0, "a") || e.Finish(0, "stop") || e.Usage(&Usage{}) {
		t.Error("says that the consumer is there")
	}
	e.Fail(errors.New("x"))
	if calls != 1 {
		t.Errorf("%d chunks to a consumer who left", calls)
	}
}
