package jsonbytes

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// IsObject says whether a text is a JSON object and nothing else.
func IsObject(text []byte) bool {
	var c Cursor
	c.Reset(text)
	if c.Peek() != '{' {
		return false
	}
	c.Skip()
	return c.Done() || jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Integer is the value of a number that is a whole one of at most 32 bits, also as 1e3 or 1.0.
func Integer(value jsontext.Value) (int64, bool) {
	if value.Kind() != jsontext.KindNumber {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, n <= math.MaxInt32 && n >= math.MinInt32
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32
}

// Float is the value of a number.
func Float(value jsontext.Value) (float64, bool) {
	if value.Kind() != jsontext.KindNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return f, err == nil
}
