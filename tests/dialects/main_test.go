// Package dialects tests what holds for clients of the Messages API and of the Responses API alike.
package dialects

import (
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m, gatewaytest.Waiting) }

const (
	haiku = "claude-haiku-4-5-20251001"
	flash = "gemini-2.5-flash"
)

// dialect is a client API.
type dialect struct {
	name, path, count string
	native            string // the provider that speaks it
	prompt            string // a short one, as members of a request
	limit             string // of a short answer, as a member of a request
}

func dialects() []dialect {
	return []dialect{
		{"messages", "/v1/messages", "/v1/messages/count_tokens", "anthropic",
			`"messages":[{"role":"user","content":"What is the capital of France?"}]`, `,"max_tokens":50`},
		{"responses", "/v1/responses", "/v1/responses/input_tokens", "openai",
			`"input":"What is the capital of France?","store":false`, `,"max_output_tokens":50`},
	}
}

// asked is a request for the size of a short prompt.
func (d dialect) asked(model string) string { return `{"model":"` + model + `",` + d.prompt + `}` }

// body is a request for a model, with further members that begin with a comma.
func (d dialect) body(model, members string) string {
	return `{"model":"` + model + `",` + d.prompt + d.limit + members + `}`
}

// each runs a test for every dialect in parallel.
func each(t *testing.T, test func(t *testing.T, d dialect)) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// failing is an error in the form of each dialect.
type failing struct {
	name                string
	messages, responses told
	says, retry, after  string
}

// told are the status, the type and the code of an error.
type told struct {
	status     int
	kind, code string
}

// check sends a request, and checks the error that answers it.
func (d dialect) check(t *testing.T, p *gatewaytest.Program, path, body string, headers []string, want failing) {
	t.Helper()
	as := want.messages
	if d.name == "responses" {
		as = want.responses
	}
	gatewaytest.Failing{
		Name: want.name, Path: path, Body: body, Headers: headers, Status: as.status, Kind: as.kind, Code: as.code, Says: want.says,
		Retry: want.retry, After: want.after,
	}.Check(t, p)
}
