package compose

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// Parallel says whether an answer may have several calls; nil leaves it to the model.
func (c *Draft) Parallel() *bool {
	if c.Request.SingleCall {
		return new(bool)
	}
	return c.Request.ParallelCalls
}

// mostTools is how many tools OpenAI takes.
const mostTools = 128

// Offered are the tools that OpenAI takes: the first ones, and the one that must be
// called. The others are left out, since agents bring all that their user has added.
func (c *Draft) Offered() []llm.Tool {
	all := c.Conversation.Tools
	if len(all) <= mostTools {
		return all
	}
	c.IgnoreIf(true, llm.FieldTool)
	kept := slices.Clone(all[:mostTools])
	choice := c.Conversation.Choice
	if choice == nil || choice.Mode != llm.ChooseNamed {
		return kept
	}
	isChosen := func(t llm.Tool) bool { return t.Name == choice.Name }
	if at := slices.IndexFunc(all, isChosen); at >= mostTools {
		kept[mostTools-1] = all[at]
	}
	return kept
}

// Strict is the wish for it, nil where OpenAI cannot enforce the schema.
func (c *Draft) Strict(wish *bool, schema jsontext.Value, field llm.Field) *bool {
	if wish != nil && *wish && !Enforceable(schema) {
		c.IgnoreIf(true, field)
		return nil
	}
	return wish
}

// CheckNoChoice fails on a choice that asks for a tool of a request without any.
func (c *Draft) CheckNoChoice(choice *llm.ToolChoice) error {
	if choice.Mode == llm.ChooseAuto || choice.Mode == llm.ChooseNone {
		return nil
	}
	return c.Invalid(llm.FieldToolChoice, llm.Anywhere, "%s asks for a tool, but the request has none", c.Request.Path(llm.FieldToolChoice))
}

// ToolName is the upstream's name of a function that the client chooses by its
// name.
func (c *Draft) ToolName(name string) string {
	for i := range c.Conversation.Tools {
		if t := &c.Conversation.Tools[i]; t.Name == name {
			return c.Names.Upstream(t.Namespace, name)
		}
	}
	return name
}

// Schema is the schema of the answer.
func (c *Draft) Schema(f *llm.Format) *JsonSchema {
	return &JsonSchema{
		Name: cmp.Or(f.Name, "output"), Description: f.Description, Schema: f.Schema,
		Strict: c.Strict(f.Strict, f.Schema, llm.FieldFormat),
	}
}

// JsonSchema is the schema of an answer, or of what a format asks for.
type JsonSchema struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}
