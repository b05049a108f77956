package simulator

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

type flawKind int

const (
	flawUnknown  flawKind = iota // a field that does not exist
	flawMissing                  // a field that must be there
	flawType                     // a value of another type than want
	flawWord                     // a string that is none of allowed
	flawTag                      // an object of none of the kinds allowed
	flawTooSmall                 // a number beyond bound
	flawTooLarge
)

// A flaw is one way in which a request breaks the grammar. Every provider words
// it differently.
type flaw struct {
	kind    flawKind
	path    path
	want    string
	allowed []string
	bound   float64
	value   jsontext.Value
}

// A path leads to a value inside a request. Tags are the kinds of object passed
// on the way; only Anthropic names them.
type path []step

type step struct {
	name  string
	index int
	tag   bool
}

func (p path) field(name string) path { return append(p[:len(p):len(p)], step{name: name}) }
func (p path) at(index int) path      { return append(p[:len(p):len(p)], step{index: index}) }
func (p path) tagged(tag string) path {
	return append(p[:len(p):len(p)], step{name: tag, tag: true})
}

// brackets writes a path as OpenAI and Google do: a.b[0].c.
func (p path) brackets() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.tag:
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}
