package anthropic

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
)

// chooseTools translates tools, the choice among them and response_format,
// which on older models is one more tool.
func (t *translation) chooseTools() error {
	if err := t.listTools(); err != nil {
		return err
	}
	choice, param := t.req.ToolChoice, "tool_choice"
	if t.legacy {
		choice, param = t.req.FunctionCall, "function_call"
	}
	if err := t.choose(choice, param); err != nil {
		return err
	}
	if err := t.shapeAnswer(); err != nil {
		return err
	}
	if t.out.ToolChoice.forces() && !t.traits.ForcedTools {
		t.lose(t.forcing(param))
		t.out.ToolChoice.Type, t.out.ToolChoice.Name = "auto", ""
	}
	t.nameHistory()
	return nil
}

// forcing is the field that made the choice a forced one.
func (t *translation) forcing(param string) string {
	if t.answerTool != "" {
		return "response_format"
	}
	return param
}

func (t *translation) listTools() error {
	functions := t.req.Functions
	if len(t.req.Tools) > 0 {
		t.loseIf(len(functions) > 0, "functions")
		t.loseIf(t.req.FunctionCall != nil, "function_call")
		functions = nil
	}
	t.legacy = len(functions) > 0
	t.loseIf(t.legacy && t.req.ToolChoice != nil, "tool_choice")
	for i := range functions {
		t.addTool(&functions[i], nil, "functions[].strict")
	}
	for i := range t.req.Tools {
		c := &t.req.Tools[i]
		if c.Function == nil {
			return unsupported(fmt.Sprintf("tools[%d].type", i), "the model %s takes no tools of type %q", t.model.ID, c.Type)
		}
		t.addTool(c.Function, c.CacheControl, "tools[].function.strict")
	}
	return nil
}

// addTool adds a function. Strict is honoured where Anthropic can enforce the
// schema as it is: it is not changed for that.
func (t *translation) addTool(f *api.Function, cacheControl jsontext.Value, strict string) {
	made := tool{name: f.Name, description: f.Description, schema: objectSchema(f.Parameters)}
	if f.Strict != nil && *f.Strict {
		_, changed := enforceable(made.schema)
		made.strict = t.traits.Structured && changed == unchanged
		t.loseIf(!made.strict, strict)
	}
	if api.Given(cacheControl) {
		made.cacheControl = cacheControl
	}
	t.tools = append(t.tools, made)
}

// choose translates tool_choice. Anthropic takes it together with tools only.
func (t *translation) choose(choice *api.ToolChoice, param string) error {
	if choice == nil {
		choice = &api.ToolChoice{Mode: "auto"}
	}
	if choice.Mode == "custom" {
		return unsupported(param, "the model %s takes no custom tools", t.model.ID)
	}
	if len(t.tools) == 0 {
		if choice.Mode != "auto" && choice.Mode != "none" {
			return api.Invalid(api.CodeInvalidValue, param, "%s asks for a tool, but the request has none", param)
		}
		return nil
	}
	c := toolChoice{OnlyOne: t.legacy || t.req.ParallelToolCalls != nil && !*t.req.ParallelToolCalls}
	switch choice.Mode {
	case "none":
		c = toolChoice{Type: "none"}
	case "required":
		c.Type = "any"
	case "named":
		c.Type, c.Name = "tool", choice.Name
	case "allowed":
		c.Type = "auto"
		if choice.Require {
			c.Type = "any"
		}
		allowed := make(map[string]bool, len(choice.Allowed))
		for _, name := range choice.Allowed {
			allowed[name] = true
		}
		t.tools = slices.DeleteFunc(t.tools, func(have tool) bool { return !allowed[have.name] })
		if len(t.tools) == 0 {
			return unsupported(param, "%s allows no tool that the model %s can call", param, t.model.ID)
		}
	default:
		c.Type = "auto"
	}
	t.out.ToolChoice = &c
	return nil
}

// jsonHint stands in for JSON mode, which Anthropic does not have.
const jsonHint = "Answer with one valid JSON object and nothing else: no explanation, no code fence."

// shapeAnswer translates response_format.
func (t *translation) shapeAnswer() error {
	format := t.req.ResponseFormat
	switch {
	case format == nil || format.Type == "text":
		return nil
	case format.Type == "json_object" || !api.Given(format.JSONSchema.Schema):
		t.hint = jsonHint
		t.lose("response_format")
		return nil
	case t.traits.Structured:
		schema, changed := enforceable(format.JSONSchema.Schema)
		t.loseIf(changed == lossy, "response_format")
		t.format = schema
		return nil
	}
	return t.answerByTool(format.JSONSchema)
}

// answerByTool makes the answer's schema the input of one more tool that the
// model has to call, for models that cannot be held to a schema otherwise. With
// tools of the client's own it must call one of them or this one, which is what
// they and the format together mean. Where the client forces a tool there is no
// answer to shape in this turn; where it forbids them, only this one is left.
func (t *translation) answerByTool(format *api.JSONSchema) error {
	if t.out.ToolChoice.forces() {
		return nil
	}
	if kind := typeOf(format.Schema); kind != "" && kind != `"object"` {
		return unsupported("response_format.json_schema.schema", "the model %s answers with JSON objects only", t.model.ID)
	}
	names := newDistinct()
	for _, have := range t.tools {
		names.taken[have.name] = true
	}
	name := names.name(format.Name)
	description := "Gives the answer to the user. "
	if format.Description != "" {
		description += format.Description
	} else {
		description += "Call it with the whole answer as its input."
	}
	choice := &toolChoice{Type: "tool", Name: name, OnlyOne: true}
	if c := t.out.ToolChoice; c != nil && c.Type == "auto" {
		choice = &toolChoice{Type: "any", OnlyOne: c.OnlyOne}
	}
	t.answerTool, t.out.ToolChoice = name, choice
	t.tools = append(t.tools, tool{name: name, description: description, schema: objectSchema(format.Schema)})
	return nil
}

// nameHistory gives the tools that the conversation has used the least of a
// definition where the request has no tools: Anthropic takes no tool calls
// without.
func (t *translation) nameHistory() {
	if len(t.tools) > 0 {
		return
	}
	known := map[string]bool{}
	for _, turn := range t.talk.Turns {
		for _, b := range turn.Blocks {
			if b.Call == nil {
				continue
			}
			if name := toolName(b.Call.Name); !known[name] {
				known[name] = true
				t.tools = append(t.tools, tool{name: name, schema: objectSchema(nil)})
			}
		}
	}
	if len(t.tools) > 0 {
		t.out.ToolChoice = &toolChoice{Type: "none"}
	}
}
