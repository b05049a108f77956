// Package dialecttest has what the tests of the dialects share: answers of providers, what each
// dialect must make of them, and checks of decoding.
package dialecttest

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
)

// Reader is how a dialect's tests read what it writes. Answer is an answer as a client
// has it, whole or put together from a stream.
type Reader[Answer any] struct {
	Dialect *api.Dialect
	Asked   func() *llm.Request                       // that shows thoughts
	Check   func(stream string) (*Answer, error)      // names the rules of the API that a stream breaks
	Whole   func(t testing.TB, answer []byte) *Answer // the same of a whole answer
	Failed  func(*Answer) bool                        // an error ended the stream
	Meaning func(*Answer) string                      // without what is made anew for each
	Says    func(*Answer) []Said                      // what the model said
	Loose   func(*Answer) string                      // what is the same in any order of events; nil: Meaning
	Source  llm.Citation                              // that a stream may tell at any time
	Ways    map[string]func() *llm.Request            // requests to which an answer is written differently
}

// Said is a part of an answer: a call where it has a name, or a text, or a thought.
type Said struct {
	Text, ID, Name, Arguments string
	Thought                   bool
}

func said(all []Said) string {
	var b strings.Builder
	for _, s := range all {
		switch {
		case s.Name != "":
			b.WriteString("{" + s.ID + " " + s.Name + " " + s.Arguments + "}")
		case s.Thought:
			b.WriteString("~" + s.Text + "~")
		default:
			b.WriteString("(" + s.Text + ")")
		}
	}
	return b.String()
}

// Written is a stream as the dialect's writer writes it.
func (d *Reader[Answer]) Written(t testing.TB, req *llm.Request, stream llm.Stream) string {
	t.Helper()
	w := d.Dialect.NewWriter(req, nil)
	var text []byte
	for e, err := range stream {
		if err == nil && e != nil {
			text, err = w.Append(text, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(w.Done(text))
}

// Streamed is a stream put together, which must keep the rules.
func (d *Reader[Answer]) Streamed(t testing.TB, req *llm.Request, stream llm.Stream) *Answer {
	t.Helper()
	text := d.Written(t, req, stream)
	a, err := d.Check(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return a
}

// Collected is the same stream as a whole answer.
func (d *Reader[Answer]) Collected(t testing.TB, req *llm.Request, stream llm.Stream) *Answer {
	t.Helper()
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.Dialect.AppendAnswer(nil, req, answer)
	if err != nil {
		t.Fatal(err)
	}
	return d.Whole(t, text)
}

// Both are a stream's answer and its whole answer, which must say the same.
func (d *Reader[Answer]) Both(t testing.TB, req *llm.Request, stream llm.Stream) *Answer {
	t.Helper()
	a := d.Streamed(t, req, stream)
	if one, other := d.Meaning(a), d.Meaning(d.Collected(t, req, stream)); one != other {
		t.Errorf("the stream says\n%s\nthe whole answer\n%s", one, other)
	}
	return a
}

// broken writes the first events of a stream and then an error, which keeps the rules.
func (d *Reader[Answer]) broken(t testing.TB, req *llm.Request, stream llm.Stream, events int) {
	t.Helper()
	w := d.Dialect.NewWriter(req, nil)
	var text []byte
	for e := range stream {
		if events--; events < 0 {
			break
		}
		if e != nil {
			text, _ = w.Append(text, e)
		}
	}
	text = w.Fail(text, &api.Error{Status: 502, Code: api.CodeProviderError, Message: "broken"})
	if a, err := d.Check(string(text)); err != nil || !d.Failed(a) {
		t.Fatalf("%v:\n%s", err, text)
	}
}
