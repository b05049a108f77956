package jsonbytes

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func FuzzStringsAreQuotedAsByTheEncoder(f *testing.F) {
	for _, s := range []string{
		"", "plain", "a \"quoted\" word\\", "line\nend\r\t\b\f\x00\x1f\x7f", "café, 漢字, 😀\u2028",
		"\xff", "a\xc3", "\xed\xa0\x80b", "\ufffd",
		strings.Repeat("long and plain ", 10) + "\n" + strings.Repeat("é", 30), "<script>&amp;</script>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := jsontext.AppendQuote([]byte("before "), s)
		got, valid := AppendQuote([]byte("before "), s)
		if string(got) != string(want) || valid != (err == nil) || valid != utf8.ValidString(s) {
			t.Errorf("%q: %q (%v), want %q (%v)", s, got, valid, want, err)
		}
		if bytes := AppendString(nil, []byte(s)); string(bytes) != string(want[len("before "):]) {
			t.Errorf("bytes of %q: %q", s, bytes)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	text := "Please summarise what the café's \"night shift\" wrote down, and keep the names and times as they are.\n" +
		"The list is long: it begins at six and ends when the last guest has gone home, which is rarely before two."
	room := make([]byte, 0, 2*len(text))
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			AppendString(room, text)
		}
	})
	b.Run("jsontext", func(b *testing.B) {
		for b.Loop() {
			_, _ = jsontext.AppendQuote(room, text)
		}
	})
}
