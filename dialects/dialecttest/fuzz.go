package dialecttest

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/llm"
)

// FuzzWriter writes any events of a provider: the stream keeps the rules, also where it breaks
// off, and says what the whole answer says. The request is made of bits that the fuzzer chooses,
// of which those from 4 on are not for it.
func (d *Reader[Answer]) FuzzWriter(f *testing.F, request func(way uint8) *llm.Request) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, "text", uint8(0))
	f.Add([]byte{4, 4, 5, 20, 5, 0, 35, 2, 3, 9, 9}, `{"a":1}`, uint8(1))
	f.Add([]byte{2, 7, 9, 2, 4, 0, 6, 10}, "{", uint8(2))
	f.Add([]byte{4, 5, 4, 6, 2, 3, 12}, "{}", uint8(4))
	f.Add([]byte{4, 5, 0, 1, 20, 0, 5}, `{"input":"a`, uint8(8))
	f.Add([]byte{2, 3, 0, 4, 5, 9, 0}, "a", uint8(16+3))
	same := d.Loose
	if same == nil {
		same = d.Meaning
	}
	f.Fuzz(func(t *testing.T, steps []byte, text string, way uint8) {
		const most = 200 // longer ones find nothing else
		steps, text = steps[:min(len(steps), most)], strings.ToValidUTF8(text[:min(len(text), most)], "?")
		ending := llm.FinishStop
		if way&4 != 0 {
			ending = llm.FinishLength
		}
		if way&8 != 0 {
			ending = llm.FinishContentFilter
		}
		req, stream := request(way), scripted(steps, text, d.Source, ending)
		a := d.Streamed(t, req, stream)
		if one, other := same(a), same(d.Collected(t, req, stream)); one != other {
			t.Fatalf("stream\n%s\nwhole\n%s", one, other)
		}
		if way&16 != 0 {
			d.broken(t, req, stream, int(way)/32)
		}
	})
}

// scripted is a stream of the events that steps name. A thought comes in one piece or
// several, one after the other, as all providers send it.
func scripted(steps []byte, text string, source llm.Citation, ending llm.Finish) llm.Stream {
	return Answers(func(e *llm.Emitter) {
		s := script{out: e, text: text, source: source}
		for i, step := range steps {
			s.step(int(step%15), int(step/15), fmt.Sprint(i))
		}
		e.Finish(0, llm.Ending{Finish: ending})
		e.Usage(&llm.Usage{Input: 1, Output: 2, Total: 3})
	})
}

type script struct {
	out     *llm.Emitter
	text    string
	source  llm.Citation
	thought int  // its index
	open    bool // it has begun
}

func (s *script) step(kind, n int, id string) {
	e, text := s.out, s.text
	encrypted := func(format llm.ThoughtFormat) {
		e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "e", Format: format, Index: s.thought})
		s.thought++
	}
	if s.open && kind != 2 && kind != 3 {
		s.thought, s.open = s.thought+1, false
	}
	[]func(){
		func() { e.Text(0, text) },
		func() { e.Refusal(0, text) },
		func() {
			s.open = true
			e.Thought(0, text, &llm.Thought{Text: text, Format: llm.FormatAnthropic, Index: s.thought})
		},
		func() {
			e.Thought(0, "", &llm.Thought{Signature: "s", Format: llm.FormatAnthropic, WithCalls: true, Index: s.thought})
			s.thought, s.open = s.thought+1, false
		},
		func() { e.Call(0, &llm.CallStart{ID: id, Name: "f"}) },
		func() {
			if calls := e.Calls(0); calls > 0 {
				e.Input(0, n%calls, text)
			}
		},
		func() { e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="}) },
		func() { e.Thought(0, text, nil) },
		func() { e.Block(0) },
		func() {
			signed := &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "m|sig", Format: llm.FormatGemini, Index: s.thought + 1}
			e.Call(0, &llm.CallStart{ID: "d", Name: "g", Arguments: "{}", Thought: signed})
			s.thought += 2
		},
		func() { e.Citations(0, []llm.Citation{{Title: "without an address"}, s.source}) },
		func() { encrypted(llm.FormatAnthropic) },
		func() { encrypted(llm.FormatGemini) },
		func() { e.Media(0, &llm.Media{Kind: llm.Audio, Data: "AA==", Format: "wav"}) },
		func() {
			e.Thought(0, text, &llm.Thought{Kind: llm.ThoughtSummary, Text: text, Format: "proxy", Index: s.thought})
			s.thought++
		},
	}[kind]()
}
