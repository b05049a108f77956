package openai

import (
	"fmt"
	"regexp"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	simulated "modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkName(at, name string) *wire.Failure {
	if namePattern.MatchString(name) {
		return nil
	}
	return refuse(at, "invalid_value", "Invalid '%s': string does not match pattern. "+
		"Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
}

func (q *request) checkTools() *wire.Failure {
	if len(q.Tools) > 128 {
		return refuse("tools", "array_above_max_length", "Invalid 'tools': array too long. "+
			"Expected an array with maximum length 128, but got an array with length %d instead.", len(q.Tools))
	}
	for i, t := range q.Tools {
		at := fmt.Sprintf("tools[%d].%s", i, t.Type)
		if f := checkName(at+".name", t.Name()); f != nil {
			return f
		}
		if f := checkParameters(at+".parameters", t); f != nil {
			return f
		}
	}
	return nil
}

func checkParameters(at string, t simulated.Tool) *wire.Failure {
	const code = "invalid_function_parameters"
	parameters := t.Function.Parameters
	schema := reply.ReadSchema(parameters)
	if parameters != nil && len(schema) > 0 && schema.TypeName() != "object" {
		return refuse(at, code, "Invalid schema for function '%s': "+
			"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'.", t.Name(), schema.TypeName())
	}
	if t.Function.Strict && grammar.OpenObject(parameters) {
		return refuse(at, code, "Invalid schema for function '%s': "+
			"In context=(), 'additionalProperties' is required to be supplied and to be false.", t.Name())
	}
	return nil
}

func (q *request) checkChoice() *wire.Failure {
	if len(q.Tools) == 0 {
		name := ""
		if llm.Given(q.ToolChoice) && jsonbytes.Text(q.ToolChoice) != "none" {
			name = "tool_choice"
		}
		if q.ParallelToolCalls != nil {
			name = "parallel_tool_calls"
		}
		if name != "" {
			return refuse(name, "", "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", name, name)
		}
	}
	offered := map[string]bool{}
	for _, t := range q.Tools {
		offered[t.Name()] = true
	}
	for _, f := range q.Functions {
		offered[f.Name] = true
	}
	for _, name := range q.Choice().Names {
		if !offered[name] {
			return refuse("tool_choice", "", "Invalid value for 'tool_choice': tool '%s' is not one of the 'tools'.", name)
		}
	}
	return nil
}
