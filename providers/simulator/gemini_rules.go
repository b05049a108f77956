package simulator

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readGemini reads and checks a request as the service would.
func readGemini(w http.ResponseWriter, r *http.Request, id, method string) (*geminiRequest, model, *failure) {
	m, known := find(geminiCatalogue, id, geminiFamilies)
	if !known || m.embeds {
		return nil, m, geminiNoModel(id, method)
	}
	raw, err := readObject(w, r)
	if err != nil {
		return nil, m, geminiRefusal("Invalid JSON payload received. %v", err)
	}
	if flaws := geminiGrammar.flaws(raw); len(flaws) > 0 {
		return nil, m, geminiFlaws(flaws)
	}
	q := geminiRequest{model: id}
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, m, geminiRefusal("Invalid JSON payload received. %v", err)
	}
	if q.CachedContent != "" {
		return nil, m, geminiFailure(http.StatusForbidden, "CachedContent not found (or permission denied)")
	}
	rules := []func() *failure{
		q.checkContents, q.checkCallTurns, q.checkSignatures, q.checkFunctions, q.checkCalling, q.checkConfig, q.checkThinking,
	}
	for _, rule := range rules {
		if f := rule(); f != nil {
			return nil, m, f
		}
	}
	if n := q.prompt().tokens; n > m.context {
		return nil, m, geminiRefusal("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", n, m.context)
	}
	return &q, m, nil
}

