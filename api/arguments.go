package api

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// maxArgumentValues is how many members and elements the arguments of a call may
// have to be read as JSON: a body counts them as one text, and no model writes as
// many. maxArgumentDepth is jsontext's own bound.
const maxArgumentValues, maxArgumentDepth = 100_000, 10_000

// Arguments makes an object of the text of a call's arguments. Invalid JSON of a model is
// kept as a string, rather than refused or lost.
func Arguments(text string) jsontext.Value {
	raw := jsontext.Value(strings.TrimSpace(text))
	switch {
	case len(raw) == 0:
		return jsontext.Value("{}")
	case jsonbytes.ShapeOf(raw, maxArgumentDepth).Values > maxArgumentValues, !raw.IsValid():
		quoted := make([]byte, 0, len(`{"_raw":""}`)+len(text)+len(text)/8) // with some escapes
		quoted, err := jsontext.AppendQuote(append(quoted, `{"_raw":`...), text)
		if err != nil {
			return jsontext.Value("{}")
		}
		return append(quoted, '}')
	case raw.Kind() != jsontext.KindBeginObject:
		return append(append(jsontext.Value(`{"_raw":`), raw...), '}')
	}
	return raw
}
