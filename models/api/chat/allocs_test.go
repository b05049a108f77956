//go:build !race

package chat

import (
	"testing"

	"modelgateway/models/llm"
)

// Times are noise on most machines; allocations are exact.
func TestAllocationsOfDecode(t *testing.T) {
	for _, tt := range []struct {
		name string
		body []byte
		most float64
	}{
		{"200 B", prompt(200), 6},
		{"32 KiB", prompt(32 << 10), 6},
		{"with a tool", []byte(with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"auto"`)),
			11},
	} {
		n := testing.AllocsPerRun(200, func() {
			if _, err := Decode(tt.body); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %v", tt.name, n)
		if n > tt.most {
			t.Errorf("%s: %v allocations, at most %v", tt.name, n, tt.most)
		}
	}
}

func TestAllocationsOfAWrittenChunk(t *testing.T) {
	text := "a piece of text"
	c := Chunk{ID: "1", Object: ObjectChunk, Created: 1, Model: "m", Choices: []ChunkChoice{{Delta: Delta{Content: &text}}}}
	var e ChunkEncoder
	buf := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(200, func() { buf, _ = e.Append(buf[:0], &c) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestANativeReasonCostsAnAnswerOneAllocation(t *testing.T) {
	count := func(native string) (stream, whole float64) {
		head := llm.Head{ID: "a", Model: "m", Created: 1}
		e := llm.Event{Kind: llm.EventFinish, Head: &head, Ending: llm.Ending{Finish: llm.FinishStop, NativeReason: native}}
		answer := &llm.Answer{Head: head, Choices: []llm.AnswerChoice{{Ending: e.Ending, Blocks: []llm.Block{{Text: "a"}}}}}
		req, buf := new(llm.Request), make([]byte, 0, 1<<10)
		stream = testing.AllocsPerRun(200, func() { buf, _ = NewWriter(req).Append(buf[:0], &e) })
		return stream, testing.AllocsPerRun(200, func() { buf, _ = AppendAnswer(buf[:0], req, answer) })
	}
	stream, whole := count("")
	toldStream, toldWhole := count("end_turn")
	t.Logf("stream %v, %v with a reason; whole %v, %v", stream, toldStream, whole, toldWhole)
	if toldStream > stream || toldWhole > whole+1 {
		t.Errorf("stream %v, %v with a reason; whole %v, %v", stream, toldStream, whole, toldWhole)
	}
}
