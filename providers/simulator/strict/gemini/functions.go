package gemini

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	simulated "modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

var namePattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

func (q *request) checkFunctions() *wire.Failure {
	declaring := 0
	for _, t := range q.Tools {
		if len(t.FunctionDeclarations) > 0 {
			declaring++
		}
	}
	if declaring > 1 {
		return simulated.Refusal("Multiple tools are supported only when they are all search tools.")
	}
	seen := map[string]bool{}
	for i, f := range q.Functions() {
		at := fmt.Sprintf("tools[0].function_declarations[%d]", i)
		if !namePattern.MatchString(f.Name) {
			return simulated.Refusal("* GenerateContentRequest.%s.name: Invalid function name. Must start with a letter or an underscore. "+
				"Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n", at)
		}
		if seen[f.Name] {
			return simulated.Refusal("Duplicate function declaration found: %s", f.Name)
		}
		seen[f.Name] = true
		if llm.Given(f.Parameters) && llm.Given(f.JSONSchema) {
			return simulated.Refusal("* GenerateContentRequest.%s: only one of parameters and parameters_json_schema may be set\n", at)
		}
		if f := q.checkSchema("GenerateContentRequest."+at+".parameters", f.Parameters); f != nil {
			return f
		}
	}
	return nil
}

// checkSchema checks what the grammar cannot say of an OpenAPI schema.
func (q *request) checkSchema(at string, raw jsontext.Value) *wire.Failure {
	s := reply.ReadSchema(raw)
	name := s.TypeName()
	if s["enum"] != nil && name != "string" {
		return simulated.Refusal("* %s.enum: only allowed for STRING type\n", at)
	}
	if slices.Contains(rawjson.Strings(s["enum"]), "") {
		return simulated.Refusal("* %s.enum: cannot be empty\n", at)
	}
	properties := rawjson.Members(s["properties"])
	if raw != nil && name == "object" && len(properties) == 0 && q.generation < 2.5 {
		return simulated.Refusal("* %s.properties: should be non-empty for OBJECT type\n", at)
	}
	for _, m := range properties {
		if f := q.checkSchema(at+".properties["+m.Name+"]", m.Value); f != nil {
			return f
		}
	}
	for i, option := range rawjson.Elements(s["anyOf"]) {
		if f := q.checkSchema(fmt.Sprintf("%s.any_of[%d]", at, i), option); f != nil {
			return f
		}
	}
	if s["items"] != nil {
		return q.checkSchema(at+".items", s["items"])
	}
	return nil
}

func (q *request) checkCalling() *wire.Failure {
	calling := q.ToolConfig.Calling
	forced := calling.Mode == "ANY" || calling.Mode == "VALIDATED"
	declared := q.Functions()
	if forced && len(declared) == 0 {
		return simulated.Refusal("Function calling config is set without function_declarations.")
	}
	if len(calling.Allowed) > 0 && !forced {
		return simulated.Refusal("Function calling config: allowed_function_names may only be set when mode is ANY or VALIDATED.")
	}
	for _, name := range calling.Allowed {
		if !slices.ContainsFunc(declared, func(f simulated.Function) bool { return f.Name == name }) {
			return simulated.Refusal("Function calling config: allowed_function_names contains %s, "+
				"which is not among the function_declarations.", name)
		}
	}
	return nil
}
