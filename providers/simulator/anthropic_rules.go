package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readAnthropic reads and checks a request as the service would.
func readAnthropic(w http.ResponseWriter, r *http.Request) (*anthropicRequest, model, *failure) {
	raw, err := readObject(w, r)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, model{}, anthropicFailure(http.StatusRequestEntityTooLarge, "Request exceeds the maximum size")
	case err != nil:
		return nil, model{}, anthropicRefusal("The request body is not valid JSON: %v", err)
	}
	if flaws := anthropicGrammar.flaws(raw); len(flaws) > 0 {
		return nil, model{}, flaws[0].anthropic()
	}
	var q anthropicRequest
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, model{}, anthropicRefusal("%v", err)
	}
	m, known := find(anthropicCatalogue, q.Model, anthropicFamilies)
	if !known {
		return nil, m, anthropicFailure(http.StatusNotFound, "model: "+q.Model)
	}
	for i := range q.Messages {
		q.Messages[i].blocks = readBlocks(q.Messages[i].Content)
	}
	rules := []func() *failure{
		q.checkMessages, q.checkToolTurns, q.checkTools, q.checkChoice, q.checkSampling,
		q.checkThinking, q.checkThinkingTurns, q.checkOutput, q.checkStops, q.checkCaching,
	}
	for _, rule := range rules {
		if f := rule(); f != nil {
			return nil, m, f
		}
	}
	return &q, m, q.checkLengths(m)
}

func (q *anthropicRequest) checkLengths(m model) *failure {
	if q.MaxTokens > m.output {
		return anthropicRefusal("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", q.MaxTokens, m.output, q.Model)
	}
	if n := q.prompt().tokens; n > m.context {
		return anthropicRefusal("prompt is too long: %d tokens > %d maximum", n, m.context)
	}
	return nil
}

var anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func (q *anthropicRequest) checkTools() *failure {
	seen := map[string]bool{}
	for i, t := range q.Tools {
		if !anthropicName.MatchString(t.Name) {
			return anthropicRefusal("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if seen[t.Name] {
			return anthropicRefusal("tools: Tool names must be unique.")
		}
		seen[t.Name] = true
		kind := member(t.InputSchema, "type")
		if kind == nil {
			return anthropicRefusal("tools.%d.custom.input_schema.type: Field required", i)
		}
		if text(kind) != "object" {
			return anthropicRefusal("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		if t.Strict && !rulesOf(q.Model).structured {
			return anthropicRefusal("tools.%d.custom.strict: Extra inputs are not permitted", i)
		}
		if t.Strict {
			if f := checkEnforced(fmt.Sprintf("tools.%d.custom", i), t.InputSchema); f != nil {
				return f
			}
		}
	}
	return nil
}

func (q *anthropicRequest) checkChoice() *failure {
	c := q.ToolChoice
	if c == nil {
		return nil
	}
	if len(q.Tools) == 0 {
		return anthropicRefusal("tool_choice may only be specified while providing tools.")
	}
	if c.forces() && rulesOf(q.Model).unforced {
		return anthropicRefusal("tool_choice: this model does not support a forced tool choice.")
	}
	if c.Type != "tool" {
		return nil
	}
	for _, t := range q.Tools {
		if t.Name == c.Name {
			return nil
		}
	}
	return anthropicRefusal("Tool '%s' not found in provided tools", c.Name)
}

func (q *anthropicRequest) checkSampling() *failure {
	switch rulesOf(q.Model).sampling {
	case samplesNever:
		switch {
		case q.Temperature != nil && *q.Temperature != 1:
			return anthropicRefusal("`temperature` is not supported for this model.")
		case q.TopP != nil && *q.TopP != 1:
			return anthropicRefusal("`top_p` is not supported for this model.")
		case q.TopK != nil:
			return anthropicRefusal("`top_k` is not supported for this model.")
		}
	case samplesEither:
		if q.Temperature != nil && q.TopP != nil {
			return anthropicRefusal("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
		}
	}
	return nil
}

func (q *anthropicRequest) checkThinking() *failure {
	t, rules := q.Thinking, rulesOf(q.Model)
	if t == nil {
		return nil
	}
	low := q.effort() == "xhigh" || q.effort() == "max"
	switch {
	case rules.thinking == "" && t.Type == "disabled":
		return nil
	case rules.thinking == "":
		return anthropicRefusal("'%s' does not support thinking.", q.Model)
	case !strings.Contains(rules.thinking, t.Type):
		return anthropicRefusal("\"thinking.type.%s\" is not supported for this model.", t.Type)
	case t.Type == "disabled" && low && rules.family == "claude-opus-5":
		return anthropicRefusal("thinking may only be disabled when effort is high or lower.")
	case t.Type != "enabled":
		return nil
	case t.BudgetTokens >= q.MaxTokens:
		return anthropicRefusal("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
	case q.Temperature != nil && *q.Temperature != 1:
		return anthropicRefusal("`temperature` may only be set to 1 when thinking is enabled.")
	case q.TopK != nil:
		return anthropicRefusal("`top_k` must be unset when thinking is enabled.")
	case q.TopP != nil && *q.TopP < 0.95:
		return anthropicRefusal("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	case q.ToolChoice.forces():
		return anthropicRefusal("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (q *anthropicRequest) checkOutput() *failure {
	rules := rulesOf(q.Model)
	if e := q.effort(); e != "" {
		if rules.efforts == "" {
			return anthropicRefusal("This model does not support the effort parameter.")
		}
		if !strings.Contains(", "+rules.efforts+",", ", "+e+",") {
			return anthropicRefusal("This model does not support effort level '%s'. Supported levels: %s.", e, rules.efforts)
		}
	}
	format := q.format()
	if format == nil {
		return nil
	}
	if !rules.structured {
		return anthropicRefusal("'%s' does not support output format.", q.Model)
	}
	return checkEnforced("output_config.format.schema", format.Schema)
}

// checkEnforced wants a schema that Anthropic can enforce: closed objects, and
// no bounds on numbers, strings and lists.
func checkEnforced(at string, schema jsontext.Value) *failure {
	if openObject(schema) {
		return anthropicRefusal("%s: For 'object' type, 'additionalProperties' must be explicitly set to false", at)
	}
	if word := boundKeyword(schema); word != "" {
		return anthropicRefusal("%s: property '%s' is not supported", at, word)
	}
	return nil
}

// boundKeyword finds a keyword that is not enforced. minItems is, as 0 or 1.
func boundKeyword(raw jsontext.Value) string {
	s := readSchema(raw)
	if len(s) == 0 {
		return ""
	}
	for _, word := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems"} {
		if s[word] != nil {
			return word
		}
	}
	if n, ok := s.number("minItems"); ok && n > 1 {
		return "minItems"
	}
	inner := []jsontext.Value{s["items"]}
	for _, m := range append(members(s["properties"]), members(s["$defs"])...) {
		inner = append(inner, m.value)
	}
	inner = append(append(inner, elements(s["anyOf"])...), elements(s["allOf"])...)
	for _, raw := range inner {
		if word := boundKeyword(raw); word != "" {
			return word
		}
	}
	return ""
}

func (q *anthropicRequest) checkStops() *failure {
	for _, s := range q.StopSequences {
		if strings.TrimSpace(s) == "" {
			return anthropicRefusal("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	return nil
}

func (q *anthropicRequest) checkCaching() *failure {
	marks := 0
	for _, p := range q.prompt().prefixes {
		if p.marked {
			marks++
		}
	}
	if marks > 4 {
		return anthropicRefusal("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return nil
}
