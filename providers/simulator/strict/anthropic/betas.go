package anthropic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/wire"
)

// betas are members that are taken only with a beta, whose name begins so.
// Source: https://docs.claude.com/en/api/beta-headers
var betas = []struct{ member, beta string }{
	{"context_management", "context-management-"},
	{"mcp_servers", "mcp-client-"},
}

// checkBetas refuses a member whose beta is not in the header, in the words for a member
// that does not exist.
func checkBetas(header http.Header, body jsontext.Value) *wire.Failure {
	named := strings.Split(strings.Join(header.Values("Anthropic-Beta"), ","), ",")
	for _, b := range betas {
		if llm.Given(jsonbytes.Member(body, b.member)) && !contains(named, b.beta) {
			return simulated.Refusal("%s: Extra inputs are not permitted", b.member)
		}
	}
	return nil
}

func contains(named []string, beginning string) bool {
	return slices.ContainsFunc(named, func(beta string) bool { return strings.HasPrefix(strings.TrimSpace(beta), beginning) })
}
