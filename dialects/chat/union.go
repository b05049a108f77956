package chat

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
)

// UnmarshalJSONFrom reads a string, an array of parts, or null.
func (c *Content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = Content{}
	switch dec.PeekKind() {
	case jsontext.KindNull:
		return dec.SkipValue()
	case jsontext.KindBeginArray:
		c.Set = true
		return json.UnmarshalDecode(dec, &c.Parts)
	case jsontext.KindString:
		literal, err := dec.ReadValue()
		c.Set, c.literal = true, literal.Clone()
		return err
	default:
		return json.UnmarshalDecode(dec, new(string)) // says what is wrong
	}
}

// Text is the string form. It is decoded at each call: an upstream that takes
// the client's bytes never asks for it.
func (c *Content) Text() string {
	return scan.Text(c.literal)
}

type namedChoice struct {
	Type     string `json:"type"`
	Name     string `json:"name"` // the deprecated function_call has it at the top
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Custom struct {
		Name string `json:"name"`
	} `json:"custom"`
	AllowedTools struct {
		Mode  string        `json:"mode"`
		Tools []allowedTool `json:"tools"`
	} `json:"allowed_tools"`
}

type allowedTool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// UnmarshalJSONFrom reads a mode or an object that names tools.
func (t *ToolChoice) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = ToolChoice{}
	if dec.PeekKind() != jsontext.KindBeginObject {
		return json.UnmarshalDecode(dec, &t.Mode)
	}
	var c namedChoice
	if err := json.UnmarshalDecode(dec, &c); err != nil {
		return err
	}
	t.Type = c.Type
	switch c.Type {
	case "function":
		t.Mode, t.Name = "named", c.Function.Name
	case "":
		t.Mode, t.Name = "named", c.Name
	case "custom":
		t.Mode, t.Name = "custom", c.Custom.Name
	case "allowed_tools":
		t.Mode, t.Require = "allowed", c.AllowedTools.Mode == "required"
		for _, tool := range c.AllowedTools.Tools {
			t.Allowed = append(t.Allowed, tool.Function.Name)
		}
	}
	return nil
}
