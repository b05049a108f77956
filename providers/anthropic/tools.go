package anthropic

import (
	"slices"

	"modelgateway/llm"
)

// chooseTools translates the tools, the choice among them and the format of the
// answer, which on older models is one more tool.
func (t *translation) chooseTools() error {
	if err := t.listTools(); err != nil {
		return err
	}
	if err := t.choose(t.conversation.Choice); err != nil {
		return err
	}
	if err := t.formatAnswer(); err != nil {
		return err
	}
	if t.out.ToolChoice.forces() && !t.traits.ForcedTools {
		t.ignore(t.forcingField())
		t.out.ToolChoice.Type, t.out.ToolChoice.Name = "auto", ""
	}
	t.listCalledTools()
	return nil
}

// forcingField is the field that makes the model call a tool.
func (t *translation) forcingField() llm.Field {
	if t.answerTool != "" {
		return llm.FieldFormat
	}
	return llm.FieldToolChoice
}

func (t *translation) listTools() error {
	tools := t.conversation.Tools
	for i := range tools {
		if tools[i].Kind != llm.ToolFunction {
			return t.unsupported(llm.FieldToolType, tools[i].At, "the model %s does not accept tools of type %q", t.model.ID, tools[i].Type)
		}
		t.addTool(&tools[i])
	}
	return nil
}

// addTool adds a function. It is strict only where Anthropic can enforce the
// client's schema without a change.
func (t *translation) addTool(f *llm.Tool) {
	out := tool{name: f.Name, description: f.Description, schema: objectSchema(f.Parameters), cacheControl: f.Cache}
	if f.Strict != nil && *f.Strict {
		_, changed := enforceable(out.schema)
		out.strict = t.traits.Structured && changed == unchanged
		t.ignoreIf(!out.strict, llm.FieldToolStrict)
	}
	t.tools = append(t.tools, out)
}

// choose translates the tool choice. Anthropic takes it together with tools
// only.
func (t *translation) choose(choice *llm.ToolChoice) error {
	if choice == nil {
		choice = &llm.ToolChoice{Mode: llm.ChooseAuto}
	}
	if choice.Mode == llm.ChooseCustom {
		return t.unsupported(llm.FieldToolChoice, llm.Anywhere, "the model %s does not accept custom tools", t.model.ID)
	}
	if len(t.tools) == 0 {
		if choice.Mode != llm.ChooseAuto && choice.Mode != llm.ChooseNone {
			return t.invalid(llm.FieldToolChoice, "%s asks for a tool, but the request has none", t.req.Path(llm.FieldToolChoice))
		}
		return nil
	}
	c := &toolChoice{Type: "auto", OnlyOne: t.req.SingleCall || t.req.ParallelCalls != nil && !*t.req.ParallelCalls}
	switch choice.Mode {
	case llm.ChooseNone:
		c.Type, c.OnlyOne = "none", false
	case llm.ChooseRequired:
		c.Type = "any"
	case llm.ChooseNamed:
		c.Type, c.Name = "tool", choice.Name
	case llm.ChooseAllowed:
		if choice.Require {
			c.Type = "any"
		}
		if err := t.allowOnly(choice.Allowed); err != nil {
			return err
		}
	}
	t.out.ToolChoice = c
	return nil
}

// allowOnly leaves out the tools that are not allowed: Anthropic has no such
// tool choice.
func (t *translation) allowOnly(names []string) error {
	allowed := make(map[string]bool, len(names))
	for _, name := range names {
		allowed[name] = true
	}
	t.tools = slices.DeleteFunc(t.tools, func(have tool) bool { return !allowed[have.name] })
	if len(t.tools) == 0 {
		return t.unsupported(llm.FieldToolChoice, llm.Anywhere, "%s allows no tool that the model %s can call",
			t.req.Path(llm.FieldToolChoice), t.model.ID)
	}
	return nil
}

// jsonHint requests JSON in the instructions: Anthropic has no JSON mode.
const jsonHint = "Answer with one valid JSON object and nothing else: no explanation, no code fence."

// formatAnswer translates the format of the answer.
func (t *translation) formatAnswer() error {
	format := t.conversation.Format
	switch {
	case format == nil:
		return nil
	case format.Schema == nil:
		t.hint = jsonHint
		t.ignore(llm.FieldFormat)
		return nil
	case t.traits.Structured:
		schema, changed := enforceable(format.Schema)
		if changed == impossible && isObjectType(format.Schema) {
			return t.answerByTool(format)
		}
		t.ignoreIf(changed >= lossy, llm.FieldFormat)
		t.ignoreIf(format.Description != "", llm.FieldFormatDescription)
		t.format = schema
		return nil
	}
	return t.answerByTool(format)
}

// answerByTool makes the answer's schema the input of one more tool that the
// model has to call, for models that take no schema for the answer, and for
// schemas that Anthropic enforces only as others: the tool's stays as it is.
// Beside tools of the client the model must call one of them or this one, which
// is what tools and format together ask for. Where the client forces a tool,
// this turn has no answer to format; where it forbids tools, only this one is
// left.
func (t *translation) answerByTool(format *llm.Format) error {
	if t.out.ToolChoice.forces() {
		return nil
	}
	if !isObjectType(format.Schema) {
		return t.unsupported(llm.FieldFormatSchema, llm.Anywhere, "the model %s answers with JSON objects only", t.model.ID)
	}
	names := newUniqueNames()
	for _, have := range t.tools {
		names.taken[have.name] = true
	}
	name := names.uniqueName(format.Name)
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

// listCalledTools defines the tools that the conversation has called where the
// request has no tools: Anthropic refuses calls of tools that are not defined.
func (t *translation) listCalledTools() {
	if len(t.tools) > 0 {
		return
	}
	known := map[string]bool{}
	for _, turn := range t.folded.Turns {
		for _, b := range turn.Blocks {
			if b.Kind != llm.BlockCall {
				continue
			}
			if name := validName(b.Call.Name); !known[name] {
				known[name] = true
				t.tools = append(t.tools, tool{name: name, schema: objectSchema(nil)})
			}
		}
	}
	if len(t.tools) > 0 {
		t.out.ToolChoice = &toolChoice{Type: "none"}
	}
}
