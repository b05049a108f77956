package main

import (
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// openAPI is the parsed document. It keeps the first error, so that reading on
// needs no check at each step.
type openAPI struct {
	root *yaml.Node
	err  error
}

// node is a value of the document, its alias and $ref followed. An absent one is nil, and has only
// absent children.
type node struct {
	*yaml.Node
	doc    *openAPI
	beside *yaml.Node // the object of the $ref: its other members come before those of the value
	name   string     // of the component, when a $ref was followed
}

func parse(text []byte) (*node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("parse document: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("document is empty")
	}
	d := &openAPI{root: doc.Content[0]}
	return d.resolve(d.root), nil
}

func (d *openAPI) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

func (d *openAPI) resolve(value *yaml.Node) *node {
	if value != nil && value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value == nil {
		return nil
	}
	ref := member(value, "$ref")
	if ref == nil {
		return &node{Node: value, doc: d}
	}
	path, ok := strings.CutPrefix(ref.Value, "#/")
	if !ok {
		d.fail("%q does not point into the document", ref.Value)
		return nil
	}
	keys := strings.Split(path, "/")
	found := (&node{Node: d.root, doc: d}).Get(keys...)
	if found == nil {
		d.fail("%q is not in the document", ref.Value)
		return nil
	}
	found.beside, found.name = value, keys[len(keys)-1]
	return found
}

func member(value *yaml.Node, key string) *yaml.Node {
	if value != nil && value.Kind == yaml.MappingNode {
		for i := 0; i < len(value.Content); i += 2 {
			if value.Content[i].Value == key {
				return value.Content[i+1]
			}
		}
	}
	return nil
}

// Get returns what lies at a path of members.
func (n *node) Get(path ...string) *node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		found := member(n.beside, key)
		if found == nil {
			found = member(n.Node, key)
		}
		n = n.doc.resolve(found)
	}
	return n
}

// Members yields the members of an object in the document's order, and the items of a list without names.
func (n *node) Members() iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		if n == nil {
			return
		}
		name := ""
		for i, value := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				name = value.Value
				continue
			}
			if !yield(name, n.doc.resolve(value)) {
				return
			}
		}
	}
}

func (n *node) items() []*node {
	var all []*node
	for _, item := range n.Members() {
		all = append(all, item)
	}
	return all
}

// texts is the scalars of a list, or the one scalar in place of a list.
func (n *node) texts() []string {
	if n.Text() != "" {
		return []string{n.Value}
	}
	var all []string
	for _, item := range n.Members() {
		all = append(all, item.Text())
	}
	return all
}

// Text is a scalar as the document writes it, empty for anything else.
func (n *node) Text() string {
	if n == nil {
		return ""
	}
	return n.Value
}

// Literal is the value as JSON, or in Python, on several lines only where one line would be too long to read. Its members
// are in the document's order. YAML writes numbers, booleans and null as JSON does, and Python reads a string of JSON as JSON does.
func (n *node) Literal(indent string, python bool) string {
	const width = 88
	if n.Kind == yaml.ScalarNode {
		switch {
		case n.Tag == "!!str":
			return n.quote(n.Value)
		case python && n.Tag == "!!null":
			return "None"
		case python && n.Tag == "!!bool":
			return strings.ToUpper(n.Value[:1]) + n.Value[1:]
		}
		return n.Value
	}
	inner := indent + "  "
	begin, end := "[", "]"
	var parts []string
	for name, value := range n.Members() {
		part := value.Literal(inner, python)
		if n.Kind == yaml.MappingNode {
			begin, end, part = "{", "}", n.quote(name)+": "+part
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 && n.Kind == yaml.MappingNode {
		return "{}"
	}
	line := begin + strings.Join(parts, ", ") + end
	if len(indent)+len(line) <= width && !strings.Contains(line, "\n") {
		return line
	}
	return begin + "\n" + inner + strings.Join(parts, ",\n"+inner) + "\n" + indent + end
}

func (n *node) quote(s string) string {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		n.doc.fail("line %d: %w", n.Line, err)
	}
	return string(text)
}
