// Package strict refuses the requests that OpenAI, Anthropic and Google refuse,
// with their messages, so that tests can show that a translated request would
// be accepted. Only tests import it. In one way it is stricter: it refuses
// Gemini's snake_case field names, which Google accepts.
package strict

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	simulatedanthropic "modelgateway/providers/simulator/anthropic"
	simulatedgemini "modelgateway/providers/simulator/gemini"
	simulatedopenai "modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/openai/responses"
	"modelgateway/providers/simulator/strict/anthropic"
	"modelgateway/providers/simulator/strict/gemini"
	"modelgateway/providers/simulator/strict/openai"
	"modelgateway/providers/simulator/wire"
)

// Check is a simulator's Options.Check.
func Check(provider, model string, header http.Header, body jsontext.Value) *wire.Failure {
	switch provider {
	case simulatedopenai.Name:
		return openai.Check(body)
	case responses.Name, responses.Compacting, responses.Counting:
		return openai.CheckResponses(body)
	case simulatedanthropic.Name:
		return anthropic.Check(header, body)
	case simulatedanthropic.Counting:
		return anthropic.CheckCount(header, body)
	case simulatedgemini.Name:
		return gemini.Check(model, body)
	}
	return nil
}
