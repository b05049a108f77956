package responses

import (
	"cmp"
	"hash/maphash"
	"slices"

	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

// openItem is an item between its beginning and its end.
type openItem struct {
	index   int64 // upstream's, which may have gaps
	kind    string
	id      string
	sent    []sentPart
	last    int64 // the part that was added to
	thought int   // itemReasoning: the index of what is shown of it
	done    bool
	call    int  // of a call: the emitter's index
	wrapped bool // a call with free text of a tool that the client has declared as a function
}

// sentPart is what of a part has been sent.
type sentPart struct {
	bytes int
	text  maphash.Hash
}

// rest is what of the whole text of a part has not been sent: nothing if what was sent is not its
// beginning.
func (p *sentPart) rest(text string) string {
	if p.bytes > len(text) || p.bytes > 0 && maphash.String(p.text.Seed(), text[:p.bytes]) != p.text.Sum64() {
		return ""
	}
	return text[p.bytes:]
}

func (a *responseAnswer) call(o *openItem, item *outputItem) (ok bool) {
	start := llm.CallStart{ID: cmp.Or(item.CallID, item.ID)}
	if start.ID == "" {
		start.ID = llm.NewID("call_")
	}
	a.calls++
	start.Namespace, start.Name = a.exchange.names.Original(item.Name)
	if item.Type == itemCustomCall {
		if o.wrapped = a.exchange.isFunction(&start); !o.wrapped {
			start.Kind = llm.ToolCustom
		}
	}
	o.call, ok = a.out.Call(0, &start)
	return ok
}

// isFunction says whether the client has declared the tool of a call as a function.
func (x *respondingExchange) isFunction(call *llm.CallStart) bool {
	return slices.ContainsFunc(x.tools, func(t llm.Tool) bool {
		return t.Kind == llm.ToolFunction && t.Name == call.Name && t.Namespace == call.Namespace
	})
}

// deltaOf is the type of the item that an event adds to.
func deltaOf(event string) string {
	switch event {
	case eventSummary, eventReasoning:
		return itemReasoning
	case eventArguments:
		return itemFunctionCall
	case eventCustomInput:
		return itemCustomCall
	}
	return itemMessage
}

// mostParts bounds the parts of an item.
const mostParts = 10_000

// piece sends a piece of a part of an item.
func (a *responseAnswer) piece(o *openItem, part int64, text string, refusal bool) bool {
	if part < 0 || part >= mostParts {
		return true
	}
	for int64(len(o.sent)) <= part {
		o.sent = append(o.sent, sentPart{})
	}
	sent := &o.sent[part]
	sent.bytes += len(text)
	_, _ = sent.text.WriteString(text) // never fails
	begins := o.last != part
	first := o.last < 0
	o.last = part
	switch o.kind {
	case itemReasoning:
		if begins && !first {
			text = "\n\n" + text
		}
		if first {
			a.out.Block(0)
			o.thought = a.nextThought()
		}
		return a.think(o, llm.Thought{Kind: llm.ThoughtSummary, Text: text, Index: o.thought})
	case itemMessage:
		if begins {
			if !a.release() {
				return false
			}
			a.out.Block(0)
		}
		if refusal {
			return a.out.Refusal(0, text)
		}
		return a.say(text)
	}
	return a.out.Input(0, o.call, text)
}

func (a *responseAnswer) think(o *openItem, t llm.Thought) bool {
	a.thought = t
	m := a.exchange.call.Model
	a.thought.Format, a.thought.Model, a.thought.ItemID = wire.ThoughtFormat(m), m.Upstream, o.id
	return a.out.Thought(0, t.Text, &a.thought)
}

// rest sends what of a part has not been sent.
func (a *responseAnswer) rest(o *openItem, part int64, text string, refusal bool) bool {
	if part < int64(len(o.sent)) {
		text = o.sent[part].rest(text)
	}
	if text == "" {
		return true
	}
	return a.piece(o, part, text, refusal)
}
