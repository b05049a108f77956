package anthropic

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func (q *request) checkTools() *wire.Failure {
	seen := map[string]bool{}
	for i, t := range q.Tools {
		if !namePattern.MatchString(t.Name) {
			return simulated.Refusal("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if seen[t.Name] {
			return simulated.Refusal("tools: Tool names must be unique.")
		}
		seen[t.Name] = true
		if !t.Custom() {
			continue
		}
		schemaType := jsonbytes.Member(t.InputSchema, "type")
		if schemaType == nil {
			return simulated.Refusal("tools.%d.custom.input_schema.type: Field required", i)
		}
		if jsonbytes.Text(schemaType) != "object" {
			return simulated.Refusal("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		if t.Strict && !q.model.structured {
			return simulated.Refusal("tools.%d.custom.strict: Extra inputs are not permitted", i)
		}
		if t.Strict {
			if f := checkEnforced(fmt.Sprintf("tools.%d.custom", i), t.InputSchema); f != nil {
				return f
			}
		}
	}
	return nil
}

// checkDeferred requires a tool that the model sees at once, and a definition of every tool
// that a result refers to.
// Source: https://docs.claude.com/en/docs/agents-and-tools/tool-use/tool-search-tool
func (q *request) checkDeferred() *wire.Failure {
	seen := func(t simulated.Tool) bool { return !t.DeferLoading }
	if len(q.Tools) > 0 && !slices.ContainsFunc(q.Tools, seen) {
		return simulated.Refusal("All tools have defer_loading set. At least one tool must be non-deferred.")
	}
	for _, name := range q.References() {
		if !slices.ContainsFunc(q.Tools, func(t simulated.Tool) bool { return t.Name == name }) {
			return simulated.Refusal("Tool reference '%s' has no corresponding tool definition", name)
		}
	}
	return nil
}

func (q *request) forcesTools() bool {
	return q.ToolChoice != nil && (q.ToolChoice.Type == "any" || q.ToolChoice.Type == "tool")
}

func (q *request) checkChoice() *wire.Failure {
	c := q.ToolChoice
	if c == nil {
		return nil
	}
	if len(q.Tools) == 0 {
		return simulated.Refusal("tool_choice may only be specified while providing tools.")
	}
	if q.forcesTools() && q.model.unforced {
		return simulated.Refusal("tool_choice: this model does not support a forced tool choice.")
	}
	if c.Type != "tool" {
		return nil
	}
	for _, t := range q.Tools {
		if t.Name == c.Name {
			return nil
		}
	}
	return simulated.Refusal("Tool '%s' not found in provided tools", c.Name)
}

// checkEnforced requires a schema that Anthropic can enforce: closed objects, and
// no bounds on numbers, strings and lists.
func checkEnforced(at string, schema jsontext.Value) *wire.Failure {
	if grammar.OpenObject(schema) {
		return simulated.Refusal("%s: For 'object' type, 'additionalProperties' must be explicitly set to false", at)
	}
	if word := boundKeyword(schema); word != "" {
		return simulated.Refusal("%s: property '%s' is not supported", at, word)
	}
	return nil
}

var boundKeywords = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
}

// boundKeyword finds a keyword that is not enforced. minItems is, as 0 or 1.
func boundKeyword(raw jsontext.Value) string {
	s := reply.ReadSchema(raw)
	if len(s) == 0 {
		return ""
	}
	for _, word := range boundKeywords {
		if s[word] != nil {
			return word
		}
	}
	if n, ok := s.Number("minItems"); ok && n > 1 {
		return "minItems"
	}
	inner := []jsontext.Value{s["items"]}
	for _, m := range append(rawjson.Members(s["properties"]), rawjson.Members(s["$defs"])...) {
		inner = append(inner, m.Value)
	}
	inner = append(append(inner, rawjson.Elements(s["anyOf"])...), rawjson.Elements(s["allOf"])...)
	for _, raw := range inner {
		if word := boundKeyword(raw); word != "" {
			return word
		}
	}
	return ""
}
