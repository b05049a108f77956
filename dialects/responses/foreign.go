package responses

import (
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
	"fallback", "fallbacks", "service_tier", "max_tokens", "max_output_tokens", "speed",
}

// clients are members whose names are the client's own.
var clients = []string{"parameters", "output_schema", "schema", "arguments", "env", "metadata", "variables"}

// own are members of the request that are read, or whose names are the client's own.
var own = map[member]bool{
	memberModel: true, memberServiceTier: true, memberMaxOutputTokens: true, memberMetadata: true, memberClientMetadata: true,
}

// Foreign is the path of a member that is not OpenAI's, or that may choose what answers or
// what it costs; empty if there is none. A server that copies the API may read it.
func (r *Request) Foreign() string {
	for literal, value := range jsonbytes.Members(r.common.Raw) {
		name := literal.String()
		m, known := table.Of(literal.Text())
		if !known {
			return name
		}
		if own[m] {
			continue
		}
		if inside := chooses(name, value, choosing); inside != "" {
			return inside
		}
	}
	return r.Chooses()
}

// chooses is the path of a member inside a value whose name is among names.
func chooses(path string, value jsontext.Value, names []string) string {
	switch value.Kind() {
	case jsontext.KindBeginObject:
		for literal, inner := range jsonbytes.Members(value) {
			name := literal.String()
			if slices.Contains(names, strings.ToLower(name)) && llm.Given(inner) {
				return path + "." + name
			}
			if slices.Contains(clients, name) {
				continue
			}
			if found := chooses(path+"."+name, inner, names); found != "" {
				return found
			}
		}
	case jsontext.KindBeginArray:
		for inner := range jsonbytes.Elements(value) {
			if inner.Kind() != jsontext.KindBeginObject && inner.Kind() != jsontext.KindBeginArray {
				continue
			}
			if found := chooses(path+"[]", inner, names); found != "" {
				return found
			}
		}
	}
	return ""
}

// naming are the members by which OpenAI lets another model than the one asked for answer,
// or do a part of the work.
var naming = []string{"model", "models"}

// Chooses is the path of a member by which OpenAI lets another model than the one asked for
// answer, or do a part of the work; empty if there is none.
func (r *Request) Chooses() string {
	if body.Asks(r.members[memberPrompt]) { // it holds a model of its own
		return "prompt"
	}
	for _, m := range []member{memberModeration, memberContextManagement, memberReasoning, memberText, memberTools, memberAccessPrograms} {
		if found := chooses(table.Name(m), r.members[m], naming); found != "" {
			return found
		}
	}
	for item := range jsonbytes.Elements(r.members[memberInput]) {
		if found := chooses("input[].tools", jsonbytes.Member(item, "tools"), naming); found != "" {
			return found
		}
	}
	return ""
}

// A client that does not bound the searches of the web is taken to allow this many; one that
// does may have any number of them that can be multiplied by a price.
const (
	usualSearches = 100
	mostSearches  = 1_000_000
)

// hosted adds what the tools that run at OpenAI cost beside their tokens.
func (r *Request) hosted() {
	if body.Asks(r.members[memberPrompt]) { // it may hold tools
		r.common.Unpriced = "prompt"
		return
	}
	r.hostedTools(-1, r.members[memberTools])
	i := 0
	for item := range jsonbytes.Elements(r.members[memberInput]) {
		r.hostedTools(i, jsonbytes.Member(item, "tools"))
		i++
	}
}

// free are the types of tools that run at OpenAI and cost their tokens only.
var free = []string{"tool_search", "mcp", "programmatic_tool_calling", "computer", "computer_use", "computer_use_preview"}

func (r *Request) hostedTools(item int, tools jsontext.Value) {
	i := 0
	for tool := range jsonbytes.Elements(tools) {
		r.hostedTool(toolAt{item, i, -1}, tool)
		i++
	}
}

// hostedTool adds what a tool costs, and those of a namespace. OpenAI itself has only functions
// there, and no namespace inside of another: what a server does with those nothing bounds.
func (r *Request) hostedTool(at toolAt, tool jsontext.Value) {
	kind := jsonbytes.Text(jsonbytes.Member(tool, "type"))
	switch toolKindOf(kind) {
	case hostedTool, shellTool:
	case namespaceTool:
		if at.inner >= 0 {
			break
		}
		for inner := range jsonbytes.Elements(jsonbytes.Member(tool, "tools")) {
			at.inner++
			r.hostedTool(at, inner)
		}
		return
	default:
		return
	}
	switch environment := jsonbytes.Text(jsonbytes.Member(jsonbytes.Member(tool, "environment"), "type")); {
	case searches(kind):
		if r.common.Searches = usualSearches; r.maxCalls() > 0 {
			r.common.Searches = min(mostSearches, r.maxCalls())
		}
	case slices.Contains(free, kind):
	case toolKindOf(kind) == shellTool && (environment == "" || environment == "local" || environment == "none"):
	case r.common.Unpriced == "":
		r.common.Unpriced = at.path() + ".type"
	}
}

// maxCalls is how often the tools that run at OpenAI may be used; 0 = not said.
func (r *Request) maxCalls() int64 {
	n, _ := jsonbytes.Integer(r.members[memberMaxToolCalls])
	return max(n, 0)
}
