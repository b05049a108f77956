package responses

import (
	"modelgateway/llm"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// assistant adds what the assistant thought, said and called, in its order.
func (w *inputWriter) assistant(m *llm.Message) error {
	out, calls := assistantItems{w: w}, []compose.OpenCall(nil)
	for i := range m.Blocks {
		b := &m.Blocks[i]
		w.c.IgnoreCache(b, m.Cache)
		switch b.Kind {
		case llm.BlockText:
			if b.Text != "" {
				out.say(b.Phase, inputPart{Type: partOutputText, Text: b.Text})
			}
		case llm.BlockRefusal:
			out.say(b.Phase, inputPart{Type: partRefusal, Refusal: b.Text})
		case llm.BlockCall:
			id := w.c.IDs.Unique(b.Call.ID)
			calls = append(calls, compose.OpenCall{Call: b.Call, ID: id})
			out.put(w.c.call(b.Call, id))
		case llm.BlockThought:
			w.think(&out, b.Thought)
		case llm.BlockMedia:
			w.c.IgnoreIf(true, llm.FieldMessageImages)
		case llm.BlockHosted, llm.BlockResult:
			w.c.IgnoreIf(true, llm.FieldPartType)
		}
	}
	if out.flush(); len(out.items) == 0 {
		w.thoughts = append(w.thoughts, out.thoughts...)
		return nil
	}
	if w.Open > 0 {
		return w.Unanswered(m.At)
	}
	w.answered()
	w.c.out.Input = append(w.c.out.Input, out.items...)
	w.thoughts = out.thoughts // behind which nothing has come yet
	w.Await(calls, m.At)
	return nil
}

// assistantItems are the items of one message of the assistant.
type assistantItems struct {
	w        *inputWriter
	items    []inputItem
	thoughts []inputItem // for before the next item
	parts    []inputPart // of a message that is being written
	phase    string      // of it
}

func (a *assistantItems) say(phase string, p inputPart) {
	if len(a.parts) > 0 && phase != a.phase {
		a.flush()
	}
	a.parts, a.phase = append(a.parts, p), phase
}

// flush ends the message that is being written.
func (a *assistantItems) flush() {
	if len(a.parts) == 0 {
		return
	}
	parts := a.parts
	a.parts = nil
	a.put(inputItem{Role: "assistant", Content: &itemContent{parts: parts}, Phase: a.phase})
}

// put adds an item, with the thoughts that it follows from.
func (a *assistantItems) put(item inputItem) {
	a.flush()
	a.items = append(append(append(a.items, a.w.thoughts...), a.thoughts...), item)
	a.w.thoughts, a.thoughts = nil, nil
}

// think adds a thought of OpenAI's own that it can read again: one with its encrypted
// content. A summary stands before it in another block. What another provider thought is
// never shown to this one.
func (w *inputWriter) think(out *assistantItems, t *llm.Thought) {
	if t.Format != wire.ThoughtFormat(w.c.Model) {
		return
	}
	if t.Data == "" {
		w.of, w.summary = t.ItemID, t.Text
		return
	}
	out.flush()
	summary, text := []summaryPart{}, t.Text
	if text == "" && w.summary != "" && w.of == t.ItemID {
		text = w.summary
	}
	w.summary = ""
	if t.ItemID != "" && w.known[t.ItemID] {
		return // OpenAI refuses an item that is there twice
	}
	if w.known == nil {
		w.known = map[string]bool{}
	}
	w.known[t.ItemID] = true
	if text != "" {
		summary = append(summary, summaryPart{Type: "summary_text", Text: text})
	}
	out.thoughts = append(out.thoughts, inputItem{Type: itemReasoning, ID: t.ItemID, Summary: &summary, Encrypted: t.Data})
}

// call is a call that the model made.
func (c *responding) call(call *llm.Call, id string) inputItem {
	if call.Kind == llm.ToolCustom {
		return inputItem{Type: itemCustomCall, CallID: id, Name: call.Name, Input: &call.Input}
	}
	return inputItem{
		Type: itemFunctionCall, CallID: id, Name: c.Names.Upstream(call.Namespace, call.Name), Arguments: string(call.Arguments),
	}
}
