package messages

import (
	"strings"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

const (
	path      = "/v1/messages"
	countPath = "/v1/messages/count_tokens"
	haiku     = "claude-haiku-4-5-20251001"
	hello     = `"max_tokens":50,"messages":[{"role":"user","content":"What is the capital of France?"}]`
)

const (
	gpt4   = "gpt-4.1"
	gpt5   = "gpt-5.1" // reasons when it is asked to; by the Responses API
	flash2 = "gemini-2.5-flash"
	flash3 = "gemini-3.5-flash"
)

// hi are the members of the smallest request.
const hi = `"max_tokens":100,"messages":[{"role":"user","content":"hi"}]`

// tools are a tool that scripts call.
const tools = `,"tools":[{"name":"look","description":"d","input_schema":{"type":"object","properties":{"z":{"type":"string"}}}}]`

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func text(s string) string { return `{"type":"text","text":"` + s + `"}` }

func result(id, members string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `"` + members + `}`
}

// body is a request for a model, with further members that begin with a comma.
func body(model, members string) string { return `{"model":"` + model + `",` + hello + members + `}` }

// refusal is an error of Anthropic's, under its id of the request.
func refusal(status int, kind, message string, headers ...string) providertest.Script {
	s := gatewaytest.JSON(status, `{"type":"error","error":{"type":"`+kind+`","message":"`+message+`"},"request_id":"req_upstream"}`)
	s.Header.Set("Request-Id", "req_upstream")
	for i := 0; i+1 < len(headers); i += 2 {
		s.Header.Set(headers[i], headers[i+1])
	}
	return s
}
