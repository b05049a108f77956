package responses

import (
	"strings"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// reasoning is the open thought.
type reasoning struct {
	thought llm.Thought // without its text
	known   bool        // an event has told the thought, not only what to show of it
	shown   bool        // it has a summary
	text    []byte      // as its provider wants it back
}

// writeThought writes a piece of reasoning, or what its provider wants back.
func (it *items) writeThought(e *llm.Event) {
	t := e.Thought
	if t != nil && t.Kind != llm.ThoughtEncrypted {
		it.writeThoughtText(e.Text, t)
		return
	}
	it.writeThoughtText(e.Text, nil)
	if t != nil {
		it.seal(t)
	}
}

// writeThoughtText writes text of a thought, and ends it where it has its signature. Each thought is
// an item of its own, so that it comes back where it was.
func (it *items) writeThoughtText(text string, t *llm.Thought) {
	r := &it.thought
	if it.kind == itemReasoning && t != nil && r.known && (t.Index != r.thought.Index || t.Kind != r.thought.Kind) {
		it.close(completed)
	}
	if it.kind != itemReasoning {
		if t == nil && (text == "" || it.hidden) || t != nil && text == "" && t.Text == "" && t.Signature == "" {
			return
		}
		it.openThought()
	}
	if t != nil {
		r.thought, r.known, r.text = *t, true, append(r.text, t.Text...)
	}
	it.show(text)
	if t != nil && t.Signature != "" {
		it.close(completed)
	}
}

// seal writes what a provider wants back as it is, with the thought that has just been
// shown, or in an item without text. A signature of Gemini's that stands on a text which has
// been shown is left out: Gemini wants back only those of calls and images.
func (it *items) seal(t *llm.Thought) {
	image := it.image
	switch {
	case t.Data == "" && t.Signature == "":
		return
	case it.kind == itemReasoning && !it.thought.known && !t.Format.SignsThoughts():
	case t.Format.SignsCalls() && t.CallID == "" && it.next > 0 && image == nil:
		return
	default:
		if t.CallID == "" {
			it.image = nil // it follows what belongs to it
		}
		it.openThought()
	}
	r := &it.thought
	r.thought, r.known, r.text = *t, true, append(r.text, t.Text...)
	if image != nil && t.CallID == "" {
		it.closeThought()
		it.image = image
		return
	}
	it.close(completed)
}

func (it *items) openThought() {
	it.close(completed)
	it.thought = reasoning{text: it.thought.text[:0]}
	it.start(itemReasoning, func(w jsonbytes.Writer) jsonbytes.Writer { return w.List("summary", nil).Null("encrypted_content") })
}

// show writes a piece of the summary, which has one part.
func (it *items) show(text string) {
	if text == "" || it.hidden {
		return
	}
	if !it.thought.shown {
		it.thought.shown = true
		if it.openSummary("response.reasoning_summary_part.added") {
			it.out = it.out.JSON("part", it.summaryPart())
			it.shut()
		}
		it.heading("response.reasoning_summary_text.delta", "summary_index", 0)
	}
	it.delta(text, "")
}

func (it *items) openSummary(name string) bool {
	if !it.openItem(name) {
		return false
	}
	it.out = it.out.Int("summary_index", 0)
	return true
}

// summaryPart is the summary, as far as it has been written.
func (it *items) summaryPart() []byte {
	return jsonbytes.Writer(nil).Object().Text("type", "summary_text").Escaped("text", it.text).EndObject()
}

func (it *items) closeThought() {
	var summary []byte
	if it.thought.shown {
		summary = it.summaryPart()
		if it.openSummary("response.reasoning_summary_text.done") {
			it.out = it.out.Escaped("text", it.text)
			it.shut()
		}
		if it.openSummary("response.reasoning_summary_part.done") {
			it.out = it.out.JSON("part", summary)
			it.shut()
		}
	}
	it.finish(func(w jsonbytes.Writer) jsonbytes.Writer {
		return w.List("summary", summary).TextOrNull("encrypted_content", it.thought.seal())
	})
}

// seal makes what brings the thought back, with its text: clients edit summaries or lose
// them. It is empty for a thought that no provider takes back: one whose provider is not
// known, or one of Anthropic's without its signature.
func (r *reasoning) seal() string {
	t := r.thought
	returns := t.Signature != "" || t.Data != "" || t.Format != "" && !t.Format.SignsThoughts() && len(r.text) > 0
	if !r.known || !returns {
		return ""
	}
	t.Text = strings.ToValidUTF8(string(r.text), "\uFFFD")
	return roundtrip.SealWhole(&t)
}
