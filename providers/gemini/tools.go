package gemini

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
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
	strict := false
	for i := range t.req.Tools {
		tool := &t.req.Tools[i]
		if tool.Function == nil {
			return api.Invalid(api.CodeUnsupportedValue, fmt.Sprintf("tools[%d].type", i),
				"this model knows no tools of type %q", tool.Type)
		}
		if api.Given(tool.CacheControl) {
			t.lose("tools[].cache_control")
		}
		strict = strict || tool.Function.Strict != nil && *tool.Function.Strict
		t.declare(tool.Function, "tools[].function.parameters")
	}
	for i := range t.req.Functions {
		t.declare(&t.req.Functions[i], "functions[].parameters")
	}
	if p := t.req.ParallelToolCalls; p != nil && !*p && len(t.declarations) > 0 {
		t.lose("parallel_tool_calls")
	}
	if err := t.choose(); err != nil {
		return err
	}
	if strict && (t.calling == nil || t.calling.Mode == modeAuto) {
		t.lose("tools[].function.strict")
	}
	return nil
}

func isObject(raw jsontext.Value) bool { return raw.Kind() == jsontext.KindBeginObject }

// declare writes a function. One without parameters gets none at all: older
// models refuse an object without properties.
func (t *translation) declare(f *api.Function, field string) {
	var out object
	out.add("name", quote(f.Name))
	if f.Description != "" {
		out.add("description", quote(f.Description))
	}
	switch {
	case !isObject(f.Parameters) || !takesAnything(f.Parameters):
	case t.traits.OpenAPISchemas:
		converted, lossy := openAPI(f.Parameters)
		if lossy {
			t.lose(field)
		}
		if converted != nil {
			out.add("parameters", converted)
		}
	default:
		out.add("parametersJsonSchema", without(f.Parameters, "$schema"))
	}
	t.declarations = append(t.declarations, out.done())
}

// takesAnything says whether a schema of parameters leaves room for one.
func takesAnything(schema jsontext.Value) bool {
	for _, m := range members(schema) {
		switch m.name {
		case "properties", "patternProperties":
			if len(members(m.value)) > 0 {
				return true
			}
		case "additionalProperties":
			if isObject(m.value) || m.value.Kind() == jsontext.KindTrue {
				return true
			}
		case "$ref", "anyOf", "oneOf", "allOf":
			return true
		}
	}
	return false
}

// choose translates tool_choice, or the older function_call.
func (t *translation) choose() error {
	choice, field := t.req.ToolChoice, "tool_choice"
	if choice == nil {
		choice, field = t.req.FunctionCall, "function_call"
	} else if t.req.FunctionCall != nil {
		t.lose("function_call")
	}
	if choice == nil {
		return nil
	}
	mode, allowed := "", choice.Allowed
	switch choice.Mode {
	case "none":
		mode = modeNone
	case "auto":
		mode = modeAuto
	case "required":
		mode = modeAny
	case "named":
		mode, allowed = modeAny, []string{choice.Name}
	case "allowed":
		mode = modeValidated
		if choice.Require {
			mode = modeAny
		}
	default:
		return api.Invalid(api.CodeUnsupportedValue, field, "this model knows no tool choice of type %q", choice.Mode)
	}
	return t.call(mode, allowed, choice, field)
}

func (t *translation) call(mode string, allowed []string, choice *api.ToolChoice, field string) error {
	nothing := len(t.declarations) == 0 || choice.Mode == "allowed" && len(allowed) == 0
	switch {
	case nothing && mode == modeAny:
		return api.Invalid(api.CodeInvalidValue, field, "%s wants a function to be called, and there is none", field)
	case len(t.declarations) == 0:
		return nil
	case nothing:
		mode = modeNone
	}
	t.calling = &functionCallingConfig{Mode: mode, Allowed: allowed}
	return nil
}
