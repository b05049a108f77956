package messages_test

import (
	"strings"
	"testing"

	"modelgateway/api"
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

func TestTwoWritersShareNothing(t *testing.T) {
	one, other := messages.Dialect{}.NewWriter(anyRequest()), messages.Dialect{}.NewWriter(anyRequest())
	var texts [2][]byte
	call := func(id string) []*llm.Event {
		head := &llm.Head{Model: "m"}
		return []*llm.Event{
			{Kind: llm.EventBegin, Head: head},
			{Kind: llm.EventCall, Head: head, Call: &llm.CallStart{ID: id, Name: "f", Arguments: `{"id":"` + id}},
			{Kind: llm.EventInput, Head: head, Text: `"}`},
			{Kind: llm.EventFinish, Head: head, Ending: llm.Ending{Finish: llm.FinishStop}},
		}
	}
	first, second := call("a"), call("b")
	for i := range first {
		texts[0], _ = one.Append(texts[0], first[i])
		texts[1], _ = other.Append(texts[1], second[i])
	}
	for i, w := range []api.StreamWriter{one, other} {
		m, err := check(string(w.Done(texts[i])))
		if id := string("ab"[i]); err != nil || string(m.Content[0].Input) != `{"id":"`+id+`"}` {
			t.Errorf("%v: %s", err, texts[i])
		}
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
