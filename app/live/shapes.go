package live

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// known are the shapes of recorded answers.
//
//go:embed shapes.txt
var known string

// shapes are what answers consist of, by provider and form, such as "anthropic messages stream".
type shapes map[string]*form

// form is the shape of answers of one kind.
type form struct {
	// nodes are the objects of an answer by their place, such as ".content(text)": with the value of their member type.
	nodes  map[string]map[string]*member
	after  map[string]map[string]bool // of a stream: the events that may follow an event
	always map[string]bool            // of a stream: the events without which there is none
}

type member struct {
	types    map[string]bool // JSON's
	optional bool
}

// begin and end stand for the beginning and the end of a stream in form.after.
const begin, end = "^", "$"

// free are members whose value is the caller's or the model's own, or is echoed: nothing is expected inside.
const free = " args input arguments metadata parameters schema tools tool_choice format logprobs logprobsResult groundingMetadata " +
	"embedding values "

func isFree(name string) bool { return strings.Contains(free, " "+name+" ") }

// walk visits the objects of a value with their places, and those inside them where visit says so.
func walk(at string, value any, visit func(node string, object map[string]any) bool) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			walk(at, element, visit)
		}
	case map[string]any:
		if kind, is := v["type"].(string); is {
			at += "(" + kind + ")"
		}
		if !visit(at, v) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !isFree(name) {
				walk(at+"."+name, v[name], visit)
			}
		}
	}
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// readShapes reads what String writes.
func readShapes(text string) (shapes, error) {
	all, now := shapes{}, (*form)(nil)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
			continue
		case line[0] != ' ':
			now = all.form(strings.Join(fields, " "))
			continue
		case now == nil || len(fields) < 2:
			return nil, fmt.Errorf("shapes: %q", line)
		case fields[0] == "always":
			now.always = setOf(fields[1:])
			continue
		case fields[1] == ">":
			now.after[fields[0]] = setOf(fields[2:])
			continue
		}
		dot := strings.LastIndexByte(fields[0], '.')
		node, name := fields[0][:dot], fields[0][dot+1:]
		name, optional := strings.CutSuffix(name, "?")
		if now.nodes[node] == nil {
			now.nodes[node] = map[string]*member{}
		}
		now.nodes[node][name] = &member{setOf(strings.Split(fields[1], "|")), optional}
	}
	return all, nil
}

func (s shapes) form(name string) *form {
	if s[name] == nil {
		s[name] = &form{nodes: map[string]map[string]*member{}, after: map[string]map[string]bool{}}
	}
	return s[name]
}

func setOf(words []string) map[string]bool {
	set := map[string]bool{}
	for _, word := range words {
		set[word] = true
	}
	return set
}
