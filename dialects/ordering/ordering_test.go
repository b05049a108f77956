package ordering

import (
	"strings"
	"testing"

	"modelgateway/llm"
)

func TestObjectEndsWhereItsBracketsDo(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1} x`: `{"a":1}`, `{"a":"}\"}","b":[{}]}}`: `{"a":"}\"}","b":[{}]}`, `{"a":`: `{"a":`, ` {}{}`: ` {}`, `{"\\":"{"},`: `{"\\":"{"}`,
	} {
		for _, pieces := range [][]string{{text}, strings.Split(text, "")} {
			var o Object
			got := ""
			for _, piece := range pieces {
				got += piece[:o.Add(piece)]
			}
			if got != want || o.Done != (want != `{"a":`) {
				t.Errorf("%q in %d pieces: %q, ended %t", text, len(pieces), got, o.Done)
			}
		}
	}
}

// Events are reused by who made them: the queue keeps what they were.
func TestQueueKeepsEventsAndJoinsTheirTexts(t *testing.T) {
	var q Queue
	e := llm.Event{}
	add := func(next llm.Event) {
		e = next
		q.Add(&e)
	}
	call := llm.CallStart{ID: "1", Name: "f", Arguments: "{", Thought: &llm.Thought{Data: "d"}}
	add(llm.Event{Kind: llm.EventCall, Call: &call, CallIndex: 1})
	call.Name, call.Thought.Data = "other", "other"
	add(llm.Event{Kind: llm.EventText, Text: "a", Block: 2})
	add(llm.Event{Kind: llm.EventInput, Text: "}", CallIndex: 1})
	add(llm.Event{Kind: llm.EventText, Text: "b", Block: 2})
	add(llm.Event{Kind: llm.EventText, Text: "c", Block: 3})
	add(llm.Event{Kind: llm.EventInput, Text: "of a call that is not held", CallIndex: 0})
	if first := q.Next(); first.Call.Name != "f" || first.Call.Arguments != "{}" || first.Call.Thought.Data != "d" {
		t.Errorf("%+v", first.Call)
	}
	if second, third := q.Next().Text, q.Next().Text; second != "ab" || third != "c" || !q.Empty() {
		t.Errorf("%q, %q", second, third)
	}
}
