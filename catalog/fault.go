package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The words of the YAML library, which name Go types.
var (
	yamlHeading  = regexp.MustCompile(`^yaml: (unmarshal errors:\n *)?`)
	unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongKind    = regexp.MustCompile("cannot unmarshal !!\\w+( `[^`]*`)? into (\\S+)")
)

// plainFault says what is wrong with a text that is not in the form of a file.
func plainFault(err error) error {
	text := yamlHeading.ReplaceAllString(err.Error(), "")
	text = unknownField.ReplaceAllString(text, "unknown field $1")
	text = wrongKind.ReplaceAllStringFunc(text, func(found string) string {
		parts := wrongKind.FindStringSubmatch(found)
		what := cmp.Or(strings.TrimSpace(parts[1]), "the value")
		switch kind := parts[2]; {
		case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "float"):
			return what + " is not a number"
		case kind == "bool":
			return what + " is neither true nor false"
		case strings.HasPrefix(kind, "[]"):
			return what + " is not a list"
		case kind == "string":
			return what + " is not a text"
		}
		return what + " is not a set of members"
	})
	return errors.New(text)
}

// faults are the faults of a file, each with its line.
type faults struct {
	text []byte
	root *yaml.Node // of text; nil until the first fault
	all  []error
}

// add adds the fault of a member, which is given by its path: names and indexes. A nil
// one adds nothing.
func (f *faults) add(err error, path ...any) {
	if err == nil {
		return
	}
	if line := f.line(path...); line > 0 {
		err = fmt.Errorf("line %d: %w", line, err)
	}
	f.all = append(f.all, err)
}

// line is the line of a member, or 0.
func (f *faults) line(path ...any) int {
	if f.root == nil {
		f.root = new(yaml.Node)
		_ = yaml.Unmarshal(f.text, f.root) // it has been read before
	}
	return lineOf(f.root, path)
}

func (f *faults) join() error { return errors.Join(f.all...) }

// lineOf is the line of a member, or 0.
func lineOf(node *yaml.Node, path []any) int {
	if node.Kind == yaml.DocumentNode && len(node.Content) > 0 {
		node = node.Content[0]
	}
	for _, step := range path {
		var found *yaml.Node
		switch at := step.(type) {
		case int:
			if at < len(node.Content) {
				found = node.Content[at]
			}
		case string:
			for pair := range slices.Chunk(node.Content, 2) { // keys and values
				if len(pair) == 2 && pair[0].Value == at {
					found = pair[1]
				}
			}
		}
		if found == nil {
			break
		}
		node = found
	}
	return node.Line
}
