// Package grammar checks the form of a JSON request: which members its objects may
// have, of which types and in which ranges.
package grammar

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
)

// Grammar says which fields the objects of a provider's request may have, as
// object → field → kind. The request itself is the object "request". A kind is
//
//	TYPE [!] [LOW..HIGH] [WORD…]
//
// where TYPE is string, integer, int32, number, boolean, object, any, the name
// of an object of the grammar, or NAME@FIELD/DEFAULT for the objects
// "NAME:value" that differ in FIELD. Types are joined by "|"; [] after one
// means a list of it, {} a map to it. "!" marks a field that must be there,
// LOW..HIGH the numbers and WORD… the strings that are taken.
//
// A file of a grammar is that in JSON. There, objects that are alike are one, under their
// names with spaces between them.
type Grammar map[string]map[string]string

// Read reads a file of a grammar. It panics where that is not one.
func Read(file []byte) Grammar {
	read, all := Grammar{}, Grammar{}
	if err := json.Unmarshal(file, &read); err != nil {
		panic(fmt.Sprintf("simulator: read a grammar: %v", err))
	}
	for names, fields := range read {
		for _, name := range strings.Fields(names) {
			all[name] = fields
		}
	}
	return all
}

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

// Violations returns all violations of the grammar in a request.
func (g Grammar) Violations(request jsontext.Value) []Violation {
	return g.object(request, "request", nil)
}

func (g Grammar) object(raw jsontext.Value, name string, at Path) []Violation {
	fields := g[name]
	seen := map[string]bool{}
	var found []Violation
	for _, m := range rawjson.Members(raw) {
		seen[m.Name] = true
		text, known := fields[m.Name]
		if !known {
			found = append(found, Violation{Kind: Unknown, Path: at.field(m.Name), Value: m.Value})
			continue
		}
		found = append(found, g.value(m.Value, parseKind(text), at.field(m.Name))...)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !seen[field] && parseKind(fields[field]).required {
			found = append(found, Violation{Kind: Missing, Path: at.field(field)})
		}
	}
	return found
}

func (g Grammar) value(raw jsontext.Value, k kind, at Path) []Violation {
	if raw.Kind() == 'n' && !k.required {
		return nil
	}
	for _, t := range k.types {
		if fits(t, raw) {
			return g.typed(raw, t, k, at)
		}
	}
	return []Violation{{Kind: Type, Path: at, Want: k.types[0], Value: raw}}
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

func (g Grammar) typed(raw jsontext.Value, t string, k kind, at Path) []Violation {
	var found []Violation
	if item, ok := strings.CutSuffix(t, "[]"); ok {
		inner := kind{types: []string{item}, required: true, low: k.low, high: k.high, words: k.words}
		for i, element := range rawjson.Elements(raw) {
			found = append(found, g.value(element, inner, at.at(i))...)
		}
		return found
	}
	if item, ok := strings.CutSuffix(t, "{}"); ok {
		inner := kind{types: []string{item}, required: true}
		for i, m := range rawjson.Members(raw) {
			found = append(found, g.value(m.Value, inner, at.at(i).field("value"))...)
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

func (k kind) checkWord(raw jsontext.Value, at Path) []Violation {
	if len(k.words) == 0 || slices.Contains(k.words, jsonbytes.Text(raw)) {
		return nil
	}
	return []Violation{{Kind: Word, Path: at, Allowed: k.words, Value: raw}}
}

func (k kind) checkNumber(raw jsontext.Value, t string, at Path) []Violation {
	n, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || n > k.high:
		return []Violation{{Kind: TooLarge, Path: at, Want: t, Bound: k.high, Value: raw}}
	case n < k.low:
		return []Violation{{Kind: TooSmall, Path: at, Want: t, Bound: k.low, Value: raw}}
	}
	return nil
}

// tagged checks an object whose kind may depend on one of its fields.
func (g Grammar) tagged(raw jsontext.Value, t string, at Path) []Violation {
	name, field, isUnion := strings.Cut(t, "@")
	if !isUnion {
		return g.object(raw, t, at)
	}
	field, tag, _ := strings.Cut(field, "/")
	value := jsonbytes.Member(raw, field)
	switch {
	case value.Kind() == '"':
		tag = jsonbytes.Text(value)
	case value != nil:
		return []Violation{{Kind: Type, Path: at.field(field), Want: "string", Value: value}}
	case tag == "":
		return []Violation{{Kind: Missing, Path: at.field(field)}}
	}
	if _, known := g[name+":"+tag]; !known {
		return []Violation{{Kind: Tag, Path: at.field(field), Allowed: g.tags(name), Value: jsontext.Value(strconv.Quote(tag))}}
	}
	return g.object(raw, name+":"+tag, at.tagged(tag))
}

func (g Grammar) tags(name string) []string {
	var tags []string
	for object := range g {
		if tag, ok := strings.CutPrefix(object, name+":"); ok {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}
