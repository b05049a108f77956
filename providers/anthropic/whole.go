package anthropic

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/llm"
)

// readMessage reads an answer that is not a stream, or an error that came
// under status 200.
func readMessage(text []byte) (*wholeMessage, error) {
	var r fastReader
	if m, ok := r.message(text); ok {
		return m, nil
	}
	return decodeMessage(text)
}

// decodeMessage reads an answer in full.
func decodeMessage(text []byte) (*wholeMessage, error) {
	m := new(wholeMessage)
	if err := json.Unmarshal(text, m, api.Lenient); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	switch {
	case m.Type == typeError:
		return m, nil
	case m.Type != typeMessage || m.Content == nil:
		return nil, errNoMessage
	}
	return m, m.readBlocks()
}

func (m *answerMessage) readBlocks() (err error) {
	m.blocks = make([]answerBlock, len(m.Content))
	for i := range m.Content {
		if m.blocks[i], err = readBlock(m.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

// replay yields the message as the stream that it would have been.
func (x *exchange) replay(m *wholeMessage) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		a := newAnswer(x)
		if a.start(&m.answerMessage, yield) {
			a.finish()
		}
	}
}

// readBlock reads a content block. Of one that has no place in the common form
// it reads only the type: its other members may have any form.
func readBlock(raw []byte) (answerBlock, error) {
	var b answerBlock
	err := json.Unmarshal(raw, &b, api.Lenient)
	if err == nil {
		return b, nil
	}
	var typed struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &typed, api.Lenient) == nil && kindOf(typed.Type) == kindOther {
		return answerBlock{Type: typed.Type}, nil
	}
	return b, fmt.Errorf("decode content block: %w", err)
}
