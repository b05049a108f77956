package main

import (
	"cmp"
	"slices"
	"strings"
)

// field is one row of the page: a value, and the rows inside it. The template reads from the
// schema what else it says.
type field struct {
	Name, Type string
	Required   bool
	Schema     *node
	Own        *node    // of a header or a parameter: what it says before its schema does
	Values     []string // that the schema allows, when it lists them
	Fields     []field  // members
	Variants   []field  // one of them applies
}

// HasMore reports whether the row has rows inside it.
func (f field) HasMore() bool { return len(f.Fields)+len(f.Variants) > 0 }

func newField(name string, required bool, s *node) field {
	f := field{Name: name, Required: required, Type: typeName(s), Schema: s, Values: values(s)}
	f.inside(s)
	return f
}

// inside adds the rows inside a schema. For an array they are those of its items,
// for a map those of its values.
func (f *field) inside(s *node) {
	needed := s.Get("required").texts()
	for name, property := range s.Get("properties").Members() {
		f.add(newField(name, slices.Contains(needed, name), property))
	}
	for _, part := range s.Get("allOf").items() {
		f.inside(part)
	}
	var variants []field // that have rows inside
	for _, v := range alternatives(s) {
		if row := newField(label(v), false, v); row.HasMore() {
			variants = append(variants, row)
		}
	}
	if len(variants) == 1 {
		f.inside(variants[0].Schema)
	} else {
		f.Variants = append(f.Variants, variants...)
	}
	if s != nil {
		f.inside(s.Get("items"))
		f.inside(s.Get("additionalProperties"))
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

// alternatives is the oneOf and anyOf of a schema, without those that only say
// which members are required.
func alternatives(s *node) []*node {
	all := append(s.Get("oneOf").items(), s.Get("anyOf").items()...)
	return slices.DeleteFunc(all, func(v *node) bool { return typeName(v) == "" })
}

func label(s *node) string { return cmp.Or(s.Get("title").Text(), typeName(s)) }

// typeName is the type of a value in words, empty when the schema has none.
func typeName(s *node) string {
	if items := s.Get("items"); items != nil {
		name := "array of " + cmp.Or(label(items), "anything")
		if slices.Contains(s.Get("type").texts(), "null") {
			name += " or null"
		}
		return name
	}
	if rest := s.Get("additionalProperties"); rest != nil {
		return "object of " + cmp.Or(label(rest), "anything")
	}
	if all := alternatives(s); len(all) > 0 {
		var names []string
		for _, v := range all {
			names = append(names, strings.Split(cmp.Or(typeName(v), label(v)), " or ")...)
		}
		return joinNames(names)
	}
	if types := s.Get("type").texts(); len(types) > 0 {
		return joinNames(types)
	}
	switch only := s.Get("const"); {
	case s.Get("properties") != nil, s.Get("allOf") != nil:
		return "object"
	case only != nil && only.Tag == "!!bool":
		return "boolean"
	case only != nil, s.Get("enum") != nil:
		return "string"
	}
	return ""
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

func values(s *node) []string {
	if c := s.Get("const"); c != nil {
		return []string{c.Text()}
	}
	all := s.Get("enum").texts()
	for _, v := range alternatives(s) {
		all = append(all, values(v)...)
	}
	return slices.DeleteFunc(all, func(v string) bool { return v == "null" })
}
