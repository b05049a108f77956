package messages

import (
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// ownFormat is that of Anthropic's API itself, whose thoughts are written as they are.
const ownFormat = llm.FormatAnthropic

// writeThought writes a piece of reasoning, or what its provider wants back.
func (b *blocks) writeThought(e *llm.Event) {
	t, text := e.Thought, e.Text
	switch {
	case b.hidden:
		b.remember(t)
		return
	case t == nil:
		b.writeThoughtText(text, nil)
		return
	case t.Kind != llm.ThoughtEncrypted:
		if t.Text != "" {
			text = t.Text
		}
		b.writeThoughtText(text, t)
		return
	case text != "":
		b.writeThoughtText(text, nil)
	}
	b.seal(t)
}

// writeThoughtText writes text of a thought, and ends it where it has its signature.
func (b *blocks) writeThoughtText(text string, t *llm.Thought) {
	signature := ""
	if t != nil {
		signature = t.Signature
	}
	if b.kind == thinkingBlock && b.known && t != nil && (t.Index != b.thought.Index || t.Kind != b.thought.Kind) {
		b.close()
	}
	if b.kind != thinkingBlock {
		if text == "" && signature == "" {
			return
		}
		b.close()
		b.open(block{kind: thinkingBlock})
	}
	if text != "" && !b.omitted {
		b.delta(thinkingDelta, text)
	}
	if t != nil {
		b.thought, b.known = *t, true
		b.thought.Text = ""
	}
	if signature != "" {
		b.close()
	}
}

// seal writes what a provider wants back as it is: in a redacted block where that is
// Anthropic, else as the signature of the thought that has just been shown, or of one
// without text. A signature of Gemini's that stands on a text which has been shown is left
// out: Gemini wants back only those of calls, and a last block of thinking would hide
// the text from clients that read the last block.
func (b *blocks) seal(t *llm.Thought) {
	switch {
	case t.Data == "" && t.Signature == "":
		return
	case t.Format == ownFormat:
		b.close()
		b.writeBlock(block{kind: redactedBlock, data: t.Data})
		return
	case b.kind == thinkingBlock && (!b.known || b.thought.Data == ""):
	case t.Format.SignsCalls() && t.CallID == "" && b.next > 0:
		return
	default:
		b.close()
		b.open(block{kind: thinkingBlock})
	}
	b.thought = *t
	b.close()
}

// signatureOf is the signature of a block of thinking: Anthropic's own, else one of ours.
// It is never empty: Claude Code drops a thought without a signature.
func signatureOf(t *llm.Thought) string {
	if t.Format == ownFormat && t.Signature != "" {
		return t.Signature
	}
	return roundtrip.Seal(t)
}

// remember keeps a thought that the client does not see and that its provider wants back
// with the next call.
func (b *blocks) remember(t *llm.Thought) {
	if t == nil {
		return
	}
	if t.Index != b.thinks {
		b.thinks, b.thinking = t.Index, b.thinking[:0]
	}
	b.thinking = append(b.thinking, t.Text...)
	if t.WithCalls {
		whole := *t
		whole.Text = string(b.thinking)
		b.signed = append(b.signed, &whole)
	}
}
