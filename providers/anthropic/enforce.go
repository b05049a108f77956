package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// change is how much of a schema had to be rewritten.
type change int

const (
	unchanged  change = iota
	harmless          // the same answers stay valid
	lossy             // rules are left out, and added to the description
	impossible        // valid answers cannot be given any more: the members of an object had no fixed names
)

// enforceable changes a schema into one that Anthropic can enforce, as its own
// SDKs do (anthropic-sdk-python, lib/_parse/_transform.py, 2026-08): objects are
// closed, and rules that it does not know become part of the description, where
// the model reads them. A schema that needs no change is returned as it came,
// and so is every part of it that needs none.
func enforceable(schema jsontext.Value) (jsontext.Value, change) {
	all := members(schema)
	if all == nil && schema.Kind() != jsontext.KindBeginObject {
		return schema, unchanged // true or false, or no schema
	}
	s := &schemaRewrite{alternatives: slices.ContainsFunc(all, func(m schemaMember) bool { return string(m.name) == `"anyOf"` })}
	for _, m := range all {
		s.member(m)
	}
	s.close(all)
	if s.change == unchanged {
		return schema, unchanged
	}
	return s.write(), s.change
}

// schemaRewrite is one object of a schema being rewritten.
type schemaRewrite struct {
	kept   []schemaMember
	hints  []string
	change change

	alternatives bool // it has anyOf
}

func (s *schemaRewrite) did(c change) { s.change = max(s.change, c) }

func (s *schemaRewrite) keepMember(m schemaMember) { s.kept = append(s.kept, m) }

// drop moves a rule to the description.
func (s *schemaRewrite) drop(m schemaMember) {
	s.did(lossy)
	s.hints = append(s.hints, strings.Trim(string(m.name), `"`)+": "+string(m.value))
}

// formats are those of strings that Anthropic enforces.
var formats = []string{
	`"date-time"`, `"time"`, `"date"`, `"duration"`, `"email"`, `"hostname"`, `"uri"`, `"ipv4"`, `"ipv6"`, `"uuid"`,
}

func (s *schemaRewrite) member(m schemaMember) {
	switch strings.Trim(string(m.name), `"`) {
	case "type", "enum", "const", "required", "$ref", "title", "description", "default":
		s.keepMember(m)
	case "properties", "$defs", "definitions":
		m.value = s.each(m.value)
		s.keepMember(m)
	case "items":
		if m.value.Kind() != jsontext.KindBeginObject {
			s.drop(m)
			return
		}
		m.value = s.inner(m.value)
		s.keepMember(m)
	case "oneOf":
		if s.alternatives {
			s.drop(m)
			return
		}
		s.did(harmless) // Anthropic has no exactly-one; alternatives rarely overlap
		m.name = jsontext.Value(`"anyOf"`)
		m.value = s.list(m.value)
		s.keepMember(m)
	case "anyOf", "allOf":
		m.value = s.list(m.value)
		s.keepMember(m)
	case "additionalProperties":
		if string(m.value) != "false" {
			s.did(lossy)
			m.value = jsontext.Value("false")
		}
		s.keepMember(m)
	case "format":
		s.keepIf(slices.Contains(formats, string(m.value)), m)
	case "minItems":
		s.keepIf(string(m.value) == "0" || string(m.value) == "1", m)
	case "pattern":
		s.keepIf(plainPattern(string(m.value)), m)
	case "$schema", "$id", "$comment", "$anchor", "examples", "deprecated", "readOnly", "writeOnly":
		s.did(harmless) // annotations
	default:
		s.drop(m)
	}
}

func (s *schemaRewrite) keepIf(taken bool, m schemaMember) {
	if taken {
		s.keepMember(m)
	} else {
		s.drop(m)
	}
}

// plainPattern reports whether a regular expression, as JSON, uses nothing that
// Anthropic's grammars lack: lookaround, back references, word boundaries.
func plainPattern(pattern string) bool {
	pattern = strings.ReplaceAll(pattern, "(?:", "")
	for _, sign := range []string{"(?", `\\b`, `\\B`, `\\1`, `\\2`, `\\3`, `\\k`} {
		if strings.Contains(pattern, sign) {
			return false
		}
	}
	return true
}

// inner rewrites a schema inside this one.
func (s *schemaRewrite) inner(schema jsontext.Value) jsontext.Value {
	out, c := enforceable(schema)
	s.did(c)
	return out
}

// each rewrites the schemas that an object holds by name.
func (s *schemaRewrite) each(object jsontext.Value) jsontext.Value {
	before := s.change
	s.change = unchanged
	all := members(object)
	for i := range all {
		all[i].value = s.inner(all[i].value)
	}
	if s.change != unchanged {
		object = (&schemaRewrite{kept: all}).write()
	}
	s.did(before)
	return object
}

