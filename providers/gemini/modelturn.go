package gemini

import (
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers/turns"
)

// modelTurn builds a turn of the model, which may consist of several messages.
// The signatures of each message come before its parts.
type modelTurn struct {
	t      *translation
	parts  []part
	calls  map[string]string // signatures by the id of their call
	called bool

	// Of the current message.
	begun  bool           // it has parts already
	onText string         // the signature of its last text
	text   int            // the last text, an index of parts, or -1
	images map[int]string // signatures by the number of their image
	shown  int            // images so far
}

// modelParts are a turn of the model, with the signatures it gave.
func (t *translation) modelParts(turn *turns.Turn) ([]part, error) {
	m := &modelTurn{t: t, text: -1}
	for _, b := range turn.Blocks {
		switch b.Kind {
		case llm.BlockThought:
			m.addThought(b.Thought)
		case llm.BlockCall:
			m.addCall(b.Call)
		case llm.BlockHosted: // only its own provider can read it
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

// addThought keeps a signature until its part is added.
func (m *modelTurn) addThought(thought *llm.Thought) {
	if thought.Provider != catalog.Gemini || thought.Data == "" {
		return
	}
	if m.begun {
		m.endMessage()
	}
	origin := parseSignature(thought.Data)
	value := m.t.accepted(origin)
	switch {
	case thought.CallID != "":
		if m.calls == nil {
			m.calls = map[string]string{}
		}
		m.calls[thought.CallID] = value
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

func (m *modelTurn) addPart(b *llm.Block) error {
	p, err := m.t.part(b)
	if err != nil {
		return err
	}
	m.begun = true
	if b.Kind == llm.BlockMedia {
		p.ThoughtSignature = m.images[m.shown]
		m.shown++
	} else {
		m.text = len(m.parts)
	}
	m.parts = append(m.parts, p)
	return nil
}

// addCall translates a call. Only the first of a step needs a signature.
func (m *modelTurn) addCall(c *llm.Call) {
	p := part{FunctionCall: &functionCall{ID: m.t.callID(c.ID), Name: m.t.names.of(c.Name), Args: c.Arguments}}
	value, known := m.calls[c.ID]
	if !known {
		value = m.t.accepted(parseSignature(c.Signature))
	}
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
