// Package openai refuses the chat completions requests that OpenAI refuses,
// with OpenAI's messages.
package openai

import (
	_ "embed"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	simulated "modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

// chat is the body of POST /v1/chat/completions.
// Source: https://platform.openai.com/docs/api-reference/chat/create
//
//go:embed chat.json
var chat []byte

type request struct {
	simulated.Request
	Temperature      *float64       `json:"temperature"`
	TopP             *float64       `json:"top_p"`
	Modalities       []string       `json:"modalities"`
	WebSearchOptions jsontext.Value `json:"web_search_options"`
}

// Check returns the error answer to a request to a model that chats, or nil.
func Check(body jsontext.Value) *wire.Failure {
	if violations := grammar.Read(chat).Violations(body); len(violations) > 0 {
		return wording(violations[0])
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return refuse("", "", "%v", err)
	}
	rules := []func() *wire.Failure{
		q.checkMessages, q.checkToolTurns, q.checkTools, q.checkChoice, q.checkFormat, q.checkExtras, q.checkReasoning,
	}
	for _, rule := range rules {
		if f := rule(); f != nil {
			return f
		}
	}
	return nil
}

func refuse(param, code, format string, args ...any) *wire.Failure {
	return simulated.Refusal(param, code, fmt.Sprintf(format, args...))
}
