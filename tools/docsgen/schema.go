package main

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
)

// field is one row of the page: a value, what its schema says, and the rows
// inside it.
type field struct {
	Name       string
	Type       string
	Required   bool
	Deprecated bool
	Text       template.HTML
	Values     []string // that the schema allows, when it lists them
	Limits     []string
	Fields     []field // members
	Variants   []field // one of them applies
}

// HasMore reports whether the row has rows inside it.
func (f field) HasMore() bool { return len(f.Fields)+len(f.Variants) > 0 }

func newField(name string, required bool, s node) field {
	f := field{
		Name: name, Required: required, Type: typeName(s),
		Text:       prose(s.get("description").text()),
		Deprecated: s.get("deprecated").isTrue(),
		Limits:     limits(s),
	}
	f.Values = values(s)
	f.inside(s)
	return f
}

// inside adds the rows inside a schema. For an array they are those of its items,
// for a map those of its values.
func (f *field) inside(s node) {
	needed := s.get("required").texts()
	for name, property := range s.get("properties").members() {
		f.add(newField(name, slices.Contains(needed, name), property))
	}
	for _, part := range s.get("allOf").items() {
		f.inside(part)
	}
	variants := structured(s)
	if len(variants) == 1 {
		f.inside(variants[0])
	}
	if len(variants) > 1 {
		for _, v := range variants {
			f.Variants = append(f.Variants, newField(label(v), false, v))
		}
	}
	if items := s.get("items"); items.exists() {
		f.inside(items)
	}
	if rest := s.get("additionalProperties"); rest.exists() {
		f.inside(rest)
	}
}

// add appends a member. In an allOf several schemas may describe one member: a
// later one narrows the row of an earlier one.
func (f *field) add(member field) {
	i := slices.IndexFunc(f.Fields, func(have field) bool { return have.Name == member.Name })
	if i < 0 {
		f.Fields = append(f.Fields, member)
		return
	}
	have := &f.Fields[i]
	if len(member.Values) > 0 {
		have.Values = member.Values
	}
	for _, inner := range member.Fields {
		have.add(inner)
	}
}

// structured is the alternatives of a schema that have rows inside.
func structured(s node) []node {
	var all []node
	for _, v := range alternatives(s) {
		f := field{}
		f.inside(v)
		if f.HasMore() {
			all = append(all, v)
		}
	}
	return all
}

// alternatives is the oneOf and anyOf of a schema, without those that only say
// which members are required.
func alternatives(s node) []node {
	all := append(s.get("oneOf").items(), s.get("anyOf").items()...)
	return slices.DeleteFunc(all, func(v node) bool { return typeName(v) == "" })
}

func label(s node) string {
	if title := s.get("title").text(); title != "" {
		return title
	}
	return typeName(s)
}

// typeName is the type of a value in words, empty when the schema has none.
func typeName(s node) string {
	if items := s.get("items"); items.exists() {
		return orNull("array of "+cmp.Or(label(items), "anything"), s)
	}
	if rest := s.get("additionalProperties"); rest.exists() {
		return "object of " + cmp.Or(label(rest), "anything")
	}
	if all := alternatives(s); len(all) > 0 {
		var names []string
		for _, v := range all {
			names = append(names, strings.Split(cmp.Or(typeName(v), label(v)), " or ")...)
		}
		return joinNames(names)
	}
	if types := s.get("type").texts(); len(types) > 0 {
		return joinNames(types)
	}
	switch {
	case s.get("properties").exists(), s.get("allOf").exists():
		return "object"
	case s.get("enum").exists():
		return "string"
	case s.get("const").exists():
		if s.get("const").value.Tag == "!!bool" {
			return "boolean"
		}
		return "string"
	}
	return ""
}

// orNull adds to the name of an array that it may be null.
func orNull(name string, s node) string {
	if slices.Contains(s.get("type").texts(), "null") {
		return name + " or null"
	}
	return name
}

// joinNames lists each type once, null last.
func joinNames(names []string) string {
	var once []string
	for _, name := range names {
		if name != "null" && !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	if slices.Contains(names, "null") {
		once = append(once, "null")
	}
	return strings.Join(once, " or ")
}

func values(s node) []string {
	if c := s.get("const"); c.exists() {
		return []string{c.text()}
	}
	all := s.get("enum").texts()
	for _, v := range alternatives(s) {
		all = append(all, values(v)...)
	}
	return slices.DeleteFunc(all, func(v string) bool { return v == "null" })
}

func limits(s node) []string {
	var all []string
	low, top := s.get("minimum").text(), s.get("maximum").text()
	switch {
	case low != "" && top != "":
		all = append(all, low+" to "+top)
	case low != "":
		all = append(all, "at least "+low)
	}
	if s.get("minItems").exists() {
		all = append(all, "at least "+s.get("minItems").text()+" item")
	}
	if v := s.get("format"); v.exists() {
		all = append(all, v.text())
	}
	if v := s.get("pattern"); v.exists() {
		all = append(all, "matches "+v.text())
	}
	if v := s.get("default"); v.exists() {
		all = append(all, "default "+v.json())
	}
	if v := s.get("example"); v.exists() {
		all = append(all, "e.g. "+v.json())
	}
	for _, v := range s.get("examples").items() {
		all = append(all, "e.g. "+v.json())
	}
	return all
}
