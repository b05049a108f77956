// Package rawjson reads JSON that is not decoded into types, and writes JSON
// objects whose members keep their order. Reading is lenient: a value of another
// type than the one asked for reads as empty.
package rawjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one of an object's members.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Members reads an object in the order in which it was written.
func Members(raw jsontext.Value) []Member {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil
	}
	var found []Member
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return found
		}
		name := tok.String()
		value, err := dec.ReadValue()
		if err != nil {
			return found
		}
		found = append(found, Member{name, value.Clone()})
	}
	return found
}

// Get is the value of an object's member, nil where the object has none of
// that name.
func Get(raw jsontext.Value, name string) jsontext.Value {
	for _, m := range Members(raw) {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Elements reads an array.
func Elements(raw jsontext.Value) []jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil
	}
	var found []jsontext.Value
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return found
		}
		found = append(found, value.Clone())
	}
	return found
}

// String is the text of a JSON string.
func String(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(s)
}

// GetString is the text of an object's member.
func GetString(raw jsontext.Value, name string) string { return String(Get(raw, name)) }

// Strings reads a string or an array of strings.
func Strings(raw jsontext.Value) []string {
	if raw.Kind() == '"' {
		return []string{String(raw)}
	}
	var list []string
	for _, s := range Elements(raw) {
		list = append(list, String(s))
	}
	return list
}

// Present reports whether an optional member is there and not null.
func Present(raw jsontext.Value) bool { return raw != nil && raw.Kind() != 'n' }
