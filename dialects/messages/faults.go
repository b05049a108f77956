package messages

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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

// whole is an integer of at most 32 bits: no limit of tokens is larger.
func whole(value jsontext.Value) (int64, bool) {
	if value.Kind() != jsontext.KindNumber {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, n <= math.MaxInt32 && n >= math.MinInt32
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32
}

func number(value jsontext.Value) (float64, bool) {
	if value.Kind() != jsontext.KindNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return f, err == nil
}
