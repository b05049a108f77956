package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/catalog"
	"modelgateway/models/llm"
)

// candidate emits what an event adds to one candidate. The log probabilities
// are of all its text and are sent with the first text, or alone where there is
// none; those of thoughts are dropped.
func (s *stream) candidate(from *candidate) bool {
	c := s.choice(from.Index)
	probabilities := from.LogprobsResult.value()
	thought := false
	for i := range from.Content.Parts {
		p := &from.Content.Parts[i]
		thought = thought || p.Thought
		if probabilities != nil && p.Text != "" && !p.Thought && p.FunctionCall == nil && p.InlineData == nil {
			s.out.Logprobs(probabilities)
			probabilities = nil
		}
		if !s.part(c, p) {
			return false
		}
	}
	if probabilities == nil || thought {
		return true
	}
	s.out.Logprobs(probabilities)
	return s.out.Text(c.index, "")
}

func (s *stream) part(c *choice, p *part) bool {
	image, ok := noImage, true
	switch {
	case p.FunctionCall != nil:
		return s.call(c, p)
	case p.InlineData != nil && !p.Thought: // a thought's image is a draft
		image = c.images
		c.images++
		ok = s.out.Media(c.index, &llm.Media{Kind: llm.Image, URL: "data:" + p.InlineData.MIMEType + ";base64," + p.InlineData.Data})
	case p.Thought && p.Text != "":
		ok = s.out.Thought(c.index, p.Text, nil)
	case p.Text != "":
		ok = s.answerText(c, p.Text)
	}
	if !ok || p.ThoughtSignature == "" {
		return ok
	}
	return s.out.Thought(c.index, "", s.thought(c, p.ThoughtSignature, image))
}

// thought is the detail in which clients return a signature.
func (s *stream) thought(c *choice, value string, image int) *llm.Thought {
	t := &llm.Thought{
		Kind: llm.ThoughtEncrypted, Data: signature{model: s.model, image: image, value: value}.String(),
		Provider: catalog.Gemini, Index: c.thoughts,
	}
	c.thoughts++
	return t
}

// call emits a function call, which always comes whole. Its signature must
// come back in the next turn.
func (s *stream) call(c *choice, p *part) bool {
	f := p.FunctionCall
	if f.Name == s.exchange.answerTool && f.Name != "" {
		return s.answerCall(c, f.Args)
	}
	call := &llm.CallStart{ID: f.ID, Name: s.exchange.names.clients(f.Name), Arguments: arguments(f.Args), Signature: p.ThoughtSignature}
	if call.ID == "" {
		call.ID = llm.NewID("call_")
	}
	if p.ThoughtSignature != "" {
		call.Thought = s.thought(c, p.ThoughtSignature, noImage)
		call.Thought.CallID = call.ID
	}
	_, ok := s.out.Call(c.index, call)
	return ok
}

// arguments is a call's object in the shortest form, its numbers as they are.
func arguments(args jsontext.Value) string {
	if len(args) == 0 || args.Kind() == jsontext.KindNull {
		return "{}"
	}
	short, err := jsontext.AppendFormat(make([]byte, 0, len(args)), args, lenient)
	if err != nil {
		return string(args) // it has just been decoded as JSON
	}
	return string(short)
}
