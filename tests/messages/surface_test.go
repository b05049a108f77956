package messages

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

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

// problem is an error in the form of Anthropic's API.
type problem struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

// problemOf reads the error of an answer, which must have no other members, and whose
// request_id must be that of the header.
func problemOf(t testing.TB, a gatewaytest.Answer) (p problem) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(a.Body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil || p.Type != "error" || p.Error.Message == "" {
		t.Errorf("%d %s: %v", a.Status, a.Body, err)
	}
	if p.RequestID == "" || p.RequestID != a.Header.Get("Request-Id") {
		t.Errorf("the header request-id is %q: %s", a.Header.Get("Request-Id"), a.Body)
	}
	return p
}

// upstreams are the scripted upstreams of a gateway that has all three providers.
type upstreams struct{ openai, anthropic, gemini *providertest.Upstream }

// start starts a gateway with all three providers.
func start(t testing.TB, settings ...string) (*gatewaytest.Program, upstreams) {
	t.Helper()
	u := upstreams{providertest.Serve(t), providertest.Serve(t), providertest.Serve(t)}
	return gatewaytest.Start(t, append([]string{
		"OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL=" + u.openai.URL, "ANTHROPIC_API_KEY=sk-a", "ANTHROPIC_BASE_URL=" + u.anthropic.URL,
		"GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL=" + u.gemini.URL, "MAX_RETRIES=0",
	}, settings...)...), u
}

// refusal is an error of Anthropic's, under its id of the request.
func refusal(status int, kind, message string, headers ...string) providertest.Script {
	s := gatewaytest.JSON(status, `{"type":"error","error":{"type":"`+kind+`","message":"`+message+`"},"request_id":"req_upstream"}`)
	s.Header.Set("Request-Id", "req_upstream")
	for i := 0; i+1 < len(headers); i += 2 {
		s.Header.Set(headers[i], headers[i+1])
	}
	return s
}

// openAIRefusal is an error of OpenAI's.
func openAIRefusal(status int, message string, headers ...string) providertest.Script {
	s := gatewaytest.JSON(status, `{"error":{"message":"`+message+`","type":"server_error","param":null,"code":null}}`)
	for i := 0; i+1 < len(headers); i += 2 {
		s.Header.Set(headers[i], headers[i+1])
	}
	return s
}
