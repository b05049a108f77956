package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// choosing are names of members by which a server may choose a model, a destination or
// the cost. Some servers ignore the case.
var choosing = []string{
	"model", "models", "route", "provider", "providers", "plugin", "plugins", "base_url", "api_base", "api_key", "endpoint",
	"fallback", "fallbacks", "service_tier", "max_tokens", "speed",
}

// clients are members whose names are the client's own.
var clients = []string{"input", "input_schema", "schema", "metadata"}

// Foreign is the path of a member that is not Anthropic's, or that may choose what answers
// or what it costs; empty if there is none. A server that copies the API may read it.
func (r *Request) Foreign() string {
	if chooses := r.Chooses(); chooses != "" {
		return chooses
	}
	for literal, value := range jsonbytes.Members(r.common.Raw) {
		name := literal.String()
		m, known := table.Of(literal.Text())
		switch {
		case !known:
			return name
		case m == memberMetadata || m == memberServiceTier || m == memberMaxTokens || m == memberModel || m == memberSpeed:
			continue
		}
		if inside := chooses(name, value); inside != "" {
			return inside
		}
	}
	return ""
}

// chooses is the path of a member inside a value that may choose something.
func chooses(path string, value jsontext.Value) string {
	switch value.Kind() {
	case jsontext.KindBeginObject:
		for literal, inner := range jsonbytes.Members(value) {
			name := literal.String()
			if slices.Contains(choosing, strings.ToLower(name)) {
				return path + "." + name
			}
			if slices.Contains(clients, name) {
				continue
			}
			if found := chooses(path+"."+name, inner); found != "" {
				return found
			}
		}
	case jsontext.KindBeginArray:
		for inner := range jsonbytes.Elements(value) {
			if inner.Kind() != jsontext.KindBeginObject && inner.Kind() != jsontext.KindBeginArray {
				continue
			}
			if found := chooses(path+"[]", inner); found != "" {
				return found
			}
		}
	}
	return ""
}

// Chooses is the path of a member by which Anthropic lets another model than the one asked
// for answer, or write a part of the answer; empty if there is none.
func (r *Request) Chooses() string {
	for _, m := range []member{memberFallbacks, memberFallbackCreditToken} {
		if body.Asks(r.members[m]) {
			return table.Name(m)
		}
	}
	i := 0
	for tool := range jsonbytes.Elements(r.members[memberTools]) {
		if model := jsonbytes.Member(tool, "model"); llm.Given(model) {
			return fmt.Sprintf("tools[%d].model", i)
		}
		i++
	}
	return ""
}

// maxSearches is the most searches of the web that a request may ask for.
const maxSearches = 100

// hosted adds what the tools that run at Anthropic cost beside their tokens.
func (r *Request) hosted() {
	r.hostedTools("tools", r.members[memberTools])
}

func (r *Request) hostedTools(list string, tools jsontext.Value) {
	i := -1
	for tool := range jsonbytes.Elements(tools) {
		i++
		kind := jsonbytes.Member(tool, "type")
		if toolKindOf(kind) != toolHosted {
			continue
		}
		unpriced := ""
		switch name := jsonbytes.Text(kind); {
		case strings.HasPrefix(name, "web_search_"):
			most, ok := jsonbytes.Integer(jsonbytes.Member(tool, "max_uses"))
			if !ok || most < 1 || most > maxSearches {
				unpriced = "max_uses"
				break
			}
			r.common.Searches += most
		case name == toolset: // tokens only, and so are the tools of its server; others a copy of the API may run
			r.hostedTools(fmt.Sprintf("%s[%d].tools", list, i), jsonbytes.Member(tool, "tools"))
		case strings.HasPrefix(name, "web_fetch_"), strings.HasPrefix(name, "tool_search_"): // tokens only
		default:
			unpriced = "type"
		}
		if unpriced != "" && r.common.Unpriced == "" {
			r.common.Unpriced = fmt.Sprintf("%s[%d].%s", list, i, unpriced)
		}
	}
}

// toolset is the type of the tools of an MCP server.
const toolset = "mcp_toolset"
