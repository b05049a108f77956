package anthropic

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

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
