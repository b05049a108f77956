package providers

import (
	"strconv"
	"strings"

	"modelgateway/internal/jsonbytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendQuote appends a JSON string, without what is not UTF-8: requests are checked for that
// before.
func AppendQuote(dst []byte, s string) []byte {
	out, valid := jsonbytes.AppendQuote(dst, s)
	if !valid {
		return jsonbytes.AppendString(dst, strings.ToValidUTF8(s, ""))
	}
	return out
}

// IsDecimal says whether json.Marshal writes a number without an exponent; nil is not written.
func IsDecimal(n *float64) bool { return n == nil || *n == 0 || *n >= 1e-4 && *n < 1e4 }

// AppendDecimal appends a member, such as `,"temperature":`, with a number that IsDecimal;
// nothing for nil.
func AppendDecimal(dst []byte, member string, n *float64) []byte {
	if n == nil {
		return dst
	}
	return strconv.AppendFloat(append(dst, member...), *n, 'f', -1, 64)
}

// Encode writes a part of a request as JSON; raw values keep their strings byte for
// byte. size is about how many bytes it becomes.
func Encode(value any, size int) ([]byte, error) {
	return AppendEncoded(make([]byte, 0, size+size/16), value)
}

// AppendEncoded is Encode behind dst.
func AppendEncoded(dst []byte, value any) ([]byte, error) {
	to := appender(dst)
	err := json.MarshalWrite(&to, value, jsontext.PreserveRawStrings(true)) // through a small buffer of the encoder's
	return to, err
}

// appender is a slice that grows with what is written.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
