package gemini

import (
	"modelgateway/models/api"
	"modelgateway/providers/carry"
	"modelgateway/providers/turns"
)

// speech is a turn of the model in the making, which may be of several
// messages. The signatures of each stand before its parts.
type speech struct {
	t      *translation
	parts  []part
	calls  map[string]string // signatures by the id of their call
	called bool

	// Of the message at hand.
	begun    bool           // parts of it have come
	text     string         // the signature of its last text
	spoken   int            // the last text, an index of parts, or -1
	pictures map[int]string // signatures by the number of their picture
	shown    int            // pictures so far
}

// modelParts are a turn of the model, with the signatures it gave.
func (t *translation) modelParts(turn *turns.Turn) ([]part, error) {
	s := &speech{t: t, calls: map[string]string{}, spoken: -1}
	for i := range turn.Blocks {
		b := &turn.Blocks[i]
		switch {
		case b.Thought != nil:
			s.think(b.Thought)
		case b.Call != nil:
			s.call(b.Call)
		case b.Part != nil:
			if err := s.say(b.Part); err != nil {
				return nil, err
			}
		}
	}
	s.settle()
	if t.unsigned && t.traits.Images {
		excuse(s.parts)
	}
	return s.parts, nil
}

func (s *speech) think(d *api.ReasoningDetail) {
	if d.Format != api.FormatGemini || d.Data == "" {
		return
	}
	if s.begun {
		s.settle()
	}
	seal := unseal(d.Data)
	signature := s.t.own(seal)
	if id, _ := carry.Unpack(d.ID); id != "" {
		s.calls[id] = signature
		return
	}
	switch {
	case signature == "":
	case seal.picture == onText:
		s.text = signature
	default:
		if s.pictures == nil {
			s.pictures = map[int]string{}
		}
		s.pictures[seal.picture] = signature
	}
}

func (s *speech) say(p *api.ContentPart) error {
	out, err := translated(p)
	if err != nil {
		return err
	}
	s.begun = true
	if p.Type == "text" {
		s.spoken = len(s.parts)
	} else {
		out.ThoughtSignature = s.pictures[s.shown]
		s.shown++
	}
	s.parts = append(s.parts, out)
	return nil
}

// call translates a call. Only the first of a step needs a signature.
func (s *speech) call(c *turns.Call) {
	p := part{FunctionCall: &functionCall{ID: s.t.callID(c.ID), Name: c.Name, Args: c.Arguments}}
	signature, told := s.calls[c.ID]
	if !told {
		signature = s.t.own(unseal(c.Signature))
	}
	if signature == "" && !s.called && s.t.traits.Signatures {
		signature = noSignature
	}
	p.ThoughtSignature = signature
	s.parts = append(s.parts, p)
	s.begun, s.called = true, true
}

// settle ends a message.
func (s *speech) settle() {
	if s.spoken >= 0 {
		s.parts[s.spoken].ThoughtSignature = s.text
	}
	s.begun, s.text, s.spoken, s.pictures, s.shown = false, "", -1, nil, 0
}

// excuse marks the parts of which Gemini 3's makers of pictures want a
// signature: the first, and every picture
// (https://ai.google.dev/gemini-api/docs/image-generation#thought-signatures).
func excuse(parts []part) {
	for i := range parts {
		if i == 0 || parts[i].InlineData != nil {
			parts[i].ThoughtSignature = noSignature
		}
	}
}
