package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// References that are expanded can double a schema at every step. So the bytes
// that are read for one schema are bounded, and the members of an object that
// is put together from several schemas.
const (
	maxBytesRead = 8 << 20
	maxMembers   = 1000
)

// openAPI converts JSON Schema to the subset of OpenAPI that older models take
// (https://ai.google.dev/api/caching#Schema). They refuse anything else, so
// the rest is dropped; lossy says whether it meant something. An object without
// properties has no form at all: it is nil, or a string inside another schema.
func openAPI(schema jsontext.Value) (converted jsontext.Value, lossy bool) {
	c := &converter{root: schema, bytesLeft: maxBytesRead}
	return c.convert(schema), c.lossy
}

type converter struct {
	root      jsontext.Value
	refs      []string // that are being expanded
	depth     int      // of the current schema, 1 = the root
	bytesLeft int      // that may still be read
	lossy     bool
}

// keywords is a schema whose references and allOf have been expanded.
type keywords []member

func (k keywords) get(name string) jsontext.Value {
	for _, m := range k {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (k *keywords) set(name string, value jsontext.Value) {
	for i := range *k {
		if (*k)[i].name == name {
			(*k)[i].value = value
			return
		}
	}
	*k = append(*k, member{name, value})
}

// write writes the keywords in OpenAPI's form.
func (c *converter) write(k keywords) jsontext.Value {
	types, nullable := c.types(k)
	options, null := c.options(k, types)
	nullable = nullable || null || slices.ContainsFunc(elements(k.get("enum")), isNull)
	if len(options) == 1 {
		return c.writeOption(k, options[0], nullable)
	}
	var out object
	switch {
	case len(options) > 1:
		out.add("anyOf", list(c.convertAll(options)))
	case types[0] == "object" && len(members(k.get("properties"))) == 0:
		c.lossy = true
		if c.depth == 1 {
			return nil
		}
		out.add("type", quote("string"))
		k = asText(k)
	default:
		out.add("type", quote(types[0]))
		c.writeTyped(&out, k, types[0])
	}
	for _, name := range []string{"title", "description", "default", "example"} {
		if v := k.get(name); llm.Given(v) {
			out.add(name, v)
		}
	}
	if nullable || k.get("nullable").Kind() == jsontext.KindTrue {
		out.add("nullable", []byte("true"))
	}
	c.noteDropped(k)
	return out.done()
}

// asText describes an object that becomes a string: Gemini refuses objects
// whose properties are empty or left out ("properties: should be non-empty for
// OBJECT type").
func asText(k keywords) keywords {
	description := "A JSON object, written as text."
	if given := text(k.get("description")); given != "" {
		description = given + "\n" + description
	}
	k = slices.DeleteFunc(slices.Clone(k), func(m member) bool { return m.name == "default" || m.name == "example" })
	k.set("description", quote(description))
	return k
}

// writeOption writes a choice with one option as that option, with the keywords
// around it.
func (c *converter) writeOption(k keywords, option jsontext.Value, nullable bool) jsontext.Value {
	merged := c.flatten(option)
	for _, m := range k {
		if m.name != "anyOf" && m.name != "oneOf" {
			merged.set(m.name, m.value)
		}
	}
	if nullable {
		merged.set("nullable", jsontext.Value("true"))
	}
	return c.write(merged)
}

func (c *converter) convertAll(options []jsontext.Value) []jsontext.Value {
	converted := make([]jsontext.Value, len(options))
	for i, o := range options {
		converted[i] = c.convert(o)
	}
	return converted
}

// openAPITypes are the types of OpenAPI.
var openAPITypes = []string{"string", "number", "integer", "boolean", "array", "object"}

// types returns at least one type, guessed where the schema has none, and
// whether null is allowed too.
func (c *converter) types(k keywords) (types []string, nullable bool) {
	all := elements(k.get("type"))
	if name := k.get("type"); name.Kind() == jsontext.KindString {
		all = []jsontext.Value{name}
	}
	for _, raw := range all {
		switch name := strings.ToLower(text(raw)); {
		case name == "null":
			nullable = true
		case slices.Contains(openAPITypes, name):
			types = append(types, name)
		default:
			c.lossy = true
		}
	}
	if len(types) > 0 {
		return types, nullable
	}
	switch {
	case k.get("properties") != nil:
		return []string{"object"}, nullable
	case k.get("items") != nil || k.get("prefixItems") != nil:
		return []string{"array"}, nullable
	case k.get("enum") == nil && k.get("const").Kind() == jsontext.KindNumber:
		return []string{"number"}, nullable
	case k.get("enum") == nil && (k.get("const").Kind() == jsontext.KindTrue || k.get("const").Kind() == jsontext.KindFalse):
		return []string{"boolean"}, nullable
	}
	c.lossy = c.lossy || k.get("enum") == nil && k.get("const") == nil && !hasOptions(k) // it may be anything
	return []string{"string"}, nullable
}

func hasOptions(k keywords) bool { return k.get("anyOf") != nil || k.get("oneOf") != nil }

func isNull(raw jsontext.Value) bool { return raw.Kind() == jsontext.KindNull }

// options are the schemas to choose from, and whether null was one: those of
// anyOf or oneOf, or one for each of several types.
func (c *converter) options(k keywords, types []string) (options []jsontext.Value, null bool) {
	all := elements(k.get("anyOf"))
	if all == nil {
		all = elements(k.get("oneOf"))
	} else if k.get("oneOf") != nil {
		c.lossy = true
	}
	if len(all) > 0 && slices.ContainsFunc(k, func(m member) bool { return slices.Contains(typeKeywords, m.name) }) {
		c.lossy = true // the choice only narrows the keywords around it
		all = nil
	}
	for _, o := range all {
		if text(keywords(members(o)).get("type")) == "null" {
			null = true
			continue
		}
		options = append(options, o)
	}
	if len(all) > 0 || len(types) == 1 {
		return options, null
	}
	for _, name := range types {
		one := slices.Clone(k)
		one.set("type", quote(name))
		var out object
		for _, m := range one {
			if m.name != "description" && m.name != "title" && m.name != "default" {
				out.add(m.name, m.value)
			}
		}
		options = append(options, out.done())
	}
	return options, null
}
