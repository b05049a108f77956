package chat

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

// composeTools writes the tools and the choice among them, which OpenAI takes
// together with tools only.
func (c *composition) composeTools() error {
	tools := c.Offered()
	for i := range tools {
		t := &tools[i]
		c.IgnoreIf(len(t.Cache) > 0, llm.FieldToolCache)
		switch t.Kind {
		case llm.ToolFunction:
			c.out.Tools = append(c.out.Tools, tool{Type: "function", Function: c.function(t)})
		case llm.ToolCustom:
			c.out.Tools = append(c.out.Tools, tool{Type: "custom", Custom: t.Custom})
		default:
			return c.Unsupported(llm.FieldToolType, t.At, "the model %s does not accept tools of type %q", c.Model.ID, t.Type)
		}
	}
	if err := c.composeChoice(); err != nil {
		return err
	}
	if len(c.out.Tools) > 0 {
		c.out.ParallelToolCalls = c.Parallel()
	}
	return nil
}

// function is a function as OpenAI takes it. It is strict only where OpenAI can
// enforce its schema.
func (c *composition) function(t *llm.Tool) *function {
	return &function{
		Name: c.Names.Upstream(t.Namespace, t.Name), Description: t.Description, Parameters: t.Parameters,
		Strict: c.Strict(t.Strict, t.Parameters, llm.FieldToolStrict),
	}
}

func (c *composition) composeChoice() error {
	choice := c.Conversation.Choice
	if choice == nil {
		return nil
	}
	if len(c.out.Tools) == 0 {
		return c.CheckNoChoice(choice)
	}
	switch choice.Mode {
	case llm.ChooseAuto:
		c.out.ToolChoice = wire.Quote("auto")
	case llm.ChooseNone:
		c.out.ToolChoice = wire.Quote("none")
	case llm.ChooseRequired:
		c.out.ToolChoice = wire.Quote("required")
	case llm.ChooseNamed:
		c.out.ToolChoice = c.named(choice.Name)
	case llm.ChooseCustom:
		c.out.ToolChoice = jsontext.Value(`{"type":"custom","custom":{"name":` + string(wire.Quote(choice.Name)) + `}}`)
	case llm.ChooseAllowed:
		c.out.ToolChoice = c.allowed(choice)
	}
	return nil
}

func (c *composition) named(name string) jsontext.Value {
	return jsontext.Value(`{"type":"function","function":{"name":` + string(wire.Quote(c.ToolName(name))) + `}}`)
}

func (c *composition) allowed(choice *llm.ToolChoice) jsontext.Value {
	mode := "auto"
	if choice.Require {
		mode = "required"
	}
	out := append(jsontext.Value(`{"type":"allowed_tools","allowed_tools":{"mode":`), wire.Quote(mode)...)
	out = append(out, `,"tools":[`...)
	for i, name := range choice.Allowed {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, c.named(name)...)
	}
	return append(out, `]}}`...)
}

// composeFormat writes the format of the answer, strict only where OpenAI can
// enforce its schema.
func (c *composition) composeFormat() {
	f := c.Conversation.Format
	switch {
	case f == nil:
		return
	case f.Schema == nil && f.Name == "":
		c.out.ResponseFormat = &responseFormat{Type: "json_object"}
		return
	}
	c.out.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: c.Schema(f)}
}
