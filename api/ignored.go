package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// MaxIgnored is how many names of ignored members are collected at most: about as many as
// the header that tells them has room for.
const MaxIgnored = 250

// Left says what of a top-level member of a body is left out.
type Left struct {
	Whole bool     // all of it, unless it asks for nothing
	Idle  string   // the value by which a member that is left out asks for nothing; empty = none
	Known []string // the members of an object that have a place; nil = those of names are all that is left out
}

// InOrder are the names of what is left out of a body, in the order of the body; parts of
// one member are in alphabetical order. names are those that are known to be left out, such
// as messages[].content[].type.
func InOrder(body []byte, names map[string]bool, left func(member string) Left) []string {
	byMember := map[string][]string{}
	for name := range names {
		byMember[root(name)] = append(byMember[root(name)], name)
	}
	var all []string
	for literal, value := range scan.Members(body) {
		name := string(literal.Text())
		is := left(name)
		switch {
		case is.Whole:
			if len(all) < MaxIgnored && Asks(value) && string(value) != is.Idle {
				all = append(all, Clip(name))
			}
			delete(byMember, name)
			continue
		case is.Known != nil && value.Kind() == jsontext.KindBeginObject:
			byMember[name] = others(byMember[name], name, value, is.Known)
		}
		parts := byMember[name]
		slices.Sort(parts)
		all = append(all, parts...)
		delete(byMember, name)
	}
	if len(byMember) == 0 {
		return all
	}
	rest := slices.Concat(slices.Collect(maps.Values(byMember))...)
	slices.Sort(rest)
	return append(rest, all...)
}

// others adds to names those members of an object that are not among known.
func others(names []string, of string, object jsontext.Value, known []string) []string {
	for literal, value := range scan.Members(object) {
		name := literal.String()
		if len(names) < MaxIgnored && !slices.Contains(known, name) && Asks(value) {
			names = append(names, of+"."+Clip(name))
		}
	}
	return names
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
		for range scan.Elements(value) {
			return true
		}
		return false
	case jsontext.KindBeginObject:
		for range scan.Members(value) {
			return true
		}
		return false
	}
	return llm.Given(value) && string(value) != `""`
}
