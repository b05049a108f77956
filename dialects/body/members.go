package body

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Member is one of the members that a dialect's requests have.
type Member struct {
	Name string
	// Lost says that it has no place in the common form, so that a translation leaves it out.
	Lost bool
	// Idle is the value by which a member that is lost asks for nothing; empty = none.
	Idle string
	// Inner are the members of an object that have a place; nil = all, or none is looked for.
	Inner []string
}

// Table has the members of a dialect's requests by their numbers, which are those of the
// dialect's own type.
type Table[N ~int] struct {
	members []Member
	numbers map[string]N
}

// NewTable makes a table of the members in the order of their numbers.
func NewTable[N ~int](members ...Member) Table[N] {
	t := Table[N]{members: members, numbers: make(map[string]N, len(members))}
	for i := range members {
		t.numbers[members[i].Name] = N(i)
	}
	return t
}

// Of is the number of a member.
func (t Table[N]) Of(name []byte) (N, bool) {
	n, known := t.numbers[string(name)]
	return n, known
}

// Name is the name of a member.
func (t Table[N]) Name(n N) string { return t.members[n].Name }

// Leave notes what of a member that has been read has no place in the common form.
func (t Table[N]) Leave(left *Names, n N, value jsontext.Value) {
	m := &t.members[n]
	switch {
	case m.Lost:
		if Asks(value) && string(value) != m.Idle {
			left.Put(m.Name)
		}
	case m.Inner != nil && value.Kind() == jsontext.KindBeginObject:
		for name, inner := range jsonbytes.Members(value) {
			if text := name.Text(); !slices.Contains(m.Inner, string(text)) {
				left.Add(m.Name+".", text, inner)
			}
		}
	}
}

// MaxNames is how many names of members that are left out are collected at most: about as
// many as the header that tells them has room for.
const MaxNames = 250

// Names are the names of members that are left out, such as messages[].content[].type.
type Names map[string]bool

// Add adds a member of the objects at a path, unless its value asks for nothing. An empty
// object may switch something on where it is an option of the request; SDKs send such in the
// history.
func (n *Names) Add(path string, name []byte, value jsontext.Value) {
	if len(*n) < MaxNames && (Asks(value) || path == "" && value.Kind() == jsontext.KindBeginObject) {
		n.Put(path + api.Clip(string(name)))
	}
}

// Put adds a name.
func (n *Names) Put(name string) {
	if *n == nil {
		*n = Names{}
	}
	if len(*n) < MaxNames {
		(*n)[name] = true
	}
}

// InOrder are the names in the order of a body; parts of one member are in alphabetical order.
func (n Names) InOrder(body []byte) []string {
	if len(n) == 0 {
		return nil
	}
	byMember := map[string][]string{}
	for name := range n {
		byMember[root(name)] = append(byMember[root(name)], name)
	}
	var all []string
	for literal := range jsonbytes.Members(body) {
		name := api.Clip(literal.String())
		parts := byMember[name]
		slices.Sort(parts)
		all = append(all, parts...)
		delete(byMember, name)
	}
	if len(byMember) == 0 {
		return all
	}
	rest := slices.Concat(slices.Collect(maps.Values(byMember))...) // fields that the body has under another name
	slices.Sort(rest)
	return append(rest, all...)
}

// root is the member that a name such as messages[].content[].type belongs to.
func root(name string) string {
	if i := strings.IndexAny(name, "[."); i > 0 {
		return name[:i]
	}
	return name
}

// Asks says whether a member's value asks for anything.
func Asks(value jsontext.Value) bool {
	switch value.Kind() {
	case jsontext.KindBeginArray:
		for range jsonbytes.Elements(value) {
			return true
		}
		return false
	case jsontext.KindBeginObject:
		for range jsonbytes.Members(value) {
			return true
		}
		return false
	}
	return llm.Given(value) && string(value) != `""`
}

// Texts are the texts of a prompt.
type Texts struct {
	Whole  map[string]bool // members that are one text, as they are written: schemas, the input of a call
	Silent map[string]bool // members that are no text of the prompt
	Data   string          // a silent member that is a text in an object of type text; empty = none
}

// In yields all texts of a value, and returns whether all have been wanted.
func (t *Texts) In(value jsontext.Value, yield func(string) bool) bool {
	switch value.Kind() {
	case jsontext.KindString:
		return yield(jsonbytes.Text(value))
	case jsontext.KindBeginArray:
		for element := range jsonbytes.Elements(value) {
			if !t.In(element, yield) {
				return false
			}
		}
	case jsontext.KindBeginObject:
		for literal, inner := range jsonbytes.Members(value) {
			name := string(literal.Text())
			switch {
			case t.Whole[name]:
				if !yield(string(inner)) {
					return false
				}
			case t.Silent[name] && (name != t.Data || jsonbytes.Text(jsonbytes.Member(value, "type")) != "text"):
			case !t.In(inner, yield):
				return false
			}
		}
	}
	return true
}