func (q *geminiRequest) checkContents() *failure {
	if len(q.Contents) == 0 {
		return geminiRefusal("* GenerateContentRequest.contents: contents is not specified\n")
	}
	if q.Contents[0].Role == "model" {
		return geminiRefusal("Please ensure that multiturn requests begin with a user turn or a function response turn.")
	}
	for i, c := range q.Contents {
		if !slices.Contains([]string{"", "user", "model", "function"}, c.Role) {
			return geminiRefusal("Please use a valid role: user, model.")
		}
		if len(c.Parts) == 0 || c.Role != "model" && !slices.ContainsFunc(c.Parts, geminiPart.says) {
			return geminiRefusal("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		for n, part := range c.Parts {
			if f := part.check(fmt.Sprintf("contents[%d].parts[%d]", i, n)); f != nil {
				return f
			}
		}
	}
	system := q.SystemInstruction
	if system == nil {
		return nil
	}
	if len(system.Parts) == 0 {
		return geminiRefusal("* GenerateContentRequest.system_instruction.parts: parts must not be empty.\n")
	}
	if strings.HasPrefix(q.model, "gemma-") && !strings.HasPrefix(q.model, "gemma-4") {
		return geminiRefusal("Developer instruction is not enabled for models/%s", q.model)
	}
	return nil
}

func (part geminiPart) says() bool { return part.Text == nil || *part.Text != "" }

func (part geminiPart) check(at string) *failure {
	kinds := 0
	for _, set := range []bool{part.Text != nil, part.InlineData != nil, part.FileData != nil, part.FunctionCall != nil, part.FunctionResponse != nil} {
		if set {
			kinds++
		}
	}
	for _, name := range []string{"executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
		if part.Others[name] != nil {
			kinds++
		}
	}
	switch {
	case kinds == 0:
		return geminiRefusal("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field\n", at)
	case kinds > 1:
		return geminiRefusal("Invalid value at '%s' (oneof), oneof field 'data' is already set.", at)
	case part.InlineData != nil && !isBase64(part.InlineData.Data):
		return geminiRefusal("Invalid value at '%s.inline_data.data' (TYPE_BYTES), Base64 decoding failed", at)
	case part.FunctionCall != nil && part.FunctionCall.Name == "":
		return geminiRefusal("* GenerateContentRequest.%s.function_call.name: Name cannot be empty.\n", at)
	case part.FunctionResponse != nil && part.FunctionResponse.Name == "":
		return geminiRefusal("* GenerateContentRequest.%s.function_response.name: Name cannot be empty.\n", at)
	}
	return nil
}

// checkCallTurns wants each call answered in the very next turn, in its order.
func (q *geminiRequest) checkCallTurns() *failure {
	var open []string
	for i, c := range q.Contents {
		answered := c.responses()
		switch {
		case len(open) == 0 && len(answered) > 0:
			return geminiRefusal("Please ensure that function response turn comes immediately after a function call turn.")
		case len(open) != len(answered):
			return geminiUnanswered()
		case !slices.Equal(open, answered):
			return geminiRefusal("Please ensure that the function responses are in the order of the function calls: %s was called, %s answered.", strings.Join(open, ", "), strings.Join(answered, ", "))
		}
		open = c.calls()
		if len(open) > 0 && (i == 0 || c.Role != "model" || q.Contents[i-1].Role == "model") {
			return geminiRefusal("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
	}
	if len(open) > 0 {
		return geminiUnanswered()
	}
	return nil
}

func geminiUnanswered() *failure {
	return geminiRefusal("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
}

// isBase64 takes what proto3 JSON takes: both alphabets, padded or not.
func isBase64(s string) bool {
	_, err := decodeBase64(s)
	return err == nil
}

func (c geminiContent) calls() []string {
	var names []string
	for _, part := range c.Parts {
		if part.FunctionCall != nil {
			names = append(names, part.FunctionCall.Name)
		}
	}
	return names
}

func (c geminiContent) responses() []string {
	var names []string
	for _, part := range c.Parts {
		if part.FunctionResponse != nil {
			names = append(names, part.FunctionResponse.Name)
		}
	}
	return names
}

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

func (q *geminiRequest) checkFunctions() *failure {
	declaring := 0
	for _, t := range q.Tools {
		if len(t.FunctionDeclarations) > 0 {
			declaring++
		}
	}
	if declaring > 1 {
		return geminiRefusal("Multiple tools are supported only when they are all search tools.")
	}
	seen := map[string]bool{}
	for i, f := range q.functions() {
		at := fmt.Sprintf("tools[0].function_declarations[%d]", i)
		if !geminiName.MatchString(f.Name) {
			return geminiRefusal("* GenerateContentRequest.%s.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n", at)
		}
		if seen[f.Name] {
			return geminiRefusal("Duplicate function declaration found: %s", f.Name)
		}
		seen[f.Name] = true
		if given(f.Parameters) && given(f.JSONSchema) {
			return geminiRefusal("* GenerateContentRequest.%s: only one of parameters and parameters_json_schema may be set\n", at)
		}
		if f := q.checkSchema("GenerateContentRequest."+at+".parameters", f.Parameters); f != nil {
			return f
		}
	}
	return nil
}

// checkSchema checks what the grammar cannot say of an OpenAPI schema.
func (q *geminiRequest) checkSchema(at string, raw jsontext.Value) *failure {
	s := readSchema(raw)
	kind := s.typeName()
	if s["enum"] != nil && kind != "string" {
		return geminiRefusal("* %s.enum: only allowed for STRING type\n", at)
	}
	if slices.Contains(stringOrList(s["enum"]), "") {
		return geminiRefusal("* %s.enum: cannot be empty\n", at)
	}
	properties := members(s["properties"])
	if raw != nil && kind == "object" && len(properties) == 0 && geminiGeneration(q.model) < 2.5 {
		return geminiRefusal("* %s.properties: should be non-empty for OBJECT type\n", at)
	}
	for _, m := range properties {
		if f := q.checkSchema(at+".properties["+m.name+"]", m.value); f != nil {
			return f
		}
	}
	for i, option := range elements(s["anyOf"]) {
		if f := q.checkSchema(fmt.Sprintf("%s.any_of[%d]", at, i), option); f != nil {
			return f
		}
	}
	if s["items"] != nil {
		return q.checkSchema(at+".items", s["items"])
	}
	return nil
}

func (q *geminiRequest) checkCalling() *failure {
	calling := q.ToolConfig.Calling
	forced := calling.Mode == "ANY" || calling.Mode == "VALIDATED"
	declared := q.functions()
	if forced && len(declared) == 0 {
		return geminiRefusal("Function calling config is set without function_declarations.")
	}
	if len(calling.Allowed) > 0 && !forced {
		return geminiRefusal("Function calling config: allowed_function_names may only be set when mode is ANY or VALIDATED.")
	}
	for _, name := range calling.Allowed {
		if !slices.ContainsFunc(declared, func(f geminiFunction) bool { return f.Name == name }) {
			return geminiRefusal("Function calling config: allowed_function_names contains %s, which is not among the function_declarations.", name)
		}
	}
	return nil
}
