package gemini

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
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
		if called, ok := s.called(c, p); called || !ok {
			return ok
		}
	case p.InlineData != nil && !p.Thought: // a thought's image is a draft
		made := media(p.InlineData)
		if made.Kind == llm.Image {
			image = c.images
			c.images++
		}
		ok = s.out.Media(c.index, made)
	case p.Thought && p.Text != "":
		ok = s.out.Thought(c.index, p.Text, nil)
	case p.Text != "":
		c.text.add(p.Text)
		ok = s.answerText(c, p.Text)
	}
	if !ok || p.ThoughtSignature == "" {
		return ok
	}
	return s.out.Thought(c.index, "", s.thought(c, p.ThoughtSignature, image))
}

// soundFormats are the media types that OpenAI has names for.
var soundFormats = map[string]string{
	"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3",
}

// media is what a model made.
func media(b *blob) *llm.Media {
	kind, _, _ := strings.Cut(strings.ToLower(b.MIMEType), "/")
	switch kind {
	case "image", "":
		return &llm.Media{Kind: llm.Image, URL: b.dataURL()}
	case "audio":
		return &llm.Media{Kind: llm.Audio, Data: b.Data, Format: cmp.Or(soundFormats[strings.ToLower(b.MIMEType)], b.MIMEType)}
	}
	return &llm.Media{Kind: llm.File, URL: b.dataURL()}
}

func (b *blob) dataURL() string { return "data:" + b.MIMEType + ";base64," + b.Data }

// thought is the detail in which clients return a signature.
func (s *stream) thought(c *choice, value string, image int) *llm.Thought {
	t := &llm.Thought{
		Kind: llm.ThoughtEncrypted, Data: signature{model: s.model, image: image, value: value}.String(),
		Format: llm.FormatGemini, Model: s.model, Index: c.thoughts,
	}
	c.thoughts++
	return t
}

// called takes a part with a function call. It says whether there is a call: a part without
// a name that continues none has none, and no client could answer it.
func (s *stream) called(c *choice, p *part) (called, ok bool) {
	f := p.FunctionCall
	if c.pending != nil && !c.pending.continuedBy(f) && !s.flushCall(c) {
		return false, false
	}
	switch {
	case c.pending == nil && f.Name == "":
		return false, true
	case c.pending == nil && !f.WillContinue && len(f.PartialArgs) == 0:
		return true, s.call(c, f, p.ThoughtSignature)
	case c.pending == nil:
		c.pending = &pendingCall{id: f.ID, name: f.Name}
	}
	if err := c.pending.add(f, p.ThoughtSignature); err != nil {
		s.out.Fail(s.client.Malformed(err))
		return true, false
	}
	if f.WillContinue {
		return true, true
	}
	c.usable = true
	return true, s.flushCall(c)
}

// call emits a whole function call. Its signature must come back in the next turn. Gemini
// cannot be told to make one call only: where the answer holds one, the first counts.
func (s *stream) call(c *choice, f *functionCall, signed string) bool {
	switch {
	case f.Name == s.exchange.answerTool:
		return s.answerCall(c, f.Args)
	case s.exchange.call.Request.SingleCall && s.out.Calls(c.index) > 0:
		return true
	}
	call := &llm.CallStart{ID: f.ID, Name: s.exchange.names.clients(f.Name), Arguments: arguments(f.Args), Signature: signed}
	if call.ID == "" {
		call.ID = llm.NewID("call_")
	}
	if signed != "" {
		call.Thought = s.thought(c, signed, noImage)
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
