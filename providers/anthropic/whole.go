package anthropic

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
	"modelgateway/providers"
)

// readMessage reads an answer that is not a stream, or an error that came
// under status 200.
func readMessage(text []byte) (*wholeMessage, error) {
	m := new(wholeMessage)
	if err := json.Unmarshal(text, m, lenient); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	if m.Type == typeError || m.Type == typeMessage && m.Content != nil {
		return m, nil
	}
	return nil, errNoMessage
}

// replay gives the message as the stream it would have been.
func (x *exchange) replay(m *wholeMessage) providers.Stream {
	return func(yield func(*api.ChatChunk, error) bool) {
		a := newAnswer(x)
		a.usage = m.Usage
		if !a.start(&startMessage{ID: m.ID, Model: m.Model}, yield) {
			return
		}
		for i, raw := range m.Content {
			b, err := readBlock(raw)
			if err != nil {
				a.out.Fail(x.provider.client.Nonsense(err))
				return
			}
			if !a.startBlock(i, &b) || !a.stopBlock(i) {
				return
			}
		}
		a.reason = m.StopReason
		if m.StopDetails != nil {
			a.explanation = m.StopDetails.Explanation
		}
		a.finish()
	}
}

// readBlock reads a content block. Of one that has no place in a completion
// only the type is read: its other members may be of any form.
func readBlock(raw []byte) (answerBlock, error) {
	var b answerBlock
	err := json.Unmarshal(raw, &b, lenient)
	if err == nil {
		return b, nil
	}
	var typed struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &typed, lenient) == nil && kindOf(typed.Type) == kindOther {
		return answerBlock{Type: typed.Type}, nil
	}
	return b, fmt.Errorf("decode content block: %w", err)
}
