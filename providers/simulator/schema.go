package simulator

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A schema is read leniently: a keyword of the wrong type says nothing.
type schema map[string]jsontext.Value

func readSchema(raw jsontext.Value) schema {
	s := schema{}
	for _, m := range members(raw) {
		s[m.name] = m.value
	}
	return s
}

func (s schema) typeName() string {
	given := []string{text(s["type"])}
	for _, t := range elements(s["type"]) {
		given = append(given, text(t))
	}
	for _, t := range given {
		if t = strings.ToLower(t); t != "" && t != "null" {
			return t
		}
	}
	switch {
	case s["properties"] != nil:
		return "object"
	case s["items"] != nil || s["prefixItems"] != nil:
		return "array"
	}
	return given[0]
}

// number reads a keyword, also where it is quoted as Google quotes its int64.
func (s schema) number(keyword string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.Trim(string(s[keyword]), `"`), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

func firstNotNull(options []jsontext.Value) jsontext.Value {
	for _, option := range options {
		if text(member(option, "type")) != "null" {
			return option
		}
	}
	return options[0]
}

// openObject reports whether a schema has an object that allows further
// properties, which nobody can enforce.
func openObject(raw jsontext.Value) bool {
	s := readSchema(raw)
	if s.typeName() == "object" && string(s["additionalProperties"]) != "false" {
		return true
	}
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		for _, m := range members(s[keyword]) {
			if openObject(m.value) {
				return true
			}
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		if slices.ContainsFunc(elements(s[keyword]), openObject) {
			return true
		}
	}
	return s["items"].Kind() == '{' && openObject(s["items"])
}
