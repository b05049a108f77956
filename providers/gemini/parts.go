package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/providers/carry"
	"modelgateway/providers/chunk"
)

// candidate emits what an event adds to one candidate. The probabilities are
// of all its text, and go along with the first; or alone where there is none,
// unless they are of thoughts.
func (s *stream) candidate(from *candidate) bool {
	c := s.choice(from.Index)
	probable := from.LogprobsResult.value()
	thought := false
	for i := range from.Content.Parts {
		p := &from.Content.Parts[i]
		thought = thought || p.Thought
		if probable != nil && p.Text != "" && !p.Thought && p.FunctionCall == nil && p.InlineData == nil {
			if !s.out.Begin(c.index) {
				return false
			}
			s.out.With(probable, nil)
			probable = nil
		}
		if !s.part(c, p) {
			return false
		}
	}
	if probable == nil || thought {
		return true
	}
	if !s.out.Begin(c.index) {
		return false
	}
	s.out.With(probable, nil)
	defer s.out.With(nil, nil)
	return s.out.Delta(c.index, api.Delta{})
}

func (s *stream) part(c *choice, p *part) bool {
	picture := onText
	switch {
	case p.FunctionCall != nil:
		return s.call(c, p)
	case p.InlineData != nil && !p.Thought: // a thought's picture is a draft
		picture = c.pictures
		c.pictures++
		if !s.image(c, p.InlineData) {
			return false
		}
	case p.Thought && p.Text != "":
		if !s.out.Delta(c.index, api.Delta{ReasoningContent: p.Text}) {
			return false
		}
	case p.Text != "":
		c.said = true
		if !s.out.Delta(c.index, api.Delta{Content: &p.Text}) {
			return false
		}
		s.out.With(nil, nil)
	}
	if p.ThoughtSignature == "" {
		return true
	}
	return s.detail(c, s.seal(p.ThoughtSignature, picture))
}

// seal is how a thought signature travels through clients.
func (s *stream) seal(signature string, picture int) api.ReasoningDetail {
	data := sealed{model: s.model, picture: picture, signature: signature}
	return api.ReasoningDetail{Type: api.ReasoningEncrypted, Data: data.String(), Format: api.FormatGemini}
}

func (s *stream) detail(c *choice, d api.ReasoningDetail) bool {
	d.Index = c.details
	c.details++
	return s.out.Delta(c.index, api.Delta{ReasoningDetails: []api.ReasoningDetail{d}})
}

// call emits a function call, which always comes whole. Its signature must
// come back in the next turn, and takes every way a client may leave open.
func (s *stream) call(c *choice, p *part) bool {
	c.calls++
	if s.function && c.calls > 1 {
		return true // the deprecated form has room for one; the model asks for the others again
	}
	f := api.FunctionCall{Name: p.FunctionCall.Name, Arguments: arguments(p.FunctionCall.Args)}
	id := p.FunctionCall.ID
	switch {
	case s.function:
		id = "call_" + f.Name // the call will have no other when it comes back
	case id == "":
		id = chunk.NewID("call_")
	}
	call := api.ToolCall{ID: id, Function: &f}
	if p.ThoughtSignature != "" {
		d := s.seal(p.ThoughtSignature, onText)
		call.ID = carry.Pack(id, []api.ReasoningDetail{d})
		call.ExtraContent = &api.ExtraContent{Google: &api.GoogleExtra{ThoughtSignature: p.ThoughtSignature}}
		d.ID = id
		if !s.detail(c, d) {
			return false
		}
	}
	if !s.function {
		_, ok := s.out.Call(c.index, call)
		return ok
	}
	return s.out.Delta(c.index, api.Delta{FunctionCall: &api.FunctionDelta{Name: f.Name, Arguments: f.Arguments}})
}

// arguments is a call's object in the shortest form, its numbers as they are.
func arguments(args jsontext.Value) string {
	if len(args) == 0 || args.Kind() == jsontext.KindNull {
		return "{}"
	}
	short, err := jsontext.AppendFormat(make([]byte, 0, len(args)), args, lenient)
	if err != nil {
		return string(args) // it has been read as JSON a moment ago
	}
	return string(short)
}

func (s *stream) image(c *choice, b *blob) bool {
	c.said = true
	return s.out.Delta(c.index, api.Delta{Images: []api.Image{{
		Type: "image_url", ImageURL: api.ImageURL{URL: "data:" + b.MIMEType + ";base64," + b.Data},
	}}})
}
