package messages_test

import (
	"slices"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
)

func TestParallelCallsThatInterleaveComeOneAfterAnother(t *testing.T) {
	stream := answers(func(e *llm.Emitter) {
		a, _ := e.Call(0, &llm.CallStart{ID: "a", Name: "f", Arguments: `{"q":"`})
		b, _ := e.Call(0, &llm.CallStart{ID: "b", Name: "g"})
		c, _ := e.Call(0, &llm.CallStart{ID: "c", Name: "h", Arguments: `{"t`})
		e.Input(0, b, `{"n":`)
		e.Input(0, a, `}{\"`)
		e.Text(0, "beside")
		e.Input(0, b, `[1,{}`)
		e.Input(0, a, `"}`)
		e.Input(0, c, `":true}`)
		e.Input(0, b, `]}`)
		finish(e, llm.FinishToolCalls)
	})
	m := both(t, anyRequest(), stream)
	want := []string{`a {"q":"}{\""}`, `b {"n":[1,{}]}`, `c {"t":true}`}
	var got []string
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			got = append(got, b.ID+" "+string(b.Input))
		}
	}
	if !slices.Equal(got, want) || m.StopReason != "tool_use" {
		t.Errorf("%q, not %q", got, want)
	}
}

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

func TestAllArgumentsInOneEventAreOneCall(t *testing.T) {
	m := both(t, anyRequest(), answers(func(e *llm.Emitter) {
		for _, id := range []string{"a", "b", "c"} {
			e.Call(0, &llm.CallStart{ID: id, Name: "f", Arguments: `{"id":"` + id + `"}`})
		}
		finish(e, llm.FinishStop) // as Gemini says it
	}))
	if kinds(m) != "tool_use tool_use tool_use" || m.StopReason != "tool_use" || string(m.Content[2].Input) != `{"id":"c"}` {
		t.Errorf("%s", meaning(m))
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
		m := both(t, anyRequest(), answers(func(e *llm.Emitter) {
			at, _ := e.Call(0, &llm.CallStart{ID: "a", Name: "f"})
			e.Input(0, at, arguments)
			finish(e, llm.FinishToolCalls)
		}))
		if len(m.Content) != 1 || string(m.Content[0].Input) != "{}" {
			t.Errorf("%q: %s", arguments, meaning(m))
		}
	}
}

func TestUnfinishedCallStaysAsTheModelWroteIt(t *testing.T) {
	stream := answers(func(e *llm.Emitter) {
		e.Text(0, "a")
		at, _ := e.Call(0, &llm.CallStart{ID: "a", Name: "f"})
		e.Input(0, at, `{"path":"/tm`)
		finish(e, llm.FinishLength)
	})
	m := both(t, anyRequest(), stream)
	if m.StopReason != "max_tokens" || string(m.Content[1].Input) != `{"path":"/tm` {
		t.Errorf("%s", meaning(m))
	}
}

func TestIDsOfCallsAreUniqueLegalAndStable(t *testing.T) {
	ids := func() []string {
		m := both(t, anyRequest(), answers(func(e *llm.Emitter) {
			for _, id := range []string{"call_1", "call_1", "functions.Bash:0", "functions.Bash:1", "functions.Bash:0", strings.Repeat("x", 65), "é"} {
				e.Call(0, &llm.CallStart{ID: id, Name: "f", Arguments: "{}"})
			}
			finish(e, llm.FinishToolCalls)
		}))
		var all []string
		for _, b := range m.Content {
			all = append(all, b.ID)
		}
		return all
	}
	all := ids()
	if !slices.Equal(all, ids()) || all[0] != "call_1" || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("%q", all)
	}
	for _, id := range all {
		if !legalID(id) || len(id) > 64 {
			t.Errorf("%q", id)
		}
	}
	m := streamed(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Call(0, &llm.CallStart{Name: "f", Arguments: "{}"})
		finish(e, llm.FinishToolCalls)
	}))
	if id := m.Content[0].ID; !strings.HasPrefix(id, "toolu_") || len(id) != len("toolu_")+24 {
		t.Errorf("%q", id)
	}
}

func TestOneCallIsKeptWhereOnlyOneWasAskedFor(t *testing.T) {
	no := false
	m := both(t, &llm.Request{ParallelCalls: &no}, answers(func(e *llm.Emitter) {
		e.Call(0, &llm.CallStart{ID: "a", Name: "f", Arguments: `{"n":1}`})
		b, _ := e.Call(0, &llm.CallStart{ID: "b", Name: "f"})
		e.Input(0, b, `{"n":2}`)
		finish(e, llm.FinishToolCalls)
	}))
	if kinds(m) != "tool_use" || string(m.Content[0].Input) != `{"n":1}` {
		t.Errorf("%s", meaning(m))
	}
}
