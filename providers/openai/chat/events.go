package chat

import (
	"fmt"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

// eventWriter makes the events of a stream, with the bytes that are sent to the
// client.
type eventWriter struct {
	yield      func(*llm.Event, error) bool
	usageAsked bool // by the client
	fresh      bool // events have been sent since the last pause
	gone       bool // the consumer has left during a pause
	head       llm.Head
	event      llm.Event
	encoder    chat.ChunkEncoder
	buf        []byte
}

// text sends an event of text in the upstream's own bytes; literal is its text
// with quotes and escapes.
func (s *eventWriter) text(f *forward, literal []byte, e *event) bool {
	s.buf = append(append(append(s.buf[:0], f.head...), literal...), f.tail...)
	c := &e.Choices[0]
	s.event = llm.Event{
		Kind: llm.EventText, Head: &s.head, Choice: c.Index, Text: *c.Delta.Content, Raw: s.buf, RawDialect: llm.Chat,
	}
	s.fresh = true
	return s.yield(&s.event, nil)
}

// whole sends an event of one choice in the upstream's own bytes.
func (s *eventWriter) whole(raw []byte, e *event) bool {
	c := &e.Choices[0]
	s.event = llm.Event{Kind: llm.EventOther, Head: &s.head, Raw: raw, RawDialect: llm.Chat}
	delta := c.Delta.delta()
	for i := range c.Delta.ToolCalls {
		call := &c.Delta.ToolCalls[i]
		delta.ToolCalls = append(delta.ToolCalls, chat.ToolCallDelta{Function: call.Function, Custom: call.Custom})
	}
	describe(&s.event, &chat.ChunkChoice{Index: c.Index, Delta: delta})
	s.fresh = true
	return s.yield(&s.event, nil)
}

// chunk sends a chunk. It has usage if the client asked for it, and then chunks
// without usage have null.
func (s *eventWriter) chunk(c *chat.Chunk, err error) bool {
	if s.gone {
		return false
	}
	if c == nil {
		return s.yield(nil, err)
	}
	s.fresh = true
	s.head.ServiceTier = c.ServiceTier
	e := &s.event
	*e = llm.Event{Kind: llm.EventOther, Head: &s.head, RawDialect: llm.Chat, Usage: c.Usage.Common()}
	if len(c.Choices) == 0 {
		e.Kind = llm.EventUsage
	}
	for i := range c.Choices {
		describe(e, &c.Choices[i])
	}
	if c.Usage != nil && len(c.Choices) == 0 && !s.usageAsked {
		return s.yield(e, nil) // for metering only
	}
	text, err := s.encoder.Append(s.buf[:0], c)
	if err != nil {
		s.yield(nil, api.Internal(fmt.Errorf("encode chunk: %w", err)))
		return false
	}
	if s.usageAsked && c.Usage == nil {
		text = append(text[:len(text)-1], `,"usage":null}`...)
	}
	s.buf, e.Raw = text, text
	return s.yield(e, nil)
}

// pause yields a pause, once, before the upstream is waited for: what has been
// sent since the last one is then flushed to the client.
func (s *eventWriter) pause() bool {
	if !s.fresh {
		return true
	}
	s.fresh = false
	s.gone = !s.yield(nil, nil)
	return !s.gone
}

// describe yields what a choice adds, for metering.
func describe(e *llm.Event, c *chat.ChunkChoice) {
	e.Choice, e.Text = c.Index, c.Delta.Texts()
	e.Head.Images += int64(len(c.Delta.Images))
	switch {
	case c.FinishReason != nil:
		e.Kind, e.Finish = llm.EventFinish, llm.Finish(*c.FinishReason)
	case len(c.Delta.Images) > 0:
		e.Kind = llm.EventMedia
	case len(c.Delta.ToolCalls) > 0 || c.Delta.FunctionCall != nil:
		e.Kind = llm.EventInput
	case c.Delta.ReasoningContent != "":
		e.Kind = llm.EventThought
	case e.Text != "":
		e.Kind = llm.EventText
	case c.Delta.Role != "":
		e.Kind = llm.EventBegin
	}
}
