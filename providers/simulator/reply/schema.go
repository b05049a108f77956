package reply

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
)

// Schema is a JSON Schema or an OpenAPI schema by keyword. A keyword of the
// wrong type reads as absent.
type Schema map[string]jsontext.Value

// ReadSchema reads a schema; anything but an object is an empty one.
func ReadSchema(raw jsontext.Value) Schema {
	s := Schema{}
	for _, m := range rawjson.Members(raw) {
		s[m.Name] = m.Value
	}
	return s
}

// TypeName is the first type that is not null, in lower case, and empty where
// the schema has none.
func (s Schema) TypeName() string {
	names := []string{jsonbytes.Text(s["type"])}
	for _, t := range rawjson.Elements(s["type"]) {
		names = append(names, jsonbytes.Text(t))
	}
	for _, name := range names {
		if name = strings.ToLower(name); name != "" && name != "null" {
			return name
		}
	}
	switch {
	case s["properties"] != nil:
		return "object"
	case s["items"] != nil || s["prefixItems"] != nil:
		return "array"
	}
	return names[0]
}

// Number reads a keyword, also where it is quoted as Google quotes its int64.
func (s Schema) Number(keyword string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.Trim(string(s[keyword]), `"`), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}
