// Package jsonbytes reads JSON without reflection, in a tenth of a decoder's time, and
// writes its strings. Its cursor accepts a subset of valid JSON only. When it
// fails, the text may still be valid: the caller decodes it in full.
package jsonbytes

import (
	"bytes"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds the nesting of values, in levels.
const MaxDepth = 100

// Cursor reads one JSON text. After a failure its methods do nothing more, so
// that the caller can check once, with Done, at the end.
type Cursor struct {
	text   []byte
	at     int
	failed bool

	scratch []byte
}

// Reset begins a text.
func (c *Cursor) Reset(text []byte) { c.text, c.at, c.failed = text, 0, false }

// Offset is the number of bytes that have been read. After Peek it is where the
// next value begins.
func (c *Cursor) Offset() int { return c.at }

// SkipBytes skips exactly these bytes, which need not be a whole value.
func (c *Cursor) SkipBytes(text []byte) {
	if !bytes.HasPrefix(c.text[c.at:], text) {
		c.failed, c.at = true, len(c.text)
		return
	}
	c.at += len(text)
}

// Done says whether the text has been read to its end without a failure.
func (c *Cursor) Done() bool {
	c.space()
	return !c.failed && c.at == len(c.text)
}

// Fail ends the reading: the text must be decoded in full.
func (c *Cursor) Fail() { c.failed = true }

// Failed says whether the reading has failed.
func (c *Cursor) Failed() bool { return c.failed }

// Assert fails unless ok.
func (c *Cursor) Assert(ok bool) { c.failed = c.failed || !ok }

// Once fails if the member has been seen before; seen collects the bits of the
// members.
func (c *Cursor) Once(seen *uint32, member uint32) {
	c.failed = c.failed || *seen&member != 0
	*seen |= member
}

// Open reads the { or [ before the first member or element.
func (c *Cursor) Open(bracket byte) {
	if c.Peek() != bracket {
		c.failed = true
		return
	}
	c.at++
}

// More says whether another member or element follows, and reads the comma before
// it or the closing bracket. first is set before the first member or element.
func (c *Cursor) More(bracket byte, first bool) bool {
	switch b := c.Peek(); {
	case c.failed:
		return false
	case b == bracket:
		c.at++
		return false
	case first:
		return true
	case b == ',':
		c.at++
		return true
	default:
		c.failed = true
		return false
	}
}

// Name reads a member's name and the colon. It is valid until the next string
// is read.
func (c *Cursor) Name() []byte {
	name := c.String()
	if c.Peek() != ':' {
		c.failed = true
		return nil
	}
	c.at++
	return name
}

// Peek is the first byte of the next value; 0 at the end.
func (c *Cursor) Peek() byte {
	if c.at < len(c.text) && c.text[c.at] > ' ' {
		return c.text[c.at]
	}
	c.space()
	if c.at >= len(c.text) {
		return 0
	}
	return c.text[c.at]
}

func (c *Cursor) space() {
	for c.at < len(c.text) && (c.text[c.at] == ' ' || c.text[c.at] == '\n' || c.text[c.at] == '\t' || c.text[c.at] == '\r') {
		c.at++
	}
}

// String reads a string. The result is a part of the text or, if the string has
// escapes, valid until the next string is read.
func (c *Cursor) String() []byte {
	literal, plain := c.literal()
	if plain {
		return literal[1 : len(literal)-1]
	}
	if literal == nil {
		return nil
	}
	var err error
	c.scratch, err = jsontext.AppendUnquote(c.scratch[:0], literal)
	c.failed = c.failed || err != nil
	return c.scratch
}

// Usual reads a string, or null as an empty one. One of these words is returned itself: only
// another string is copied.
func (c *Cursor) Usual(words ...string) string {
	if c.Peek() == 'n' {
		c.Null()
		return ""
	}
	text := c.String()
	for _, word := range words {
		if string(text) == word {
			return word
		}
	}
	return string(text)
}

// Literal reads a string and returns it as it is written, with quotes and escapes.
func (c *Cursor) Literal() []byte {
	literal, _ := c.literal()
	return literal
}

// literal reads a string; plain = without escapes.
func (c *Cursor) literal() (literal []byte, plain bool) {
	if c.Peek() != '"' || c.failed {
		c.failed = true
		return nil, false
	}
	start, ascii := c.at, true
	plain = true
	for i := start + 1; ; {
		i += ordinary(c.text[i:])
		if i >= len(c.text) {
			break
		}
		switch b := c.text[i]; {
		case b == '"':
			c.at = i + 1
			literal = c.text[start:c.at]
			c.failed = c.failed || !ascii && !utf8.Valid(literal)
			return literal, plain
		case b == '\\':
			n := escape(c.text[i:])
			if n == 0 {
				c.failed, c.at = true, len(c.text)
				return nil, false
			}
			plain = false
			i += n
		case b < ' ':
			c.failed, c.at = true, len(c.text)
			return nil, false
		default:
			ascii = false
			i++
		}
	}
	c.failed, c.at = true, len(c.text)
	return nil, false
}

// ordinary is the number of bytes before the first quote, backslash, control
// character or byte that is not ASCII. It looks at eight bytes at a time.
func ordinary[Text string | []byte](text Text) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(text); i += 8 {
		b := text[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | // one load, as encoding/binary's
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote := w ^ '"'*ones
		slash := w ^ '\\'*ones
		// In each term the high bit of a byte is set if the byte is the one that the
		// term looks for; above the first such byte it may be set wrongly.
		found := ((quote - ones) &^ quote) | ((slash - ones) &^ slash) | ((w - ' '*ones) &^ w) | w
		if found &= high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if b := text[i]; b == '"' || b == '\\' || b < ' ' || b >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// escape is the length of a valid escape, or 0.
func escape(text []byte) int {
	const short, unicode = len(`\n`), len(`\u0000`)
	if len(text) < short {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return short
	case 'u':
	default:
		return 0
	}
	r, ok := hex(text)
	switch {
	case !ok, r >= 0xdc00 && r < 0xe000: // a low surrogate without a high one
		return 0
	case r < 0xd800 || r >= 0xe000:
		return unicode
	}
	if r, ok = hex(text[unicode:]); !ok || r < 0xdc00 || r >= 0xe000 {
		return 0
	}
	return 2 * unicode
}

// hex reads the character of \uXXXX.
func hex(text []byte) (r rune, ok bool) {
	const length = len(`\u0000`)
	if len(text) < length || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, b := range text[2:length] {
		switch {
		case b >= '0' && b <= '9':
			r = r<<4 | rune(b-'0')
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// Null reads null.
func (c *Cursor) Null() { c.word("null") }

// Bool reads true or false.
func (c *Cursor) Bool() bool {
	if c.Peek() == 't' {
		c.word("true")
		return true
	}
	c.word("false")
	return false
}

func (c *Cursor) word(word string) {
	c.space()
	if !bytes.HasPrefix(c.text[c.at:], []byte(word)) {
		c.failed = true
		return
	}
	c.at += len(word)
}

// Count reads a whole number that is not negative and has at most 18 digits.
func (c *Cursor) Count() int64 {
	const maxDigits = 18
	c.space()
	var n int64
	start := c.at
	for c.at < len(c.text) && c.text[c.at]-'0' <= 9 {
		n = n*10 + int64(c.text[c.at]-'0')
		if c.at++; c.at-start > maxDigits {
			break
		}
	}
	digits := c.at - start
	c.failed = c.failed || digits == 0 || digits > maxDigits || digits > 1 && c.text[start] == '0'
	return n
}

// Number reads a number without an exponent.
func (c *Cursor) Number() float64 {
	c.space()
	start := c.at
	c.number()
	if c.failed {
		return 0
	}
	n, err := strconv.ParseFloat(string(c.text[start:c.at]), 64)
	c.failed = c.failed || err != nil
	return n
}

func (c *Cursor) number() {
	if c.at < len(c.text) && c.text[c.at] == '-' {
		c.at++
	}
	if c.at >= len(c.text) || c.text[c.at]-'0' > 9 {
		c.failed = true
		return
	}
	c.Count()
	if c.at < len(c.text) && c.text[c.at] == '.' {
		c.at++
		start := c.at
		for c.at < len(c.text) && c.text[c.at]-'0' <= 9 {
			c.at++
		}
		c.failed = c.failed || c.at == start
	}
	// An exponent is not read, so that what comes next fails.
}

// Word reads null, true, false or a number and returns it as it is written.
func (c *Cursor) Word() []byte {
	b := c.Peek()
	c.failed = c.failed || b == '"' || b == '{' || b == '['
	start := c.at
	c.Skip()
	return c.text[start:c.at]
}

// Skip reads any value. It does not check that names in it are unique.
func (c *Cursor) Skip() { c.skip(MaxDepth) }

func (c *Cursor) skip(depth int) {
	switch b := c.Peek(); {
	case c.failed || depth == 0 || b == 0:
		c.failed = true
	case b == '"':
		c.Literal()
	case b == '{':
		c.at++
		for first := true; c.More('}', first); first = false {
			c.Name()
			c.skip(depth - 1)
		}
	case b == '[':
		c.at++
		for first := true; c.More(']', first); first = false {
			c.skip(depth - 1)
		}
	case b == 'n':
		c.Null()
	case b == 't' || b == 'f':
		c.Bool()
	default:
		c.number()
	}
}
