package gemini

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// formats are the only ones of each type that are taken.
var formats = map[string][]string{
	"string": {"enum", "date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}

// bounds are the keywords of each type that mean the same in OpenAPI.
var bounds = map[string][]string{
	"string": {"minLength", "maxLength", "pattern"},
	"number": {"minimum", "maximum"}, "integer": {"minimum", "maximum"},
	"array":  {"minItems", "maxItems"},
	"object": {"minProperties", "maxProperties", "propertyOrdering"},
}

// writeTyped writes the keywords that belong to a type.
func (c *converter) writeTyped(out *object, k keywords, name string) {
	if format := text(k.get("format")); slices.Contains(formats[name], format) {
		out.add("format", quote(format))
	} else if format != "" {
		c.lossy = true
	}
	for _, bound := range bounds[name] {
		if v := k.get(bound); llm.Given(v) {
			out.add(bound, v)
		}
	}
	switch name {
	case "object":
		c.properties(out, k)
	case "array":
		out.add("items", c.items(k))
	case "string":
		c.enum(out, k)
	default: // older models know enums of strings only
		c.lossy = c.lossy || k.get("enum") != nil || k.get("const") != nil
	}
}

func (c *converter) properties(out *object, k keywords) {
	var converted object
	remaining := map[string]bool{} // names that may still be required
	for _, m := range members(k.get("properties")) {
		converted.add(m.name, c.convert(m.value))
		remaining[m.name] = true
	}
	out.add("properties", converted.done())
	var required []jsontext.Value
	for _, raw := range elements(k.get("required")) {
		if name := text(raw); remaining[name] { // others would be refused
			required = append(required, raw)
			remaining[name] = false
		}
	}
	if len(required) > 0 {
		out.add("required", list(required))
	}
}

// items is never absent: an array without it is refused.
func (c *converter) items(k keywords) jsontext.Value {
	items := k.get("items")
	tuple := elements(k.get("prefixItems"))
	if tuple == nil {
		tuple = elements(items)
	}
	switch {
	case len(tuple) == 1:
		c.lossy = true
		return c.convert(tuple[0])
	case len(tuple) > 1: // the order cannot be expressed
		c.lossy = true
		var out object
		out.add("anyOf", list(c.convertAll(tuple)))
		return out.done()
	case isObject(items):
		return c.convert(items)
	}
	return jsontext.Value(`{"type":"string"}`)
}

// enum writes the values of a string; an empty one is refused.
func (c *converter) enum(out *object, k keywords) {
	values := elements(k.get("enum"))
	if one := k.get("const"); one != nil {
		values = []jsontext.Value{one}
	}
	var kept []jsontext.Value
	for _, v := range values {
		switch {
		case text(v) != "":
			kept = append(kept, v)
		case v.Kind() != jsontext.KindNull:
			c.lossy = true
		}
	}
	if len(kept) > 0 {
		out.add("enum", list(kept))
	}
}

// typeKeywords are the keywords that are written together with their type.
var typeKeywords = []string{
	"type", "format", "enum", "const", "items", "prefixItems", "properties", "required", "propertyOrdering",
	"minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern",
}

// harmless are the keywords that are written elsewhere, or say nothing about
// which values are right.
var harmless = []string{
	"title", "description", "nullable", "default", "example", "anyOf", "oneOf",
	"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "examples", "readOnly", "writeOnly", "deprecated",
}

// noteDropped records whether a dropped keyword would have changed the meaning.
func (c *converter) noteDropped(k keywords) {
	for _, m := range k {
		closed := m.name == "additionalProperties" && !isObject(m.value) // the same as the default
		if !closed && !slices.Contains(harmless, m.name) && !slices.Contains(typeKeywords, m.name) {
			c.lossy = true
		}
	}
}
