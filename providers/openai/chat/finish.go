package chat

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

// finishWords are words of compatible servers for OpenAI's finish reasons: Together's
// and Mistral's, as their own clients list them.
var finishWords = map[string]string{"eos": string(llm.FinishStop), "model_length": string(llm.FinishLength)}

// nativeReason is the member in which a choice has its server's own word.
const nativeReason = "native_finish_reason"

// finishWord is OpenAI's word for a finish reason; the server's own is added to the
// other members of the choice, where it is another one.
func finishWord(reason string, extra jsontext.Value) (string, jsontext.Value) {
	word, ok := finishWords[reason]
	if !ok {
		return reason, extra
	}
	for name := range jsonbytes.Members(extra) {
		if name.Is(nativeReason) {
			return word, extra
		}
	}
	return word, joined(extra, jsontext.Value(`{"`+nativeReason+`":"`+reason+`"}`))
}

// finishError is the finish reason of a choice that failed (openrouter.ai/docs,
// errors; docs.mistral.ai, chat completions).
const finishError = "error"

// failure is the error that an event says.
func (x *exchange) failure(e *event, text []byte) error {
	if e.Error != nil || e.Object == "error" {
		return x.failed(text)
	}
	for i := range e.Choices {
		if c := &e.Choices[i]; c.FinishReason == finishError {
			return x.failed(c.Extra)
		}
	}
	return nil
}

// failed is the error that a text says.
func (x *exchange) failed(text []byte) error {
	var e struct {
		Error *wire.Problem `json:"error"`
	}
	p := new(wire.Problem)
	switch {
	case json.Unmarshal(text, &e, wire.Lenient) == nil && e.Error != nil:
		p = e.Error
	case json.Unmarshal(text, p, wire.Lenient) != nil:
		p.Message = string(text)
	}
	return x.api.client.Refused(p.Refusal(p.StreamStatus()))
}

// stray is the end of the body, or the error that stands there outside of any event:
// older builds of llama.cpp write it as a field of its own.
func (s *stream) stray() error {
	for line := range bytes.Lines(s.upstream.Stray()) {
		text, ok := bytes.CutPrefix(line, []byte("error:"))
		if ok && wire.ProblemOf(text) != nil {
			return s.exchange.failed(text)
		}
	}
	return io.EOF
}
