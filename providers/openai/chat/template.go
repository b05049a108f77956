package chat

import (
	"modelgateway/internal/jsonbytes"
)

// template is an event that was read, with two gaps: the text of its one choice, and its
// padding. Of an event that differs from it in these only, nothing else has to be read: so are
// most events of a stream, and they take a twentieth of the time (BenchmarkEvent).
type template struct {
	number int // grows with each template
	event  event
	choice eventChoice
	text   []byte

	content jsonbytes.Span // of the text, with quotes
	padding jsonbytes.Span // of the padding; empty at the end of the event where there is none
}

// read reads an event. It must not be changed.
func (r *reader) read(text []byte) (*event, error) {
	if r.matched = r.match(text); r.matched {
		return &r.event, nil
	}
	r.warm = false
	r.template.text = r.template.text[:0]
	if err := r.decode(text); err != nil {
		return nil, err
	}
	if e := &r.event; r.usual() {
		t := &r.template
		t.number++
		t.text = append(t.text, text...)
		t.content, t.padding = r.content, r.padding
		t.event, t.choice = *e, e.Choices[0]
	}
	return &r.event, nil
}

// usual says whether an event adds a piece of text to one choice, and so might the next ones.
func (r *reader) usual() bool {
	e := &r.event
	if len(e.Choices) != 1 || e.altered || e.Usage != nil || e.Error != nil || len(e.Extra) > 0 {
		return false
	}
	if r.padding == (jsonbytes.Span{}) {
		r.padding = jsonbytes.Span{From: len(r.text), To: len(r.text)}
	}
	c := &e.Choices[0]
	d := &c.Delta
	return d.Content != nil && r.padding.From >= r.content.To && c.Logprobs == nil && len(c.Extra) == 0 &&
		d.Refusal == nil && !d.has.any(hasRepaired|hasFunctionCall|hasForeignReasoning) && len(d.Extra) == 0
}

// match reads an event that is like the template.
func (r *reader) match(text []byte) bool {
	t := &r.template
	if len(t.text) == 0 {
		return false
	}
	c := &r.cursor
	c.Reset(text)
	c.SkipBytes(t.text[:t.content.From])
	r.content.From = c.Offset()
	content := string(c.String())
	r.content.To = c.Offset()
	if c.Peek() == 0 {
		return false
	}
	c.SkipBytes(t.text[t.content.To:t.padding.From])
	if t.padding.From < t.padding.To {
		c.Literal()
		c.SkipBytes(t.text[t.padding.To:])
	}
	if !c.Done() {
		return false
	}
	r.piece = content
	if !r.warm {
		r.event, r.choices[0] = t.event, t.choice
		r.choices[0].Delta.Content = &r.piece
		r.event.Choices = r.choices[:]
		r.warm = true
	}
	return true
}
