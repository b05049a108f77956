package api

import (
	"strings"
)

// What the dialects check in the same way, with the same messages.

// Missing is the error for a required field that is absent.
func Missing(param string) *Error { return Invalid(CodeMissingField, param, "%s is required", param) }

// NotOneOf is the error for a value that is not allowed; an empty one is missing.
func NotOneOf(param, value string, allowed []string) *Error {
	if value == "" {
		return Missing(param)
	}
	return Invalid(CodeInvalidValue, param, "%s must be one of %s, not %q", param, strings.Join(allowed, ", "), Clip(value))
}

// TooMany is the error for a list that is longer than limit.
func TooMany(param string, limit int) *Error {
	return Invalid(CodeInvalidValue, param, "%s must have at most %d elements", param, limit)
}

// Range is a number of a request and its bounds. A nil value is in bounds.
type Range[T int64 | float64] struct {
	Param    string
	Value    *T
	Low, Top T
}

// CheckRanges returns the error for the first number that is out of its bounds.
func CheckRanges[T int64 | float64](all ...Range[T]) error {
	for _, r := range all {
		if r.Value == nil || *r.Value >= r.Low && *r.Value <= r.Top {
			continue
		}
		kind := ""
		if _, ok := any(r.Low).(int64); ok {
			kind = "an integer "
		}
		return Invalid(CodeInvalidValue, r.Param, "%s must be %sbetween %v and %v, not %v", r.Param, kind, r.Low, r.Top, *r.Value)
	}
	return nil
}

// AppendBody adds the body of an error to dst, in the form of a dialect. One that
// cannot be written becomes a fault of the gateway.
func AppendBody(dst []byte, e *Error, form func(*Error) ([]byte, error)) []byte {
	body, err := form(e)
	if err != nil {
		body, _ = form(Internal(err)) // its words are fixed
	}
	return append(dst, body...)
}
