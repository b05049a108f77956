package messages_test

import (
	"strings"
	"testing"

	"modelgateway/dialects/messages"
	"modelgateway/llm"
)

func TestFirstCallIsStreamedAndAnotherOneWaitsForItsEndOnly(t *testing.T) {
	w := messages.Dialect{}.NewWriter(anyRequest())
	var text []byte
	seen := func(part string) bool { return strings.Contains(string(text), part) }
	stream := answers(func(e *llm.Emitter) {
		a, _ := e.Call(0, &llm.CallStart{ID: "a", Name: "f"})
		e.Input(0, a, `{"x":`)
		b, _ := e.Call(0, &llm.CallStart{ID: "b", Name: "g", Arguments: "{"})
		if !seen(`"id":"a"`) || !seen(`{\"x\":`) || seen(`"id":"b"`) {
			t.Errorf("%s", text)
		}
		e.Input(0, a, `1}`)
		if !seen(`"id":"b"`) {
			t.Errorf("the second call is still held: %s", text)
		}
		e.Input(0, b, `"late"`)
		if !seen(`\"late\"`) {
			t.Errorf("the second call is not streamed: %s", text)
		}
		c, _ := e.Call(0, &llm.CallStart{ID: "c", Name: "h", Arguments: "{}"})
		e.Input(0, b, `:2}`)
		e.Input(0, c, `{}`) // some servers send arguments twice
		finish(e, llm.FinishToolCalls)
	})
	for e := range stream {
		var err error
		if text, err = w.Append(text, e); err != nil {
			t.Fatal(err)
		}
	}
	m, err := check(string(w.Done(text)))
	if err != nil || kinds(m) != "tool_use tool_use tool_use" || string(m.Content[2].Input) != "{}" {
		t.Errorf("%v: %s", err, text)
	}
}

func TestCallWithoutArgumentsHasAnEmptyObject(t *testing.T) {
	for _, arguments := range []string{"", " \n", "{}", "null", `""`, " {} "} {
		m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
			at, _ := e.Call(0, &llm.CallStart{ID: "a", Name: "f"})
			e.Input(0, at, arguments)
			finish(e, llm.FinishToolCalls)
		}))
		if len(m.Content) != 1 || string(m.Content[0].Input) != "{}" {
			t.Errorf("%q: %s", arguments, meaning(m))
		}
	}
}
