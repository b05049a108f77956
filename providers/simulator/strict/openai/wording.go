package openai

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

// wording is the error answer to a violation.
func wording(v grammar.Violation) *wire.Failure {
	at := v.Path.Brackets()
	switch v.Kind {
	case grammar.Unknown:
		return refuse(at, "unknown_parameter", "Unknown parameter: '%s'.", at)
	case grammar.Missing:
		return refuse(at, "missing_required_parameter", "Missing required parameter: '%s'.", at)
	case grammar.Type:
		return refuse(at, "invalid_type", "Invalid type for '%s': expected %s, but got %s instead.",
			at, article(v.Want), article(jsonType(v.Value)))
	case grammar.TooSmall, grammar.TooLarge:
		return outOfRange(at, v)
	}
	quoted := make([]string, len(v.Allowed))
	for i, word := range v.Allowed {
		quoted[i] = "'" + word + "'"
	}
	list := strings.Join(quoted, ", ")
	if last := len(quoted) - 1; last > 0 {
		list = strings.Join(quoted[:last], ", ") + ", and " + quoted[last]
	}
	return refuse(at, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", jsonbytes.Text(v.Value), list)
}

func outOfRange(at string, v grammar.Violation) *wire.Failure {
	number := "decimal"
	if v.Want != "number" {
		number = "integer"
	}
	side, edge, sign := "below", "min", ">="
	if v.Kind == grammar.TooLarge {
		side, edge, sign = "above", "max", "<="
	}
	return refuse(at, number+"_"+side+"_"+edge+"_value",
		"Invalid '%s': %s %s %simum value. Expected a value %s %s, but got %s instead.",
		at, number, side, edge, sign, strconv.FormatFloat(v.Bound, 'f', -1, 64), v.Value)
}

func article(noun string) string {
	noun = strings.TrimSuffix(noun, "{}")
	switch {
	case strings.HasSuffix(noun, "[]"):
		return "an array"
	case noun == "string", noun == "number", noun == "boolean":
		return "a " + noun
	case noun == "null":
		return noun
	case noun == "integer":
		return "an integer"
	}
	return "an object"
}

func jsonType(raw jsontext.Value) string {
	switch raw.Kind() {
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	case '[':
		return "[]"
	case 'n':
		return "null"
	}
	return "object"
}
