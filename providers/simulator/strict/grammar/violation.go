package grammar

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ViolationKind is what is wrong.
type ViolationKind int

// The kinds of violations.
const (
	Unknown  ViolationKind = iota // a field that does not exist
	Missing                       // a field that must be there
	Type                          // a value of another type than Want
	Word                          // a string that is not in Allowed
	Tag                           // an object of none of the kinds Allowed
	TooSmall                      // a number below Bound
	TooLarge                      // a number above Bound
)

// Violation is one violation of the grammar. Each provider has its own message
// for it.
type Violation struct {
	Kind    ViolationKind
	Path    Path
	Want    string
	Allowed []string
	Bound   float64
	Value   jsontext.Value
}

// Path leads to a value inside a request.
type Path []Step

// Step is the name of a field, the index of an element where there is no name, or
// the tag of the object that the path enters. Only Anthropic shows tags.
type Step struct {
	Name  string
	Index int
	tag   bool
}

func (p Path) field(name string) Path { return append(p[:len(p):len(p)], Step{Name: name}) }
func (p Path) at(index int) Path      { return append(p[:len(p):len(p)], Step{Index: index}) }
func (p Path) tagged(tag string) Path {
	return append(p[:len(p):len(p)], Step{Name: tag, tag: true})
}

// Brackets writes a path as OpenAI and Google do: a.b[0].c.
func (p Path) Brackets() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.tag:
		case s.Name == "":
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.Name)
		default:
			b.WriteString(s.Name)
		}
	}
	return b.String()
}

// Dots writes a path as Anthropic does, with tags: a.b.0.text.c.
func (p Path) Dots() string {
	names := make([]string, len(p))
	for i, s := range p {
		names[i] = s.Name
		if s.Name == "" {
			names[i] = strconv.Itoa(s.Index)
		}
	}
	return strings.Join(names, ".")
}
