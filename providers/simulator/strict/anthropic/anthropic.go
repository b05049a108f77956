// Package anthropic refuses the messages requests that Anthropic refuses, with
// Anthropic's messages.
package anthropic

import (
	_ "embed"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

// form is the body of POST /v1/messages.
// Source: https://docs.claude.com/en/api/messages
//
//go:embed messages.json
var form []byte

// notCounted are the members that POST /v1/messages/count_tokens does not have.
// Source: https://docs.claude.com/en/api/messages-count-tokens
var notCounted = []string{
	"max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "stream", "metadata", "service_tier", "container",
	"inference_geo", "diagnostics", "fallbacks", "thread",
}

type request struct {
	simulated.Request
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	TopK        *int     `json:"top_k"`

	turns []turn
	model capabilities
}

// A turn is a message with its content read.
type turn struct {
	role   string
	blocks []block
}

type block simulated.Block

func readBlocks(content jsontext.Value) []block {
	var blocks []block
	for _, b := range simulated.ReadBlocks(content) {
		blocks = append(blocks, block(b))
	}
	return blocks
}

// Check returns the error answer to a request to a model that exists, or nil.
func Check(header http.Header, body jsontext.Value) *wire.Failure {
	return check(grammar.Read(form), header, body)
}

// CheckCount is Check for a request to count tokens.
func CheckCount(header http.Header, body jsontext.Value) *wire.Failure {
	count := grammar.Read(form)
	for _, member := range notCounted {
		delete(count["request"], member)
	}
	return check(count, header, body)
}

func check(form grammar.Grammar, header http.Header, body jsontext.Value) *wire.Failure {
	if violations := form.Violations(body); len(violations) > 0 {
		return wording(violations[0])
	}
	if f := checkBetas(header, body); f != nil {
		return f
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return simulated.Refusal("%v", err)
	}
	q.model = capabilitiesOf(q.Model)
	for _, m := range q.Messages {
		q.turns = append(q.turns, turn{m.Role, readBlocks(m.Content)})
	}
	rules := []func() *wire.Failure{
		q.checkMessages, q.checkToolTurns, q.checkTools, q.checkDeferred, q.checkChoice, q.checkSampling,
		q.checkThinking, q.checkThinkingTurns, q.checkOutput, q.checkStops, q.checkCaching,
	}
	for _, rule := range rules {
		if f := rule(); f != nil {
			return f
		}
	}
	return nil
}
