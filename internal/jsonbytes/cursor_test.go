package jsonbytes

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func check(text string) bool {
	var c Cursor
	c.Reset([]byte(text))
	c.Skip()
	return c.Done()
}

func TestAcceptedTextsAreValidJSON(t *testing.T) {
	for _, text := range []string{
		`null`, ` true `, `false`, `0`, `-0`, `12.50`, `-3`, `""`, `"a\n\"\\\/\u00e9\ud83d\ude00é"`, `[]`, `[1, [ ] ,{}]`,
		"{\"a\":{\"b\":[null]},\t\"\":1}\n",
		`"` + strings.Repeat("x", 100) + `é"`, strings.Repeat("[", 99) + strings.Repeat("]", 99),
	} {
		if !check(text) {
			t.Errorf("not taken: %s", text)
		}
	}
	for _, text := range []string{
		``, ` `, `nul`, `tru`, `fals`, `01`, `-`, `- 1`, `1.`, `.5`, `1e5`, `+1`, `"`, `"a`, `"\x"`, `"\u12"`, `"\ud800"`, `"\udc00"`,
		`"\ud800\u0041"`, "\"\x01\"", "\"\xff\"",
		"\"\xed\xa0\x80\"", `[1,]`, `[,1]`, `[1 2]`, `[`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1,}`, `{`, `[}`, `1 1`, `"\`, `"abcdefg\`,
		`"abcdefgh`,
		strings.Repeat("[", 101) + strings.Repeat("]", 101), "1234567890123456789",
	} {
		if check(text) {
			t.Errorf("taken: %s", text)
		}
	}
}

func TestOrdinaryStopsAtTheFirstSpecialByte(t *testing.T) {
	for _, stop := range []byte{'"', '\\', 0, 1, 0x1f, '\n', 0x80, 0xff} {
		for at := range 40 {
			text := bytes.Repeat([]byte{'~'}, 40)
			text[at] = stop
			for i := at + 1; i < len(text); i++ {
				text[i] = "\"\\ !#~\x7f\x00"[i%8]
			}
			if got := ordinary(text); got != at {
				t.Errorf("%q at %d: %d", stop, at, got)
			}
		}
	}
	for b := byte(' '); b < 0x80; b++ {
		if b != '"' && b != '\\' && ordinary(bytes.Repeat([]byte{b}, 20)) != 20 {
			t.Errorf("%q is ordinary", b)
		}
	}
}

// FuzzSkip holds the cursor against the strict reading of JSON.
func FuzzSkip(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5,"x\n",null,true,false,{}],"b":"\ud83d\ude00é"}`, `"\ud800"`, `01`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Cursor
		c.Reset(text)
		c.Skip()
		if c.Done() && !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("taken: %q", text)
		}
		c.Reset(text)
		got := string(c.String())
		if !c.Done() {
			return
		}
		want, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(text))
		if err != nil || got != string(want) {
			t.Fatalf("%q is %q, want %q, %v", text, got, want, err)
		}
	})
}

func BenchmarkLiteral(b *testing.B) {
	text := []byte(`"` + strings.Repeat(`The quick brown fox jumps over the lazy dog, and \"why\" is not known.\n`, 450) + `"`)
	b.SetBytes(int64(len(text)))
	var c Cursor
	for b.Loop() {
		c.Reset(text)
		if c.Literal(); !c.Done() {
			b.Fatal("odd")
		}
	}
}
