package reply

import (
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
)

const (
	// fullDepth is how deep optional properties are filled in; below it only
	// the required ones are.
	fullDepth = 2
	// maxDepth and maxValues bound the value of a recursive schema.
	maxDepth  = 12
	maxValues = 5000
)

// instance generates a JSON value of a schema (JSON Schema or OpenAPI). Its
// strings come from the question; the nth instance begins with the nth candidate,
// so that parallel calls differ.
func instance(schema jsontext.Value, question string, nth int) jsontext.Value {
	if schema == nil {
		return jsontext.Value("{}")
	}
	g := &generator{root: schema, words: candidates(question), next: nth, nth: nth}
	return spaced(g.value(schema, 0))
}

// spaced writes JSON the way models do, with a space after colons and commas.
func spaced(raw jsontext.Value) jsontext.Value {
	out, err := jsontext.AppendFormat(nil, raw, jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil {
		return raw
	}
	return out
}

type generator struct {
	root   jsontext.Value
	words  []string
	next   int // index of the next of words
	nth    int
	values int // generated so far
}

func (g *generator) value(raw jsontext.Value, depth int) jsontext.Value {
	g.values++
	if depth > maxDepth || g.values > maxValues {
		return jsontext.Value("null")
	}
	s := ReadSchema(raw)
	if ref := jsonbytes.Text(s["$ref"]); ref != "" {
		return g.value(g.resolve(ref), depth+1)
	}
	if s["const"] != nil {
		return s["const"]
	}
	if allowed := rawjson.Elements(s["enum"]); len(allowed) > 0 {
		return allowed[g.nth%len(allowed)]
	}
	if all := rawjson.Elements(s["allOf"]); len(all) > 0 {
		return g.value(g.merge(s, all), depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if options := rawjson.Elements(s[keyword]); len(options) > 0 && s.TypeName() == "" {
			return g.value(firstNotNull(options), depth+1)
		}
	}
	return g.typed(s, depth)
}

func (g *generator) typed(s Schema, depth int) jsontext.Value {
	switch s.TypeName() {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "string":
		return rawjson.Encode(g.string(s))
	case "integer":
		return rawjson.Encode(int64(clamp(s, 1)))
	case "number":
		return rawjson.Encode(clamp(s, 1))
	case "boolean":
		return jsontext.Value("true")
	}
	if jsonbytes.Text(s["type"]) == "null" {
		return jsontext.Value("null")
	}
	return rawjson.Encode(g.string(s))
}

func (g *generator) object(s Schema, depth int) jsontext.Value {
	required := rawjson.Strings(s["required"])
	object := jsontext.Value("{")
	for _, m := range rawjson.Members(s["properties"]) {
		if depth >= fullDepth && !slices.Contains(required, m.Name) {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(object, rawjson.Encode(m.Name)...), ':')
		object = append(object, g.value(m.Value, depth+1)...)
	}
	return append(object, '}')
}

func (g *generator) array(s Schema, depth int) jsontext.Value {
	items := rawjson.Elements(s["prefixItems"])
	count := max(1, len(items))
	if n, ok := s.Number("minItems"); ok {
		count = max(count, int(min(n, 100)))
	}
	if n, ok := s.Number("maxItems"); ok {
		count = min(count, max(0, int(n)))
	}
	array := []jsontext.Value{}
	for i := range count {
		item := s["items"]
		if i < len(items) {
			item = items[i]
		}
		array = append(array, g.value(item, depth+1))
	}
	return rawjson.Encode(array)
}

func (g *generator) string(s Schema) string {
	switch jsonbytes.Text(s["format"]) {
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
	word := g.words[g.next%len(g.words)]
	g.next++
	if n, ok := s.Number("minLength"); ok && len([]rune(word)) < int(min(n, 1000)) {
		word += strings.Repeat("x", int(min(n, 1000))-len([]rune(word)))
	}
	if n, ok := s.Number("maxLength"); ok && len([]rune(word)) > int(n) {
		word = string([]rune(word)[:max(0, int(n))])
	}
	return word
}

// clamp moves a number into the bounds of a schema.
func clamp(s Schema, n float64) float64 {
	if low, ok := s.Number("minimum"); ok {
		n = math.Max(n, math.Ceil(low))
	}
	if low, ok := s.Number("exclusiveMinimum"); ok {
		n = math.Max(n, math.Floor(low)+1)
	}
	if high, ok := s.Number("maximum"); ok {
		n = math.Min(n, high)
	}
	if high, ok := s.Number("exclusiveMaximum"); ok && n >= high {
		n = math.Ceil(high) - 1
	}
	if step, ok := s.Number("multipleOf"); ok && step > 0 {
		n = math.Ceil(n/step) * step
	}
	return n
}

// resolve follows a reference "#/…" inside the schema; any other is nil.
func (g *generator) resolve(ref string) jsontext.Value {
	found := g.root
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if name != "" {
			found = jsonbytes.Member(found, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
	}
	return found
}

// merge joins the parts of an allOf into one schema.
func (g *generator) merge(s Schema, parts []jsontext.Value) jsontext.Value {
	delete(s, "allOf")
	properties := map[string]jsontext.Value{}
	required := rawjson.Elements(s["required"])
	for _, m := range rawjson.Members(s["properties"]) {
		properties[m.Name] = m.Value
	}
	for _, part := range parts {
		if ref := rawjson.GetString(part, "$ref"); ref != "" {
			part = g.resolve(ref)
		}
		for _, m := range rawjson.Members(part) {
			if _, taken := s[m.Name]; !taken {
				s[m.Name] = m.Value
			}
		}
		for _, m := range rawjson.Members(jsonbytes.Member(part, "properties")) {
			properties[m.Name] = m.Value
		}
		required = append(required, rawjson.Elements(jsonbytes.Member(part, "required"))...)
	}
	if len(properties) > 0 {
		s["properties"], s["required"] = rawjson.Encode(properties), rawjson.Encode(required)
	}
	return rawjson.Encode(map[string]jsontext.Value(s))
}

func firstNotNull(options []jsontext.Value) jsontext.Value {
	for _, option := range options {
		if rawjson.GetString(option, "type") != "null" {
			return option
		}
	}
	return options[0]
}
