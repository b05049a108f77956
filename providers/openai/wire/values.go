// Package wire reads values and errors as OpenAI's APIs and the servers that copy them send
// them, and edits the bodies of requests.
package wire

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers"
)

// Lenient are the JSON options for answers of upstreams that are not quite valid.
var Lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(readCount)),
)

// readCount reads a count or a time that some compatible servers write as 3.0
// or "3"; a malformed one is 0, since the rest of the answer is usable.
func readCount(dec *jsontext.Decoder, into *int64) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*into, _ = IntegerOf(value)
	return nil
}

// IntegerOf is the value of a number, and whether that is a whole one in the usual form.
func IntegerOf(value jsontext.Value) (n int64, usual bool) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, true
	}
	text := strings.Trim(string(value), `"`)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, false
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(x) < 1<<53 {
		return int64(x), false
	}
	return 0, false
}

// CountOf is a count; what has another form is not counted.
func CountOf(value jsontext.Value) int64 {
	n, _ := IntegerOf(value)
	return max(n, 0)
}

// Quote is a text as JSON.
func Quote(s string) jsontext.Value { return providers.AppendQuote(nil, s) }

// Number is a number as JSON.
func Number(n int64) jsontext.Value { return jsontext.Value(jsontext.Int(n).String()) }
