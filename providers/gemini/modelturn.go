package gemini

import (
	"cmp"

	"modelgateway/llm"
	"modelgateway/providers/alternating"
)

// modelTurn builds a turn of the model, which may consist of several messages.
// The signatures of each message come before its parts.
type modelTurn struct {
	t      *translation
	parts  []part
	calls  map[string]string // signatures by the id of their call
	called bool

	// next is the signature of the next call, where the call comes right behind it.
	next string

	// Of the current message.
	begun  bool           // it has parts already
	onText string         // the signature of its last text
	text   int            // the last text, an index of parts, or -1
	textOf int            // the client's message with the last text
	images map[int]string // signatures by the number of their image
	shown  int            // images so far
}

// modelParts are a turn of the model, with the signatures it gave.
func (t *translation) modelParts(turn *alternating.Turn) ([]part, error) {
	m := &modelTurn{t: t, text: -1}
	for _, b := range turn.Blocks {
		switch b.Kind {
		case llm.BlockThought:
			m.addThought(b.Thought, b.At.Item)
		case llm.BlockCall:
			m.addCall(b.Call)
		default:
			if err := m.addPart(b.Block); err != nil {
				return nil, err
			}
		}
	}
	m.endMessage()
	if t.dropSignatures && t.traits.Images {
		skipSignatures(m.parts)
	}
	return m.parts, nil
}

// addThought keeps a signature until its part is added. message is the index of the client's
// message that holds it. A signature that follows a text of the same message belongs to that text.
func (m *modelTurn) addThought(thought *llm.Thought, message int) {
	if thought.Format != llm.FormatGemini || thought.Data == "" {
		return
	}
	origin := parseSignature(thought.Data)
	value := m.t.accepted(origin)
	m.next = ""
	if m.text >= 0 && m.textOf == message && thought.CallID == "" && origin.image == noImage {
		m.onText = value
		return
	}
	if m.begun {
		m.endMessage()
	}
	switch {
	case thought.CallID != "":
		if m.calls == nil {
			m.calls = map[string]string{}
		}
		m.calls[thought.CallID], m.next = value, value
	case value == "":
	case origin.image == noImage:
		m.onText = value
	default:
		if m.images == nil {
			m.images = map[int]string{}
		}
		m.images[origin.image] = value
	}
}

func (m *modelTurn) addPart(b *llm.Block) (err error) {
	before := len(m.parts)
	if m.parts, err = m.t.addPart(m.parts, b); err != nil || len(m.parts) == before {
		return err
	}
	m.begun, m.next = true, ""
	if b.Kind == llm.BlockMedia {
		m.parts[len(m.parts)-1].ThoughtSignature = m.images[m.shown]
		m.shown++
	} else {
		m.text, m.textOf = before, b.At.Item
	}
	return nil
}

// addCall translates a call. Only the first of a step needs a signature. The client may
// know the call by another id than its thought does.
func (m *modelTurn) addCall(c *llm.Call) {
	p := part{FunctionCall: &functionCall{ID: m.t.callID(c.ID), Name: m.t.names.of(c.Name), Args: c.Arguments}}
	value, known := m.calls[c.ID]
	if !known {
		value = cmp.Or(m.t.accepted(parseSignature(c.Signature)), m.next)
	}
	m.next = ""
	if value == "" && !m.called && m.t.traits.Signatures {
		value = skipSignature
	}
	p.ThoughtSignature = value
	m.parts = append(m.parts, p)
	m.begun, m.called = true, true
}

// endMessage signs the last text of a message.
func (m *modelTurn) endMessage() {
	if m.text >= 0 {
		m.parts[m.text].ThoughtSignature = m.onText
	}
	m.begun, m.onText, m.text, m.images, m.shown = false, "", -1, nil, 0
}

// skipSignatures marks the parts of which Gemini 3's image models require a
// signature: the first, and every image
// (https://ai.google.dev/gemini-api/docs/image-generation#thought-signatures).
func skipSignatures(parts []part) {
	for i := range parts {
		if i == 0 || parts[i].InlineData != nil {
			parts[i].ThoughtSignature = skipSignature
		}
	}
}
