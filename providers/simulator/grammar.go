package simulator

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A grammar says which fields the objects of a provider's request may have, as
// object → field → kind. The request itself is the object "request". A kind is
//
//	TYPE [!] [LOW..HIGH] [WORD…]
//
// where TYPE is string, integer, int32, number, boolean, object, any, the name
// of an object of the grammar, or NAME@FIELD/DEFAULT for the objects
// "NAME:value" that FIELD tells apart. Types are joined by "|"; [] after one
// means a list of it, {} a map to it. "!" marks a field that must be there,
// LOW..HIGH the numbers and WORD… the strings that are taken.
type grammar map[string]map[string]string

type kind struct {
	types    []string
	required bool
	low      float64
	high     float64
	words    []string
}

func parseKind(text string) kind {
	fields := strings.Fields(text)
	k := kind{types: strings.Split(fields[0], "|"), low: math.Inf(-1), high: math.Inf(1)}
	for _, field := range fields[1:] {
		low, high, isRange := strings.Cut(field, "..")
		switch {
		case field == "!":
			k.required = true
		case isRange:
			k.low, k.high = bound(low, k.low), bound(high, k.high)
		default:
			k.words = append(k.words, field)
		}
	}
	return k
}

func bound(text string, open float64) float64 {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	return open
}

// flaws finds every way in which a request breaks the grammar.
func (g grammar) flaws(request jsontext.Value) []flaw {
	return g.object(request, "request", nil)
}

func (g grammar) object(raw jsontext.Value, name string, at path) []flaw {
	fields := g[name]
	seen := map[string]bool{}
	var found []flaw
	for _, m := range members(raw) {
		seen[m.name] = true
		text, known := fields[m.name]
		if !known {
			found = append(found, flaw{kind: flawUnknown, path: at.field(m.name), value: m.value})
			continue
		}
		found = append(found, g.value(m.value, parseKind(text), at.field(m.name))...)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !seen[field] && parseKind(fields[field]).required {
			found = append(found, flaw{kind: flawMissing, path: at.field(field)})
		}
	}
	return found
}

func (g grammar) value(raw jsontext.Value, k kind, at path) []flaw {
	if raw.Kind() == 'n' && !k.required {
		return nil
	}
	for _, t := range k.types {
		if fits(t, raw) {
			return g.typed(raw, t, k, at)
		}
	}
	return []flaw{{kind: flawType, path: at, want: k.types[0], value: raw}}
}

func fits(t string, raw jsontext.Value) bool {
	found := raw.Kind()
	if strings.HasSuffix(t, "[]") {
		return found == '['
	}
	switch t {
	case "any":
		return true
	case "string":
		return found == '"'
	case "boolean":
		return found == 't' || found == 'f'
	case "number":
		return found == '0'
	case "integer":
		_, err := strconv.ParseInt(string(raw), 10, 64)
		return err == nil
	case "int32":
		_, err := strconv.ParseInt(string(raw), 10, 32)
		return err == nil
	}
	return found == '{'
}

func (g grammar) typed(raw jsontext.Value, t string, k kind, at path) []flaw {
	var found []flaw
	if item, ok := strings.CutSuffix(t, "[]"); ok {
		inner := kind{types: []string{item}, required: true, low: k.low, high: k.high, words: k.words}
		for i, element := range elements(raw) {
			found = append(found, g.value(element, inner, at.at(i))...)
		}
		return found
	}
	if item, ok := strings.CutSuffix(t, "{}"); ok {
		inner := kind{types: []string{item}, required: true}
		for i, m := range members(raw) {
			found = append(found, g.value(m.value, inner, at.at(i).field("value"))...)
		}
		return found
	}
	switch t {
	case "any", "boolean", "object":
		return nil
	case "string":
		return k.checkWord(raw, at)
	case "number", "integer", "int32":
		return k.checkNumber(raw, t, at)
	}
	return g.tagged(raw, t, at)
}

func (k kind) checkWord(raw jsontext.Value, at path) []flaw {
	if len(k.words) == 0 || slices.Contains(k.words, text(raw)) {
		return nil
	}
	return []flaw{{kind: flawWord, path: at, allowed: k.words, value: raw}}
}

func (k kind) checkNumber(raw jsontext.Value, t string, at path) []flaw {
	n, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || n > k.high:
		return []flaw{{kind: flawTooLarge, path: at, want: t, bound: k.high, value: raw}}
	case n < k.low:
		return []flaw{{kind: flawTooSmall, path: at, want: t, bound: k.low, value: raw}}
	}
	return nil
}

// tagged checks an object that a field of it may tell apart from others.
func (g grammar) tagged(raw jsontext.Value, t string, at path) []flaw {
	name, field, isUnion := strings.Cut(t, "@")
	if !isUnion {
		return g.object(raw, t, at)
	}
	field, tag, _ := strings.Cut(field, "/")
	given := member(raw, field)
	switch {
	case given.Kind() == '"':
		tag = text(given)
	case given != nil:
		return []flaw{{kind: flawType, path: at.field(field), want: "string", value: given}}
	case tag == "":
		return []flaw{{kind: flawMissing, path: at.field(field)}}
	}
	if _, known := g[name+":"+tag]; !known {
		return []flaw{{kind: flawTag, path: at.field(field), allowed: g.tags(name), value: jsontext.Value(strconv.Quote(tag))}}
	}
	return g.object(raw, name+":"+tag, at.tagged(tag))
}

func (g grammar) tags(name string) []string {
	var tags []string
	for object := range g {
		if tag, ok := strings.CutPrefix(object, name+":"); ok {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}
