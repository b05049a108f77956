package simulator

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// fullDepth is how deep optional properties are filled in; below it only
	// the required ones are.
	fullDepth = 2
	// maxDepth and maxValues end a schema that goes on for ever.
	maxDepth  = 12
	maxValues = 5000
)

// instance invents a JSON value of a schema (JSON Schema or OpenAPI, as the
// three providers take it). Its strings come from the text; the nth instance
// begins with the nth candidate, so that parallel calls differ.
func instance(schema jsontext.Value, asked string, nth int) jsontext.Value {
	if schema == nil {
		return jsontext.Value("{}")
	}
	in := &inventor{root: schema, words: candidates(asked), next: nth, nth: nth}
	return spaced(in.value(schema, 0))
}

// spaced writes JSON the way models do, with a space after colons and commas.
func spaced(raw jsontext.Value) jsontext.Value {
	out, err := jsontext.AppendFormat(nil, raw, jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil {
		return raw
	}
	return out
}

type inventor struct {
	root  jsontext.Value
	words []string
	next  int // which of words comes next
	nth   int
	made  int
}

func (in *inventor) value(raw jsontext.Value, depth int) jsontext.Value {
	in.made++
	if depth > maxDepth || in.made > maxValues {
		return jsontext.Value("null")
	}
	s := readSchema(raw)
	if ref := text(s["$ref"]); ref != "" {
		return in.value(in.resolve(ref), depth+1)
	}
	if s["const"] != nil {
		return s["const"]
	}
	if allowed := elements(s["enum"]); len(allowed) > 0 {
		return allowed[in.nth%len(allowed)]
	}
	if all := elements(s["allOf"]); len(all) > 0 {
		return in.value(in.merge(s, all), depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if options := elements(s[keyword]); len(options) > 0 && s.typeName() == "" {
			return in.value(firstNotNull(options), depth+1)
		}
	}
	return in.typed(s, depth)
}

func (in *inventor) typed(s schema, depth int) jsontext.Value {
	switch s.typeName() {
	case "object":
		return in.object(s, depth)
	case "array":
		return in.array(s, depth)
	case "string":
		return encode(in.string(s))
	case "integer":
		return encode(int64(clamp(s, 1)))
	case "number":
		return encode(clamp(s, 1))
	case "boolean":
		return jsontext.Value("true")
	}
	if text(s["type"]) == "null" {
		return jsontext.Value("null")
	}
	return encode(in.string(s))
}

func (in *inventor) object(s schema, depth int) jsontext.Value {
	var required []string
	for _, name := range elements(s["required"]) {
		required = append(required, text(name))
	}
	made := jsontext.Value("{")
	for _, m := range members(s["properties"]) {
		if depth >= fullDepth && !slices.Contains(required, m.name) {
			continue
		}
		if len(made) > 1 {
			made = append(made, ',')
		}
		made = append(append(made, encode(m.name)...), ':')
		made = append(made, in.value(m.value, depth+1)...)
	}
	return append(made, '}')
}

func (in *inventor) array(s schema, depth int) jsontext.Value {
	kinds := elements(s["prefixItems"])
	count := max(1, len(kinds))
	if n, ok := s.number("minItems"); ok {
		count = max(count, int(min(n, 100)))
	}
	if n, ok := s.number("maxItems"); ok {
		count = min(count, max(0, int(n)))
	}
	made := []jsontext.Value{}
	for i := range count {
		kind := s["items"]
		if i < len(kinds) {
			kind = kinds[i]
		}
		made = append(made, in.value(kind, depth+1))
	}
	return encode(made)
}

func (in *inventor) string(s schema) string {
	switch text(s["format"]) {
	case "date-time":
		return "2026-01-01T00:00:00Z"
	case "date":
		return "2026-01-01"
	case "time":
		return "12:00:00Z"
	case "email":
		return "someone@example.com"
	case "uri", "url":
		return "https://example.com/"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	word := in.words[in.next%len(in.words)]
	in.next++
	if n, ok := s.number("minLength"); ok && len([]rune(word)) < int(min(n, 1000)) {
		word += strings.Repeat("x", int(min(n, 1000))-len([]rune(word)))
	}
	if n, ok := s.number("maxLength"); ok && len([]rune(word)) > int(n) {
		word = string([]rune(word)[:max(0, int(n))])
	}
	return word
}

// clamp moves a number into the bounds of a schema.
func clamp(s schema, n float64) float64 {
	if low, ok := s.number("minimum"); ok {
		n = math.Max(n, math.Ceil(low))
	}
	if low, ok := s.number("exclusiveMinimum"); ok {
		n = math.Max(n, math.Floor(low)+1)
	}
	if high, ok := s.number("maximum"); ok {
		n = math.Min(n, high)
	}
	if high, ok := s.number("exclusiveMaximum"); ok && n >= high {
		n = math.Ceil(high) - 1
	}
	if step, ok := s.number("multipleOf"); ok && step > 0 {
		n = math.Ceil(n/step) * step
	}
	return n
}

// resolve follows "#/…" inside the schema; anything else is nothing.
func (in *inventor) resolve(ref string) jsontext.Value {
	found := in.root
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if name != "" {
			found = member(found, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
	}
	return found
}

// merge joins the parts of an allOf into one schema.
func (in *inventor) merge(s schema, parts []jsontext.Value) jsontext.Value {
	delete(s, "allOf")
	properties := map[string]jsontext.Value{}
	required := elements(s["required"])
	for _, m := range members(s["properties"]) {
		properties[m.name] = m.value
	}
	for _, part := range parts {
		if ref := text(member(part, "$ref")); ref != "" {
			part = in.resolve(ref)
		}
		for _, m := range members(part) {
			if _, taken := s[m.name]; !taken {
				s[m.name] = m.value
			}
		}
		for _, m := range members(member(part, "properties")) {
			properties[m.name] = m.value
		}
		required = append(required, elements(member(part, "required"))...)
	}
	if len(properties) > 0 {
		s["properties"], s["required"] = encode(properties), encode(required)
	}
	return encode(map[string]jsontext.Value(s))
}

// candidates are the strings that a text offers: its names, which in most
// languages are the capitalised words inside a sentence, or else its beginning.
func candidates(asked string) []string {
	var names []string
	words := strings.Fields(asked)
	following := false
	for i, word := range words {
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		first, size := utf8.DecodeRuneInString(bare)
		named := i > 0 && !strings.ContainsAny(words[i-1], ".!?:") && unicode.IsUpper(first) && len(bare) > size
		switch {
		case named && following:
			names[len(names)-1] += " " + bare
		case named:
			names = append(names, bare)
		}
		following = named && strings.HasSuffix(word, bare)
	}
	if len(names) > 0 {
		return names
	}
	start := strings.Join(words[:min(3, len(words))], " ")
	if start = strings.Trim(start, `"'.,;:!?`); start == "" {
		start = "simulated"
	}
	return []string{start}
}
