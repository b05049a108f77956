package messages

import (
	"fmt"
	"strings"

	"modelgateway/api"
)

// The errors of a request have Anthropic's words, which begin with the field in
// Anthropic's form: messages.0.content.1: Field required. Agents look for some of them.

func fault(code, path, format string, args ...any) *api.Error {
	return api.Invalid(code, path, "%s: %s", fieldName(path), fmt.Sprintf(format, args...))
}

func missing(path string) *api.Error { return fault(api.CodeMissingField, path, "Field required") }

func invalid(path, format string, args ...any) *api.Error {
	return fault(api.CodeInvalidValue, path, format, args...)
}

// unsupported is the error for what only Anthropic's models know.
func unsupported(path, format string, args ...any) *api.Error {
	return fault(api.CodeUnsupportedValue, path, format, args...)
}

// notOneOf is the error for a text that is none of the allowed ones.
func notOneOf(path string, allowed []string) *api.Error {
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = "'" + a + "'"
	}
	last := len(quoted) - 1
	return invalid(path, "Input should be %s or %s", strings.Join(quoted[:last], ", "), quoted[last])
}

func tooMany(path string, limit int) *api.Error {
	return invalid(path, "List should have at most %d items", limit)
}
