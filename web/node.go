package web

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// source is the parsed document. Its first fault stays, so that the walk need
// not stop at each step. YAML nodes rather than maps: the page keeps the
// document's order.
type source struct {
	root *yaml.Node
	err  error
}

// node is a value of the document, behind its alias and its $ref. An absent
// one has no value and only absent children.
type node struct {
	src   *source
	value *yaml.Node
	name  string // of the component, when a $ref led here
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
		s.fail("%q points nowhere", ref.Value)
	}
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

func (n node) get(key string) node { return n.src.resolve(member(n.value, key)) }

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

// texts is the scalars of a list, or the one scalar that stands for a list.
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

// text is a scalar as it is written, empty for anything else.
func (n node) text() string {
	if n.value == nil || n.value.Kind != yaml.ScalarNode {
		return ""
	}
	return n.value.Value
}

func (n node) isTrue() bool { return n.text() == "true" }

// json is the value as JSON text on one line, its members in the document's
// order.
func (n node) json() string {
	var b bytes.Buffer
	enc := jsontext.NewEncoder(&b, jsontext.SpaceAfterComma(true), jsontext.SpaceAfterColon(true))
	if err := n.encode(enc); err != nil {
		n.src.fail("line %d as JSON: %w", n.value.Line, err)
	}
	return strings.TrimSpace(b.String())
}

// pretty is the value as JSON text, over several lines only where one would be
// too long to read.
func (n node) pretty(indent string) string {
	const width = 88
	line := n.json()
	if len(indent)+len(line) <= width || n.value.Kind == yaml.ScalarNode {
		return line
	}
	inner := indent + "  "
	var lines []string
	for name, value := range n.members() {
		lines = append(lines, inner+strconv.Quote(name)+": "+value.pretty(inner))
	}
	open, end := "{", "}"
	if n.value.Kind == yaml.SequenceNode {
		open, end = "[", "]"
	}
	for _, item := range n.items() {
		lines = append(lines, inner+item.pretty(inner))
	}
	return open + "\n" + strings.Join(lines, ",\n") + "\n" + indent + end
}

func (n node) encode(enc *jsontext.Encoder) error {
	switch n.value.Kind {
	case yaml.MappingNode:
		if err := enc.WriteToken(jsontext.BeginObject); err != nil {
			return err
		}
		for key, value := range n.members() {
			if err := enc.WriteToken(jsontext.String(key)); err != nil {
				return err
			}
			if err := value.encode(enc); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndObject)
	case yaml.SequenceNode:
		if err := enc.WriteToken(jsontext.BeginArray); err != nil {
			return err
		}
		for _, item := range n.items() {
			if err := item.encode(enc); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndArray)
	default:
		if n.value.Tag == "!!str" {
			return enc.WriteToken(jsontext.String(n.value.Value))
		}
		return enc.WriteValue(jsontext.Value(n.value.Value)) // numbers, booleans and null are written alike
	}
}
