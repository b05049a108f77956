package reply

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// Form is how a provider shows a reply.
type Form struct {
	// CallIDs begin the ids of calls.
	CallIDs string
	// Thought is the reasoning as it is shown, with its signature; nil shows none.
	Thought *llm.Thought
	// Logprobs are the probabilities of a token of the text; nil tells none.
	Logprobs func(token string) jsontext.Value
}

// finishes are the ends in the common form.
var finishes = map[End]llm.Finish{
	EndTurn: llm.FinishStop, EndStop: llm.FinishStop, EndLength: llm.FinishLength, EndCalls: llm.FinishToolCalls,
}

// Events are the events of the reply, which is one of the choices of an answer.
func (r Reply) Events(choice int, f Form) []llm.Event {
	all := []llm.Event{{Kind: llm.EventBegin}}
	if t := f.Thought; t != nil {
		for _, token := range Split(t.Text) {
			piece := *t
			piece.Text, piece.Signature = token, ""
			all = append(all, llm.Event{Kind: llm.EventThought, Text: token, Thought: &piece})
		}
		end := *t
		end.Text = ""
		all = append(all, llm.Event{Kind: llm.EventThought, Thought: &end})
	}
	for _, token := range Split(r.Text) {
		e := llm.Event{Kind: llm.EventText, Block: 1, Text: token}
		if f.Logprobs != nil {
			e.Logprobs = f.Logprobs(token)
		}
		all = append(all, e)
	}
	for i, c := range r.Calls {
		start := &llm.CallStart{ID: llm.NewID(f.CallIDs), Name: c.Name}
		if c.Custom {
			start.Kind = llm.ToolCustom
		}
		all = append(all, llm.Event{Kind: llm.EventCall, Block: i + 2, Call: start, CallIndex: i})
		for _, piece := range Fragments(c.Arguments) {
			all = append(all, llm.Event{Kind: llm.EventInput, Block: i + 2, CallIndex: i, Text: piece})
		}
	}
	all = append(all, llm.Event{Kind: llm.EventFinish, Ending: llm.Ending{Finish: finishes[r.End], StopSequence: r.Stop}})
	for i := range all {
		all[i].Choice = choice
	}
	return all
}

// Fragments cuts the arguments of a call into pieces of a few characters, so that
// events break inside names and strings, as those of the providers do.
func Fragments(arguments string) []string {
	const size = 6
	var pieces []string
	for rest := []rune(arguments); len(rest) > 0; {
		n := min(size, len(rest))
		pieces = append(pieces, string(rest[:n]))
		rest = rest[n:]
	}
	return pieces
}

// counted is a usage that is known from the beginning.
type counted struct{ usage *llm.Usage }

// Counted is the usage.
func (c counted) Counted() *llm.Usage { return c.usage }

// Stream is an answer with its choices, which take turns, and its usage.
func Stream(head llm.Head, usage *llm.Usage, choices ...[]llm.Event) llm.Stream {
	head.Counter = counted{usage}
	longest := 0
	for _, events := range choices {
		longest = max(longest, len(events))
	}
	return func(yield func(*llm.Event, error) bool) {
		for i := range longest {
			for _, events := range choices {
				if i >= len(events) {
					continue
				}
				events[i].Head = &head
				if !yield(&events[i], nil) {
					return
				}
			}
		}
		yield(&llm.Event{Kind: llm.EventUsage, Head: &head, Usage: usage}, nil)
	}
}
