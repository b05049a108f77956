package main

import (
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// source is the parsed document. It keeps the first error, so that reading on
// needs no check at each step.
type source struct {
	root *yaml.Node
	err  error
}

// node is a value of the document, its alias and $ref followed. An absent one has
// no value and only absent children.
type node struct {
	src    *source
	value  *yaml.Node
	beside *yaml.Node // the object of the $ref: its other members come before those of value
	name   string     // of the component, when a $ref was followed
}

func parse(document []byte) (*source, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("parse document: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("document is empty")
	}
	return &source{root: doc.Content[0]}, nil
}

func (s *source) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *source) resolve(value *yaml.Node) node {
	if value != nil && value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	n := node{src: s, value: value}
	ref := member(value, "$ref")
	if ref == nil {
		return n
	}
	path, ok := strings.CutPrefix(ref.Value, "#/")
	if !ok {
		s.fail("%q does not point into the document", ref.Value)
		return node{src: s}
	}
	found := node{src: s, value: s.root}
	for key := range strings.SplitSeq(path, "/") {
		found = found.get(key)
		found.name = key
	}
	if !found.exists() {
		s.fail("%q is not in the document", ref.Value)
	}
	found.beside = value
	return found
}

func member(value *yaml.Node, key string) *yaml.Node {
	if value == nil || value.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(value.Content); i += 2 {
		if value.Content[i].Value == key {
			return value.Content[i+1]
		}
	}
	return nil
}

func (n node) exists() bool { return n.value != nil }

func (n node) get(key string) node {
	if v := member(n.beside, key); v != nil {
		return n.src.resolve(v)
	}
	return n.src.resolve(member(n.value, key))
}

// members yields the members of an object in the document's order.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.value == nil || n.value.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(n.value.Content); i += 2 {
			if !yield(n.value.Content[i].Value, n.src.resolve(n.value.Content[i+1])) {
				return
			}
		}
	}
}

func (n node) items() []node {
	if n.value == nil || n.value.Kind != yaml.SequenceNode {
		return nil
	}
	var all []node
	for _, value := range n.value.Content {
		all = append(all, n.src.resolve(value))
	}
	return all
}

// texts is the scalars of a list, or the one scalar in place of a list.
func (n node) texts() []string {
	if n.value != nil && n.value.Kind == yaml.ScalarNode {
		return []string{n.value.Value}
	}
	var all []string
	for _, item := range n.items() {
		all = append(all, item.text())
	}
	return all
}

// text is a scalar as the document writes it, empty for anything else.
func (n node) text() string {
	if n.value == nil || n.value.Kind != yaml.ScalarNode {
		return ""
	}
	return n.value.Value
}

func (n node) isTrue() bool { return n.text() == "true" }

// scalar writes a value that is neither an object nor a list.
type scalar func(node) string

// scalarJSON writes JSON: YAML writes numbers, booleans and null as JSON does.
func scalarJSON(n node) string {
	if n.value.Tag == "!!str" {
		return n.quote(n.value.Value)
	}
	return n.value.Value
}

// scalarPython writes Python, which reads a string of JSON as JSON does.
func scalarPython(n node) string {
	switch n.value.Tag {
	case "!!null":
		return "None"
	case "!!bool":
		return strings.ToUpper(n.value.Value[:1]) + n.value.Value[1:]
	}
	return scalarJSON(n)
}

// json is the value as JSON on one line, its members in the document's order.
func (n node) json() string { return n.line(scalarJSON) }

func (n node) line(write scalar) string {
	return n.join("", ", ", "", func(v node) string { return v.line(write) }, write)
}

// pretty is the value as a literal, on several lines only where one line would be too
// long to read.
func (n node) pretty(indent string, write scalar) string {
	const width = 88
	line := n.line(write)
	if len(indent)+len(line) <= width || n.value.Kind == yaml.ScalarNode {
		return line
	}
	inner := indent + "  "
	return n.join("\n"+inner, ",\n"+inner, "\n"+indent, func(v node) string { return v.pretty(inner, write) }, write)
}

// join writes the value: begin stands after an opening bracket, between
// after each value but the last, and end before the closing bracket.
func (n node) join(begin, between, end string, inside, write scalar) string {
	var parts []string
	switch n.value.Kind {
	case yaml.MappingNode:
		for name, value := range n.members() {
			parts = append(parts, n.quote(name)+": "+inside(value))
		}
		return "{" + begin + strings.Join(parts, between) + end + "}"
	case yaml.SequenceNode:
		for _, item := range n.items() {
			parts = append(parts, inside(item))
		}
		return "[" + begin + strings.Join(parts, between) + end + "]"
	}
	return write(n)
}

func (n node) quote(s string) string {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		n.src.fail("line %d: %w", n.value.Line, err)
	}
	return string(text)
}