// list rewrites the schemas of an array.
func (s *schemaRewrite) list(array jsontext.Value) jsontext.Value {
	if array.Kind() != jsontext.KindBeginArray {
		return array
	}
	before := s.change
	s.change = unchanged
	out := []byte{'['}
	for i, schema := range elements(array) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, s.inner(schema)...)
	}
	if s.change != unchanged {
		array = append(out, ']')
	}
	s.did(before)
	return array
}

// close forbids other properties where the schema of an object leaves that open.
// Where the members of the object have no names in the schema it can hold none
// then.
func (s *schemaRewrite) close(all []schemaMember) {
	var object, further bool
	var properties, others jsontext.Value
	for _, m := range all {
		switch string(m.name) {
		case `"type"`:
			object = object || strings.Contains(string(m.value), `"object"`)
		case `"properties"`:
			object, properties = true, m.value
		case `"$ref"`, `"anyOf"`, `"oneOf"`, `"allOf"`:
			further = true
		case `"additionalProperties"`:
			others = m.value
		case `"patternProperties"`:
			s.did(impossible)
		}
	}
	if !object {
		return
	}
	if others == nil {
		s.did(harmless)
		s.keepMember(schemaMember{name: jsontext.Value(`"additionalProperties"`), value: jsontext.Value("false")})
	}
	unnamed := others == nil && properties == nil || others.Kind() == jsontext.KindTrue && len(members(properties)) == 0
	if others.Kind() == jsontext.KindBeginObject || unnamed && !further {
		s.did(impossible)
	}
}

// write puts the object together.
func (s *schemaRewrite) write() jsontext.Value {
	if len(s.hints) > 0 {
		s.describe("{" + strings.Join(s.hints, ", ") + "}")
	}
	out := []byte{'{'}
	for i, m := range s.kept {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.name...), ':'), m.value...)
	}
	return append(out, '}')
}

// describe adds to the description.
func (s *schemaRewrite) describe(hint string) {
	for i, m := range s.kept {
		if string(m.name) != `"description"` {
			continue
		}
		if m.value.Kind() == jsontext.KindString {
			text, err := jsontext.AppendUnquote(nil, m.value)
			if err == nil {
				hint = string(text) + "\n\n" + hint
			}
		}
		s.kept[i].value = quote(hint)
		return
	}
	s.keepMember(schemaMember{name: jsontext.Value(`"description"`), value: quote(hint)})
}

// objectSchema is a tool's schema with the type object, which Anthropic requires.
// All other bytes stay as they came.
func objectSchema(schema jsontext.Value) jsontext.Value {
	const object = `"object"`
	switch {
	case !llm.Given(schema):
		return jsontext.Value(`{"type":"object","properties":{}}`)
	case bytes.HasPrefix(schema, []byte(`{"type":"object"`)): // the most frequent form
		return schema
	}
	for _, m := range members(schema) {
		if string(m.name) != `"type"` {
			continue
		}
		if string(m.value) == object {
			return schema
		}
		end := m.at + len(m.value)
		return slices.Concat(schema[:m.at], []byte(object), schema[end:])
	}
	open := bytes.IndexByte(schema, '{') + 1
	comma := ","
	if len(members(schema)) == 0 {
		comma = ""
	}
	return slices.Concat(schema[:open], []byte(`"type":"object"`+comma), schema[open:])
}

// typeOf is the type a schema declares, as JSON; empty when it declares none.
func typeOf(schema jsontext.Value) string {
	for _, m := range members(schema) {
		if string(m.name) == `"type"` {
			return string(m.value)
		}
	}
	return ""
}

// isObjectType says whether a schema is one of objects, as far as its type says.
func isObjectType(schema jsontext.Value) bool {
	kind := typeOf(schema)
	return kind == "" || kind == `"object"`
}

// schemaMember is one member of an object, as it was written.
type schemaMember struct {
	name  jsontext.Value // with its quotes
	value jsontext.Value
	at    int // where the value begins in its object
}

// members reads an object that is known to be valid; nil for anything else.
func members(object jsontext.Value) []schemaMember {
	if object.Kind() != jsontext.KindBeginObject {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	var all []schemaMember
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		name = name.Clone()
		value, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		end := int(dec.InputOffset())
		all = append(all, schemaMember{name: name, value: object[end-len(value) : end], at: end - len(value)})
	}
	return all
}

// elements reads an array that is known to be valid.
func elements(array jsontext.Value) []jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewBuffer(array), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	var all []jsontext.Value
	for dec.PeekKind() > 0 && dec.PeekKind() != jsontext.KindEndArray {
		value, err := dec.ReadValue()
		if err != nil {
			return all
		}
		all = append(all, value.Clone())
	}
	return all
}
