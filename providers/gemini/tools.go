package gemini

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// The modes of functionCallingConfig. ANY and VALIDATED hold the model to the
// schemas of its functions, AUTO does not.
const (
	modeAuto      = "AUTO"
	modeAny       = "ANY"
	modeNone      = "NONE"
	modeValidated = "VALIDATED" // AUTO among the allowed ones
)

func (t *translation) translateTools() error {
	tools := t.conversation.Tools
	for i := range tools {
		tool := &tools[i]
		if tool.Kind != llm.ToolFunction {
			return api.Invalid(api.CodeUnsupportedValue, t.req.Source.Path(llm.FieldToolType, tool.At),
				"the model %s does not accept tools of type %q", t.id, tool.Type)
		}
		if len(tool.Cache) > 0 {
			t.ignore(llm.FieldToolCache)
		}
		t.declare(tool, llm.FieldToolParameters)
	}
	if p := t.req.ParallelCalls; p != nil && !*p && !t.req.SingleCall && len(tools) > 0 {
		t.ignore(llm.FieldParallelCalls)
	}
	return t.translateChoice()
}

// inspectStrict notes strict functions that the model is not held to.
func (t *translation) inspectStrict() error {
	strict := slices.ContainsFunc(t.conversation.Tools, func(tool llm.Tool) bool { return tool.Strict != nil && *tool.Strict })
	if strict && (t.calling == nil || t.calling.Mode == modeAuto) {
		t.ignore(llm.FieldToolStrict)
	}
	return nil
}

func isObject(raw jsontext.Value) bool { return raw.Kind() == jsontext.KindBeginObject }

// declare writes a function whose parameters are the given field. One without
// parameters has no schema: older models refuse an object without properties.
func (t *translation) declare(f *llm.Tool, parameters llm.Field) {
	var out object
	out.add("name", quote(t.names.of(f.Name)))
	if f.Description != "" {
		out.add("description", quote(f.Description))
	}
	switch {
	case !isObject(f.Parameters) || !hasParameters(f.Parameters):
	case t.traits.OpenAPISchemas:
		converted, lossy := openAPI(f.Parameters)
		if lossy {
			t.ignore(parameters)
		}
		if converted != nil {
			out.add("parameters", converted)
		}
	default:
		out.add("parametersJsonSchema", without(f.Parameters, "$schema"))
	}
	t.declarations = append(t.declarations, out.done())
}

// hasParameters says whether a schema of parameters allows any.
func hasParameters(schema jsontext.Value) bool {
	for name, value := range jsonbytes.Members(schema) {
		switch string(name.Text()) {
		case "properties", "patternProperties":
			if hasEffect(value, `{}`) && isObject(value) {
				return true
			}
		case "additionalProperties":
			if isObject(value) || value.Kind() == jsontext.KindTrue {
				return true
			}
		case "$ref", "anyOf", "oneOf", "allOf":
			return true
		}
	}
	return false
}

// translateChoice says which functions may or must be called.
func (t *translation) translateChoice() error {
	choice := t.conversation.Choice
	if choice == nil {
		return nil
	}
	mode, allowed := modeAuto, choice.Allowed
	switch choice.Mode {
	case llm.ChooseAuto:
	case llm.ChooseNone:
		mode = modeNone
	case llm.ChooseRequired:
		mode = modeAny
	case llm.ChooseNamed:
		mode, allowed = modeAny, []string{choice.Name}
	case llm.ChooseAllowed:
		mode = modeValidated
		if choice.Require {
			mode = modeAny
		}
	default:
		return t.invalid(llm.FieldToolChoice, api.CodeUnsupportedValue, "the model %s does not accept a tool choice of type %q",
			t.id, "custom")
	}
	return t.setCalling(mode, allowed, choice.Mode)
}

func (t *translation) setCalling(mode string, allowed []string, choice llm.ChoiceMode) error {
	nothing := len(t.declarations) == 0 || choice == llm.ChooseAllowed && len(allowed) == 0
	switch {
	case nothing && mode == modeAny:
		return t.invalid(llm.FieldToolChoice, api.CodeInvalidValue,
			"%s wants a function to be called, and there is none", t.req.Path(llm.FieldToolChoice))
	case len(t.declarations) == 0:
		return nil
	case nothing:
		mode = modeNone
	}
	t.calling = &functionCallingConfig{Mode: mode}
	for _, name := range allowed {
		t.calling.Allowed = append(t.calling.Allowed, t.names.of(name))
	}
	return nil
}
