// Package rawjson writes JSON objects whose members keep their order, and reads JSON that is
// not decoded into types: a value of another type than the one asked for reads as empty.
package rawjson

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// Member is one of an object's members.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Members are those of an object, in the order in which it was written.
func Members(raw jsontext.Value) (all []Member) {
	if raw.Kind() != jsontext.KindBeginObject {
		return nil
	}
	for name, value := range jsonbytes.Members(raw) {
		all = append(all, Member{name.String(), value})
	}
	return all
}

// Elements are those of an array.
func Elements(raw jsontext.Value) []jsontext.Value { return slices.Collect(jsonbytes.Elements(raw)) }

// GetString is the text of an object's member.
func GetString(raw jsontext.Value, name string) string {
	return jsonbytes.Text(jsonbytes.Member(raw, name))
}

// Strings reads a string or an array of strings.
func Strings(raw jsontext.Value) (list []string) {
	if raw.Kind() == jsontext.KindString {
		return []string{jsonbytes.Text(raw)}
	}
	for s := range jsonbytes.Elements(raw) {
		list = append(list, jsonbytes.Text(s))
	}
	return list
}
