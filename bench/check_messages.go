package main

import (
	"errors"
	"fmt"
)

// message has the members of an answer or an event of the Messages API that are checked.
type message struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	StopReason string `json:"stop_reason"`

	Message struct {
		Role string `json:"role"`
	} `json:"message"`
	Delta struct {
		Text       string `json:"text"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
}

// answer verifies a whole answer; usage says whether it has one.
func (m *message) answer(usage bool) error {
	switch {
	case m.Type != "message" || m.Role != "assistant":
		return fmt.Errorf("type %q, role %q", m.Type, m.Role)
	case len(m.Content) != 1 || m.Content[0].Text != answerText:
		return fmt.Errorf("wrong text: %.80v", m.Content)
	case m.StopReason != "end_turn":
		return fmt.Errorf("stop reason %q", m.StopReason)
	case !usage:
		return errors.New("no usage")
	}
	return nil
}

func (p *progress) takeMessage(e *event) error {
	m := &e.message
	switch m.Type {
	case "message_start":
		p.role = m.Message.Role == "assistant"
	case "content_block_delta":
		return p.text(m.Delta.Text)
	case "message_delta":
		if m.Delta.StopReason != "end_turn" || p.finished {
			return fmt.Errorf("stop reason %q", m.Delta.StopReason)
		}
		p.finished, p.usage = true, e.Usage != nil && e.Usage.Output > 0
	case "message_stop":
		p.done = true
	}
	return nil
}
