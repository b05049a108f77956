//go:build !race

package messages_test

import (
	"testing"

	"modelgateway/models/api/messages"
	"modelgateway/models/llm"
)

func TestAllocationsOfAWrittenEvent(t *testing.T) {
	head := &llm.Head{ID: "1", Model: "m"}
	for name, e := range map[string]*llm.Event{
		"text":    {Kind: llm.EventText, Head: head, Text: "a piece of text"},
		"thought": {Kind: llm.EventThought, Head: head, Text: "why", Thought: &llm.Thought{Text: "why", Provider: "anthropic"}},
		"input":   {Kind: llm.EventInput, Head: head, Text: `"a":1,`},
	} {
		w := messages.Dialect{}.NewWriter(anyRequest())
		buf := make([]byte, 0, 1<<10)
		if e.Kind == llm.EventInput {
			buf, _ = w.Append(buf[:0], &llm.Event{Kind: llm.EventCall, Head: head, Call: &llm.CallStart{ID: "a", Name: "f", Arguments: "{"}})
		}
		buf, _ = w.Append(buf[:0], e)
		if n := testing.AllocsPerRun(200, func() { buf, _ = w.Append(buf[:0], e) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestAllocationsOfAStreamAndOfAnAnswer(t *testing.T) {
	head := llm.Head{ID: "1", Model: "m"}
	events := []*llm.Event{
		{Kind: llm.EventBegin, Head: &head}, {Kind: llm.EventText, Head: &head, Text: "a"},
		{Kind: llm.EventFinish, Head: &head, Ending: llm.Ending{Finish: llm.FinishStop}},
		{Kind: llm.EventUsage, Head: &head, Usage: &llm.Usage{Input: 1, Output: 1, Total: 2}},
	}
	answer := &llm.Answer{Head: head, Usage: &llm.Usage{Input: 1}, Choices: []llm.AnswerChoice{
		{Blocks: []llm.Block{{Text: "a"}}, Ending: llm.Ending{Finish: llm.FinishStop}},
	}}
	buf := make([]byte, 0, 8<<10)
	stream := testing.AllocsPerRun(200, func() {
		w := messages.Dialect{}.NewWriter(anyRequest())
		buf = buf[:0]
		for _, e := range events {
			buf, _ = w.Append(buf, e)
		}
		buf = w.Done(buf)
	})
	req := anyRequest()
	whole := testing.AllocsPerRun(200, func() { buf, _ = messages.Dialect{}.AppendAnswer(buf[:0], req, answer) })
	t.Logf("a stream %v, an answer %v", stream, whole)
	if stream > 5 || whole > 4 {
		t.Errorf("a stream %v, at most 5; an answer %v, at most 4", stream, whole)
	}
}

// 59 ns; the writer of chat completions takes 134 ns for the same event on the same machine.
func BenchmarkWrittenEvent(b *testing.B) {
	e := &llm.Event{Kind: llm.EventText, Head: &llm.Head{ID: "1", Model: "m"}, Text: " a piece of text"}
	w := messages.Dialect{}.NewWriter(anyRequest())
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = w.Append(buf[:0], e)
	}
}
