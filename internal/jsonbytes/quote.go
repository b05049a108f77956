package jsonbytes

import (
	"slices"
	"unicode/utf8"
)

// AppendString appends a JSON string. What is not valid UTF-8 in it becomes U+FFFD.
func AppendString[Text string | []byte](dst []byte, s Text) []byte {
	dst, _ = AppendQuote(dst, s)
	return dst
}

// AppendQuote is AppendString that also says whether the text is valid UTF-8. It writes what
// jsontext.AppendQuote does and copies plain text in one piece: 61 instead of 121 ns for 210 bytes
// (BenchmarkAppendString).
func AppendQuote[Text string | []byte](dst []byte, s Text) (out []byte, valid bool) {
	const hexadecimal = "0123456789abcdef"
	valid = true
	room := len(s) + len(`""`)
	if dst == nil { // a second copy for the escapes would cost more
		room += len(s) / 8
	}
	dst = append(slices.Grow(dst, room), '"')
	for at := 0; ; {
		from := at
		at += ordinary(s[at:])
		dst = append(dst, s[from:at]...)
		if at == len(s) {
			return append(dst, '"'), valid
		}
		switch b := s[at]; {
		case b == '"', b == '\\':
			dst = append(dst, '\\', b)
			at++
		case b >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(string(s[at:min(at+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 {
				valid = false
			}
			dst = utf8.AppendRune(dst, r)
			at += size
		default:
			if short := escapes[b]; short != 0 {
				dst = append(dst, '\\', short)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hexadecimal[b>>4], hexadecimal[b&15])
			}
			at++
		}
	}
}

// escapes are the letters of the short escapes of control characters.
var escapes = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendNullable appends a JSON string, or null for an empty one.
func AppendNullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}
