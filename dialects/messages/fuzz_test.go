package messages_test

import (
	"slices"
	"strings"
	"testing"

	"modelgateway/llm"
)

// For any events of a provider, the stream keeps the rules, and says what the whole answer
// says.
func FuzzAStreamKeepsTheRulesAndSaysWhatItsAnswerSays(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "text", uint8(0))
	f.Add([]byte{4, 4, 5, 17, 5, 0, 30, 2, 3, 9, 9}, `{"a":1}`, uint8(1))
	f.Add([]byte{2, 7, 9, 2, 4, 0, 6, 10}, "{", uint8(2))
	f.Add([]byte{4, 5, 4, 6, 2, 3, 12}, "{}", uint8(3))
	f.Fuzz(func(t *testing.T, steps []byte, text string, way uint8) {
		text = strings.ToValidUTF8(text, "?")
		req := &llm.Request{NoThoughts: way&1 != 0}
		if way&2 != 0 {
			req.Thinking = &llm.Thinking{Display: "omitted"}
		}
		out := written(t, req, scripted(steps, text))
		m, err := check(out)
		if err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		other := whole(t, req, scripted(steps, text))
		said := func(m *message) (texts, thoughts string, calls []string) {
			for _, b := range m.Content {
				texts, thoughts = texts+b.Text, thoughts+b.Thinking
				if b.Type == "tool_use" {
					calls = append(calls, b.ID)
				}
			}
			return
		}
		texts, thoughts, calls := said(m)
		wholeTexts, wholeThoughts, wholeCalls := said(other)
		if texts != wholeTexts || len(thoughts) != len(wholeThoughts) || !slices.Equal(calls, wholeCalls) || m.StopReason != other.StopReason {
			t.Fatalf("stream\n%s\nwhole\n%s", meaning(m), meaning(other))
		}
	})
}

// scripted is a stream of the events that steps name.
func scripted(steps []byte, text string) llm.Stream {
	return answers(func(e *llm.Emitter) {
		thoughts := 0
		for _, step := range steps {
			switch n := int(step / 13); step % 13 {
			case 0:
				e.Text(0, text)
			case 1:
				e.Refusal(0, text)
			case 2:
				e.Thought(0, text, &llm.Thought{Text: text, Provider: "anthropic", Index: thoughts})
			case 3:
				e.Thought(0, "", &llm.Thought{Signature: "s", Provider: "anthropic", WithCalls: true, Index: thoughts})
				thoughts++
			case 4:
				e.Call(0, &llm.CallStart{ID: "c", Name: "f"})
				thoughts++
			case 5:
				if calls := e.Calls(0); calls > 0 {
					e.Input(0, n%calls, text)
				}
			case 6:
				e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="})
			case 7:
				e.Thought(0, text, nil)
			case 8:
				e.Block(0)
			case 9:
				thoughts++
				e.Call(0, &llm.CallStart{ID: "d", Name: "g", Arguments: "{}", Thought: &llm.Thought{
					Kind: llm.ThoughtEncrypted, Data: "m|sig", Provider: "gemini", Index: thoughts,
				}})
				thoughts++
			case 10:
				e.Citations(0, []llm.Citation{{URL: "https://a.example"}})
			case 11:
				e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "e", Provider: "openai", Index: thoughts})
				thoughts++
			case 12:
				e.Thought(0, "", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "e", Provider: "gemini", Index: thoughts})
				thoughts++
			}
		}
		e.Finish(0, llm.Ending{Finish: llm.FinishStop})
		e.Usage(&llm.Usage{Input: 1, Output: 2, Total: 3})
	})
}
