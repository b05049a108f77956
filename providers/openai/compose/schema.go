package compose

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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

// Enforceable says whether OpenAI takes a schema in strict mode: its root is an
// object, and every object has all of its properties required and no others.
// Without a schema there is an object without properties.
func Enforceable(schema jsontext.Value) bool {
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
