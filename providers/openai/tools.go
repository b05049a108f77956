package openai

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/llm"
)

// composeTools writes the tools and the choice among them, which OpenAI takes
// together with tools only.
func (c *composition) composeTools() error {
	for i := range c.conversation.Tools {
		t := &c.conversation.Tools[i]
		c.ignoreIf(len(t.Cache) > 0, llm.FieldToolCache)
		switch t.Kind {
		case llm.ToolFunction:
			c.out.Tools = append(c.out.Tools, tool{Type: "function", Function: c.function(t)})
		case llm.ToolCustom:
			c.out.Tools = append(c.out.Tools, tool{Type: "custom", Custom: t.Custom})
		default:
			return c.unsupported(llm.FieldToolType, t.At, "the model %s takes no tools of type %q", c.model.ID, t.Type)
		}
	}
	if err := c.composeChoice(); err != nil {
		return err
	}
	switch {
	case len(c.out.Tools) == 0:
	case c.req.SingleCall:
		c.out.ParallelToolCalls = new(bool)
	default:
		c.out.ParallelToolCalls = c.req.ParallelCalls
	}
	return nil
}

// function is a function as OpenAI takes it. It is strict only where OpenAI can
// enforce its schema.
func (c *composition) function(t *llm.Tool) *function {
	f := &function{Name: c.names.upstream(t.Namespace, t.Name), Description: t.Description, Parameters: t.Parameters, Strict: t.Strict}
	if f.Strict != nil && *f.Strict && !enforceable(f.Parameters) {
		f.Strict = nil
		c.ignoreIf(true, llm.FieldToolStrict)
	}
	return f
}

func (c *composition) composeChoice() error {
	choice := c.conversation.Choice
	if choice == nil {
		return nil
	}
	if len(c.out.Tools) == 0 {
		if choice.Mode == llm.ChooseAuto || choice.Mode == llm.ChooseNone {
			return nil
		}
		return c.invalid(llm.FieldToolChoice, llm.Anywhere, "%s asks for a tool, but the request has none", c.req.Path(llm.FieldToolChoice))
	}
	switch choice.Mode {
	case llm.ChooseAuto:
		c.out.ToolChoice = quote("auto")
	case llm.ChooseNone:
		c.out.ToolChoice = quote("none")
	case llm.ChooseRequired:
		c.out.ToolChoice = quote("required")
	case llm.ChooseNamed:
		c.out.ToolChoice = c.named(choice.Name)
	case llm.ChooseCustom:
		c.out.ToolChoice = jsontext.Value(`{"type":"custom","custom":{"name":` + string(quote(choice.Name)) + `}}`)
	case llm.ChooseAllowed:
		c.out.ToolChoice = c.allowed(choice)
	}
	return nil
}

func (c *composition) named(name string) jsontext.Value {
	return jsontext.Value(`{"type":"function","function":{"name":` + string(quote(c.toolName(name))) + `}}`)
}

func (c *composition) allowed(choice *llm.ToolChoice) jsontext.Value {
	mode := "auto"
	if choice.Require {
		mode = "required"
	}
	out := append(jsontext.Value(`{"type":"allowed_tools","allowed_tools":{"mode":`), quote(mode)...)
	out = append(out, `,"tools":[`...)
	for i, name := range choice.Allowed {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, c.named(name)...)
	}
	return append(out, `]}}`...)
}

// toolName is the upstream's name of a function that the client chooses by its
// name.
func (c *composition) toolName(name string) string {
	for i := range c.conversation.Tools {
		if t := &c.conversation.Tools[i]; t.Name == name {
			return c.names.upstream(t.Namespace, name)
		}
	}
	return name
}

// composeFormat writes the format of the answer, strict only where OpenAI can
// enforce its schema.
func (c *composition) composeFormat() {
	f := c.conversation.Format
	switch {
	case f == nil:
		return
	case f.Schema == nil && f.Name == "":
		c.out.ResponseFormat = &responseFormat{Type: "json_object"}
		return
	}
	schema := &jsonSchema{Name: cmp.Or(f.Name, "output"), Description: f.Description, Schema: f.Schema, Strict: f.Strict}
	if f.Strict != nil && *f.Strict && !enforceable(f.Schema) {
		schema.Strict = nil
		c.ignoreIf(true, llm.FieldFormat)
	}
	c.out.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: schema}
}
