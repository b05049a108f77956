package anthropic

import (
	"strings"

	"modelgateway/internal/jsonbytes"
	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

// wording is the error answer to a violation.
func wording(v grammar.Violation) *wire.Failure {
	at := v.Path.Dots()
	switch v.Kind {
	case grammar.Unknown:
		return simulated.Refusal("%s: Extra inputs are not permitted", at)
	case grammar.Missing:
		return simulated.Refusal("%s: Field required", at)
	case grammar.Type:
		return simulated.Refusal("%s: Input should be a valid %s", at, pythonType(v.Want))
	case grammar.TooSmall:
		return simulated.Refusal("%s: Input should be greater than or equal to %v", at, v.Bound)
	case grammar.TooLarge:
		return simulated.Refusal("%s: Input should be less than or equal to %v", at, v.Bound)
	case grammar.Tag:
		return simulated.Refusal("%s: Input tag '%s' found using 'type' does not match any of the expected tags: '%s'",
			v.Path[:len(v.Path)-1].Dots(), jsonbytes.Text(v.Value), strings.Join(v.Allowed, "', '"))
	}
	list := strings.Join(v.Allowed, "', '")
	if last := strings.LastIndex(list, ", "); last >= 0 {
		list = list[:last] + " or " + list[last+len(", "):]
	}
	return simulated.Refusal("%s: Input should be '%s'", at, list)
}

func pythonType(want string) string {
	switch {
	case strings.HasSuffix(want, "[]"):
		return "list"
	case want == "string", want == "integer", want == "number", want == "boolean":
		return want
	}
	return "dictionary"
}
