package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

var choiceModes = map[string]llm.ChoiceMode{"none": llm.ChooseNone, "auto": llm.ChooseAuto, "required": llm.ChooseRequired}

// choose adds which of the tools the model may or must call. It comes after all tools.
func (b *builder) choose() *api.Error {
	value := b.request.members[memberToolChoice]
	usable := len(b.made.Tools) > 0
	if !llm.Given(value) {
		return b.onlyHosted(usable)
	}
	if value.Kind() == jsontext.KindString {
		mode, ok := choiceModes[jsonbytes.Text(value)]
		if !ok {
			return api.NotOneOf("tool_choice", jsonbytes.Text(value), []string{"none", "auto", "required"})
		}
		if mode == llm.ChooseNone && !usable {
			return nil // nothing is lost with a tool that must not be called
		}
		if err := b.onlyHosted(usable); err != nil {
			return err
		}
		if !usable && mode == llm.ChooseRequired {
			return invalid("tool_choice", "tool_choice asks for a tool, but the request has none")
		}
		if usable {
			b.made.Choice = &llm.ToolChoice{Mode: mode}
		}
		return nil
	}
	if value.Kind() != jsontext.KindBeginObject {
		return invalid("tool_choice", "tool_choice must be a string or an object")
	}
	if err := b.onlyHosted(usable); err != nil {
		return err
	}
	if jsonbytes.Text(jsonbytes.Member(value, "type")) == "allowed_tools" {
		return b.allow(value)
	}
	name, hosted, err := b.chosen("tool_choice", value)
	if err == nil && hosted {
		err = needsOpenAI("tool_choice", jsonbytes.Text(jsonbytes.Member(value, "type")))
	}
	b.made.Choice = &llm.ToolChoice{Mode: llm.ChooseNamed, Name: name}
	return err
}

// onlyHosted is the error for a request whose only tools are those that run at OpenAI: an
// answer from the model's memory would look like one of theirs.
func (b *builder) onlyHosted(usable bool) *api.Error {
	if b.hosted == nil || usable {
		return nil
	}
	return needsOpenAI(b.hostedAt, b.hostedFirst)
}

// allow restricts the tools to some of them.
func (b *builder) allow(value jsontext.Value) *api.Error {
	choice := &llm.ToolChoice{Mode: llm.ChooseAllowed}
	switch mode := jsonbytes.Text(jsonbytes.Member(value, "mode")); mode {
	case "auto", "":
	case "required":
		choice.Require = true
	default:
		return api.NotOneOf("tool_choice.mode", mode, []string{"auto", "required"})
	}
	list := jsonbytes.Member(value, "tools")
	if list.Kind() != jsontext.KindBeginArray {
		return invalid("tool_choice.tools", "tool_choice.tools must be an array")
	}
	first := ""
	for element := range jsonbytes.Elements(list) {
		if len(choice.Allowed) == maxTools {
			return api.TooMany("tool_choice.tools", maxTools)
		}
		name, hosted, err := b.chosen("tool_choice.tools[]", element)
		switch {
		case err != nil:
			return err
		case hosted:
			b.ignored.Put("tool_choice.tools[].type")
			first = jsonbytes.Text(jsonbytes.Member(element, "type"))
		default:
			choice.Allowed = append(choice.Allowed, name)
		}
	}
	if len(choice.Allowed) == 0 && first != "" {
		return needsOpenAI("tool_choice.tools", first)
	}
	b.made.Choice = choice
	return nil
}

// chosen is the function that stands for a tool which the client names; hosted is true for
// one that runs at OpenAI.
func (b *builder) chosen(path string, value jsontext.Value) (function string, hosted bool, _ *api.Error) {
	kind, name := jsonbytes.Text(jsonbytes.Member(value, "type")), jsonbytes.Text(jsonbytes.Member(value, "name"))
	as := calledAs{namespace: jsonbytes.Text(jsonbytes.Member(value, "namespace")), name: name}
	switch toolKindOf(kind) {
	case functionTool:
		as.item = functionCall
	case customTool:
		as.item = customCall
	case localShellTool, shellTool, applyPatchTool, toolSearchTool:
		as = calledAs{item: known[toolKindOf(kind)].item}
		if _, there := b.toolIndex[b.names[as]]; !there && b.hosted[kind] {
			return "", true, nil
		}
	default:
		return "", true, nil
	}
	if function, there := b.named(as); there {
		return function, false, nil
	}
	if as.name == "" && (as.item == functionCall || as.item == customCall) {
		return "", false, api.Missing(path + ".name")
	}
	return "", false, invalid(path, "the tool %s is not among the tools of the request", api.Quoted(api.Clip(as.name+kindOf(as))))
}

// kindOf is the name of a tool that has no other.
func kindOf(as calledAs) string {
	if as.name != "" {
		return ""
	}
	return string(as.item)
}

// named is the function of a tool of the request. A tool of a namespace may be named
// without it.
func (b *builder) named(as calledAs) (string, bool) {
	if function, known := b.names[as]; known {
		if _, there := b.toolIndex[function]; there {
			return function, true
		}
	}
	for i := range b.made.Tools {
		function := b.made.Tools[i].Name
		if other := b.request.called[function]; as.namespace == "" && as.name != "" && other.name == as.name && other.item == as.item {
			return function, true
		}
	}
	return "", false
}
