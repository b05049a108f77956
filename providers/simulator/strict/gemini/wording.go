package gemini

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	simulated "modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

// wording is the error answer to violations: to those of the JSON all at once, to
// those of the values one at a time.
func wording(all []grammar.Violation) *wire.Failure {
	var texts []string
	var fields []rawjson.Object
	for _, v := range all {
		field, text := jsonWording(v)
		if text == "" {
			continue
		}
		texts = append(texts, text)
		fields = append(fields, rawjson.Object{"field", field, "description", text})
	}
	if len(texts) > 0 {
		return simulated.Failure(http.StatusBadRequest, strings.Join(texts, "\n"),
			rawjson.Object{"@type", "type.googleapis.com/google.rpc.BadRequest", "fieldViolations", fields})
	}
	first := all[0]
	at, name := snake(first.Path.Brackets()), snake(first.Path[len(first.Path)-1].Name)
	switch first.Kind {
	case grammar.Missing:
		return simulated.Refusal("* GenerateContentRequest.%s: %s is not specified\n", at, name)
	case grammar.TooSmall:
		return simulated.Refusal("* GenerateContentRequest.%s: %s must be at least %v, got %s\n", at, name, first.Bound, first.Value)
	}
	return simulated.Refusal("* GenerateContentRequest.%s: %s must be at most %v, got %s\n", at, name, first.Bound, first.Value)
}

// jsonWording is the message for a violation of the JSON itself; empty for any
// other.
func jsonWording(v grammar.Violation) (field, text string) {
	parent := snake(v.Path[:len(v.Path)-1].Brackets())
	name := v.Path[len(v.Path)-1].Name
	at := snake(v.Path.Brackets())
	where := ""
	if parent != "" {
		where = fmt.Sprintf(" at '%s'", parent)
	}
	const unknown = "Invalid JSON payload received. Unknown name \"%s\"%s: %s"
	switch {
	case v.Kind == grammar.Unknown:
		return parent, fmt.Sprintf(unknown, name, where, "Cannot find field.")
	case v.Kind == grammar.Type && v.Value.Kind() == '[' && !strings.HasSuffix(v.Want, "[]"):
		return parent, fmt.Sprintf(unknown, name, where, "Proto field is not repeating, cannot start list.")
	case v.Kind == grammar.Type, v.Kind == grammar.Word:
		return at, fmt.Sprintf("Invalid value at '%s' (%s), %s", at, protoType(v), v.Value)
	}
	return "", ""
}

func protoType(v grammar.Violation) string {
	switch {
	case v.Kind == grammar.Word:
		return "type.googleapis.com/google.ai.generativelanguage.v1beta.Enum"
	case v.Want == "string":
		return "TYPE_STRING"
	case v.Want == "boolean":
		return "TYPE_BOOL"
	case v.Want == "number":
		return "TYPE_FLOAT"
	case v.Want == "int32":
		return "TYPE_INT32"
	}
	return "TYPE_MESSAGE"
}

// snake writes the name of a field as it is in the protocol buffers.
func snake(camel string) string {
	var b strings.Builder
	for _, r := range camel {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
