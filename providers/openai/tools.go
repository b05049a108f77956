package openai

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// composeTools writes the tools and the choice among them, which OpenAI takes
// together with tools only.
func (c *composition) composeTools() error {
	tools := c.offered()
	for i := range tools {
		t := &tools[i]
		c.ignoreIf(len(t.Cache) > 0, llm.FieldToolCache)
		switch t.Kind {
		case llm.ToolFunction:
			c.out.Tools = append(c.out.Tools, tool{Type: "function", Function: c.function(t)})
		case llm.ToolCustom:
			c.out.Tools = append(c.out.Tools, tool{Type: "custom", Custom: t.Custom})
		default:
			return c.unsupported(llm.FieldToolType, t.At, "the model %s does not accept tools of type %q", c.model.ID, t.Type)
		}
	}
	if err := c.composeChoice(); err != nil {
		return err
	}
	if len(c.out.Tools) > 0 {
		c.out.ParallelToolCalls = c.parallel()
	}
	return nil
}

// parallel says whether an answer may have several calls; nil leaves it to the model.
func (c *composing) parallel() *bool {
	if c.req.SingleCall {
		return new(bool)
	}
	return c.req.ParallelCalls
}

// mostTools is how many tools OpenAI takes.
const mostTools = 128

// offered are the tools that OpenAI takes: the first ones, and the one that must be
// called. The others are left out, since agents bring all that their user has added.
func (c *composing) offered() []llm.Tool {
	all := c.conversation.Tools
	if len(all) <= mostTools {
		return all
	}
	c.ignoreIf(true, llm.FieldTool)
	kept := slices.Clone(all[:mostTools])
	choice := c.conversation.Choice
	if choice == nil || choice.Mode != llm.ChooseNamed {
		return kept
	}
	isChosen := func(t llm.Tool) bool { return t.Name == choice.Name }
	if at := slices.IndexFunc(all, isChosen); at >= mostTools {
		kept[mostTools-1] = all[at]
	}
	return kept
}

// function is a function as OpenAI takes it. It is strict only where OpenAI can
// enforce its schema.
func (c *composition) function(t *llm.Tool) *function {
	return &function{
		Name: c.names.upstream(t.Namespace, t.Name), Description: t.Description, Parameters: t.Parameters,
		Strict: c.strict(t.Strict, t.Parameters, llm.FieldToolStrict),
	}
}

// strict is the wish for it, nil where OpenAI cannot enforce the schema.
func (c *composing) strict(wish *bool, schema jsontext.Value, field llm.Field) *bool {
	if wish != nil && *wish && !enforceable(schema) {
		c.ignoreIf(true, field)
		return nil
	}
	return wish
}

func (c *composition) composeChoice() error {
	choice := c.conversation.Choice
	if choice == nil {
		return nil
	}
	if len(c.out.Tools) == 0 {
		return c.choosesNone(choice)
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

// choosesNone fails on a choice that asks for a tool of a request without any.
func (c *composing) choosesNone(choice *llm.ToolChoice) error {
	if choice.Mode == llm.ChooseAuto || choice.Mode == llm.ChooseNone {
		return nil
	}
	return c.invalid(llm.FieldToolChoice, llm.Anywhere, "%s asks for a tool, but the request has none", c.req.Path(llm.FieldToolChoice))
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
func (c *composing) toolName(name string) string {
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
	c.out.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: c.schema(f)}
}

// schema is the schema of the answer.
func (c *composing) schema(f *llm.Format) *jsonSchema {
	return &jsonSchema{
		Name: cmp.Or(f.Name, "output"), Description: f.Description, Schema: f.Schema,
		Strict: c.strict(f.Strict, f.Schema, llm.FieldFormat),
	}
}

// schemaNode is what of a schema decides whether OpenAI can enforce it
// (platform.openai.com/docs/guides/structured-outputs, supported schemas).
type schemaNode struct {
	Type                 jsontext.Value            `json:"type"`
	Properties           map[string]jsontext.Value `json:"properties"`
	Required             []string                  `json:"required"`
	AdditionalProperties jsontext.Value            `json:"additionalProperties"`
	Items                jsontext.Value            `json:"items"`
	AnyOf                []jsontext.Value          `json:"anyOf"`
	Defs                 map[string]jsontext.Value `json:"$defs"`
	Definitions          map[string]jsontext.Value `json:"definitions"`
	Unknown              map[string]jsontext.Value `json:",embed"`
}

// unsupported are the keywords that OpenAI refuses in strict mode.
var unsupported = []string{
	"allOf", "oneOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "patternProperties",
	"prefixItems", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
}

// enforceable says whether OpenAI takes a schema in strict mode: its root is an
// object, and every object has all of its properties required and no others.
// Without a schema there is an object without properties.
func enforceable(schema jsontext.Value) bool {
	var root schemaNode
	if len(schema) == 0 {
		return true
	}
	return json.Unmarshal(schema, &root) == nil && root.isObject() && root.enforceable()
}

func (n *schemaNode) isObject() bool {
	if len(n.AnyOf) > 0 {
		return false
	}
	return string(n.Type) == `"object"`
}

func (n *schemaNode) enforceable() bool {
	for name := range n.Unknown {
		if slices.Contains(unsupported, name) {
			return false
		}
	}
	if string(n.Type) == `"object"` || n.Properties != nil {
		if string(n.AdditionalProperties) != "false" {
			return false
		}
		for name := range n.Properties {
			if !slices.Contains(n.Required, name) {
				return false
			}
		}
	}
	for _, within := range []map[string]jsontext.Value{n.Properties, n.Defs, n.Definitions} {
		for _, schema := range within {
			if !enforceableWithin(schema) {
				return false
			}
		}
	}
	for _, schema := range n.AnyOf {
		if !enforceableWithin(schema) {
			return false
		}
	}
	return len(n.Items) == 0 || enforceableWithin(n.Items)
}

func enforceableWithin(schema jsontext.Value) bool {
	var n schemaNode
	return json.Unmarshal(schema, &n) == nil && n.enforceable()
}
