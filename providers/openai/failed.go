package openai

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
)

// finishError is the finish reason of a choice that failed (openrouter.ai/docs,
// errors; docs.mistral.ai, chat completions).
const finishError = "error"

// failed is the error that an event says.
func (s *stream) failed(text []byte) error {
	var e struct {
		Error *problem `json:"error"`
	}
	p := new(problem)
	switch {
	case json.Unmarshal(text, &e, lenient) == nil && e.Error != nil:
		p = e.Error
	case json.Unmarshal(text, p, lenient) != nil:
		p.Message = string(text)
	}
	return s.client.Refused(p.refusal(p.streamStatus()))
}

// stray is the end of the body, or the error that stands there outside of any event:
// older builds of llama.cpp write it as a field of its own.
func (s *stream) stray() error {
	for line := range bytes.Lines(s.upstream.Stray()) {
		text, ok := bytes.CutPrefix(line, []byte("error:"))
		if ok && problemOf(text) != nil {
			return s.failed(text)
		}
	}
	return io.EOF
}
