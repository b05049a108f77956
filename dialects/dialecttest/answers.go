package dialecttest

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
)

// Answers is a stream that a function makes.
func Answers(send func(*llm.Emitter)) llm.Stream {
	return From(llm.Head{ID: "up-1", Model: "m", Created: 1700000000}, send)
}

// From is the same with a head of its own.
func From(head llm.Head, send func(*llm.Emitter)) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		e := llm.NewEmitter(yield, head)
		e.Begin(0)
		send(e)
	}
}

// Finish ends an answer and tells its usage.
func Finish(e *llm.Emitter, reason llm.Finish) {
	e.Finish(0, llm.Ending{Finish: reason})
	e.Usage(&llm.Usage{Input: 42, Output: 9, Total: 51, HasCache: true, Cached: 30, CacheWrite: 2, HasReasoning: true, Reasoning: 4})
}

// calls begins calls of f with these ids, each with its arguments.
func calls(e *llm.Emitter, arguments string, ids ...string) {
	for _, id := range ids {
		e.Call(0, &llm.CallStart{ID: id, Name: "f", Arguments: arguments})
	}
}

// TestAnswers has what every dialect makes of an answer, whole and as a stream.
func (d *Reader[Answer]) TestAnswers(t *testing.T) {
	one := d.Asked()
	one.ParallelCalls = new(bool)
	for name, tt := range map[string]struct {
		req  *llm.Request
		send func(*llm.Emitter)
		end  llm.Finish
		want string
	}{
		"each kind is a part of its own": {d.Asked(), func(e *llm.Emitter) {
			e.Thought(0, "a", nil)
			e.Text(0, "b") // the event that changes the kind of the part
			e.Thought(0, "c", nil)
			at, _ := e.Call(0, &llm.CallStart{ID: "x", Name: "f", Arguments: `{"d"`})
			e.Input(0, at, `:1}`)
			e.Text(0, "e")
		}, llm.FinishToolCalls, `~a~(b)~c~{x f {"d":1}}(e)`},
		"calls alone": {d.Asked(), func(e *llm.Emitter) {
			e.Text(0, "")
			calls(e, `{}`, "x")
			calls(e, "", "y")
		}, llm.FinishToolCalls, `{x f {}}{y f {}}`},
		"calls whose arguments interleave": {d.Asked(), func(e *llm.Emitter) {
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
		}, llm.FinishToolCalls, `{a f {"q":"}{\""}}{b g {"n":[1,{}]}}{c h {"t":true}}(beside)`},
		"all arguments in one event": {d.Asked(), func(e *llm.Emitter) {
			calls(e, `{"a":1}`, "a", "b", "c")
		}, llm.FinishStop, `{a f {"a":1}}{b f {"a":1}}{c f {"a":1}}`},
		"a call that is cut": {d.Asked(), func(e *llm.Emitter) {
			e.Text(0, "a")
			calls(e, `{"path":"/tm`, "a")
		}, llm.FinishLength, `(a){a f {"path":"/tm}`},
		"one call where one was asked for": {one, func(e *llm.Emitter) {
			calls(e, `{"n":1}`, "a")
			at, _ := e.Call(0, &llm.CallStart{ID: "b", Name: "f"})
			e.Input(0, at, `{"n":2}`)
		}, llm.FinishToolCalls, `{a f {"n":1}}`},
		"the first of several answers": {d.Asked(), func(e *llm.Emitter) {
			e.Text(1, "other")
			e.Text(0, "a")
			e.Finish(1, llm.Ending{Finish: llm.FinishLength})
		}, llm.FinishStop, "(a)"},
		"a refusal": {d.Asked(), func(e *llm.Emitter) { e.Refusal(0, "no"); e.Refusal(0, "pe") }, llm.FinishStop, "(nope)"},
		"nothing":   {d.Asked(), func(*llm.Emitter) {}, llm.FinishStop, ""},
	} {
		a := d.Both(t, tt.req, Answers(func(e *llm.Emitter) { tt.send(e); Finish(e, tt.end) }))
		if got := said(d.Says(a)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

// TestCallIDs has ids that a client could not bring back: each is legal, and no other's. A stable one is made of the upstream's.
func (d *Reader[Answer]) TestCallIDs(t *testing.T, stable bool, legal func(id string) bool) {
	given := []string{"call_1", "call_1", "", strings.Repeat("x", 65), strings.Repeat("x", 64), "functions.Bash:0", "functions.Bash:1", "é"}
	stream := Answers(func(e *llm.Emitter) {
		calls(e, "{}", given...)
		Finish(e, llm.FinishToolCalls)
	})
	first, again := d.Says(d.Streamed(t, d.Asked(), stream)), d.Says(d.Collected(t, d.Asked(), stream))
	seen := map[string]bool{}
	for i, call := range first {
		changed := stable && given[i] != "" && call.ID != again[i].ID
		if seen[call.ID] || !legal(call.ID) || len(call.ID) > 64 || changed {
			t.Errorf("%q became %q, then %q", given[i], call.ID, again[i].ID)
		}
		seen[call.ID] = true
	}
	if len(first) != len(given) || !seen[given[0]] || !seen[given[4]] {
		t.Errorf("%v", seen)
	}
}

// TestForwards has bytes of an upstream that speaks the dialect, which go to the client as they came, and of another dialect,
// which do not.
func (d *Reader[Answer]) TestForwards(t *testing.T, own llm.Dialect) {
	const answer, event = " {} ", ": hi\r\nevent: x\r\ndata: {\"type\" :\r\ndata: 1}\r\n\r\n"
	for dialect, forwarded := range map[llm.Dialect]bool{own: true, llm.Chat: false} {
		text, err := d.Dialect.AppendAnswer(nil, d.Asked(), &llm.Answer{Raw: []byte(answer), RawDialect: dialect})
		if (err == nil) != forwarded || forwarded && string(text) != answer {
			t.Errorf("an answer of %s: %q, %v", dialect, text, err)
		}
		w := d.Dialect.NewWriter(d.Asked(), nil)
		text, err = w.Append(nil, &llm.Event{Kind: llm.EventOther, Head: new(llm.Head), Raw: []byte(event), RawDialect: dialect})
		if (err == nil) != forwarded || forwarded && string(w.Done(text)) != event {
			t.Errorf("an event of %s: %q, %v", dialect, text, err)
		}
	}
}

// TestWriters writes two streams at the same time, which share nothing.
func (d *Reader[Answer]) TestWriters(t *testing.T) {
	head := &llm.Head{Model: "m"}
	var texts [2][]byte
	writers := [2]api.StreamWriter{d.Dialect.NewWriter(d.Asked(), nil), d.Dialect.NewWriter(d.Asked(), nil)}
	send := func(e llm.Event, pieces ...string) {
		for i, w := range writers {
			e.Head = head
			if e.Text = pieces[i]; e.Kind == llm.EventCall {
				e.Call = &llm.CallStart{ID: pieces[i], Name: "f", Arguments: `{"of":"` + pieces[i]}
			}
			texts[i], _ = w.Append(texts[i], &e)
		}
	}
	send(llm.Event{Kind: llm.EventCall}, "a", "b")
	send(llm.Event{Kind: llm.EventInput}, `1"}`, `2"}`)
	send(llm.Event{Kind: llm.EventFinish, Ending: llm.Ending{Finish: llm.FinishStop}}, "", "")
	for i, want := range []string{`{a f {"of":"a1"}}`, `{b f {"of":"b2"}}`} {
		if a, err := d.Check(string(writers[i].Done(texts[i]))); err != nil || said(d.Says(a)) != want {
			t.Errorf("%v: %s", err, texts[i])
		}
	}
}
