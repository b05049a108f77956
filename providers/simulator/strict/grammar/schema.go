package grammar

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
)

// OpenObject reports whether a JSON Schema has an object that allows further
// properties.
func OpenObject(raw jsontext.Value) bool {
	s := reply.ReadSchema(raw)
	if s.TypeName() == "object" && string(s["additionalProperties"]) != "false" {
		return true
	}
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		for _, m := range rawjson.Members(s[keyword]) {
			if OpenObject(m.Value) {
				return true
			}
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		if slices.ContainsFunc(rawjson.Elements(s[keyword]), OpenObject) {
			return true
		}
	}
	return s["items"].Kind() == '{' && OpenObject(s["items"])
}
