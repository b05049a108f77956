// Package scan reads the JSON that most traffic consists of, without reflection
// and in a tenth of the time. Its reader takes only what is certainly valid;
// of anything odd it says so, and the caller has a full decoder read it instead.
package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of values that are only checked.
const maxDepth = 100

// Cursor goes over one JSON text. Its methods do nothing more once something
// odd has come: the caller reads to the end and then asks Done.
type Cursor struct {
	text []byte
	at   int
	odd  bool

	scratch []byte
}

// Reset begins a text.
func (c *Cursor) Reset(text []byte) { c.text, c.at, c.odd = text, 0, false }

// Offset is how many bytes have been read. After Peek it is where the next value
// begins.
func (c *Cursor) Offset() int { return c.at }

// Pass reads exactly these bytes, whatever they are.
func (c *Cursor) Pass(text []byte) {
	if !bytes.HasPrefix(c.text[c.at:], text) {
		c.odd, c.at = true, len(c.text)
		return
	}
	c.at += len(text)
}

// Done says whether all of the text has been read and nothing odd was in it.
func (c *Cursor) Done() bool {
	c.space()
	return !c.odd && c.at == len(c.text)
}

// Odd leaves the text to a full decoder.
func (c *Cursor) Odd() { c.odd = true }

// Expect leaves the text to a full decoder unless what is expected is there.
func (c *Cursor) Expect(there bool) { c.odd = c.odd || !there }

// Once holds a member to its one time: seen collects the bits of the members
// that have come.
func (c *Cursor) Once(seen *uint32, member uint32) {
	c.odd = c.odd || *seen&member != 0
	*seen |= member
}

// Open passes the { or [ before a first member or element.
func (c *Cursor) Open(bracket byte) {
	if c.Peek() != bracket {
		c.odd = true
		return
	}
	c.at++
}

// More says whether another member or element comes before the closing bracket,
// and passes the comma or the bracket. first is whether none has come yet.
func (c *Cursor) More(bracket byte, first bool) bool {
	switch b := c.Peek(); {
	case c.odd:
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
		c.odd = true
		return false
	}
}

// Name reads a member's name and the colon. It is valid until the next string.
func (c *Cursor) Name() []byte {
	name := c.String()
	if c.Peek() != ':' {
		c.odd = true
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

// String reads a string. It is a part of the text or, where it had escapes,
// valid until the next string.
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
	c.odd = c.odd || err != nil
	return c.scratch
}

// Literal reads a string and is its part of the text, with quotes and escapes.
func (c *Cursor) Literal() []byte {
	literal, _ := c.literal()
	return literal
}

// literal reads a string; it is plain when it has no escapes.
func (c *Cursor) literal() (literal []byte, plain bool) {
	if c.Peek() != '"' || c.odd {
		c.odd = true
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
			c.odd = c.odd || !ascii && !utf8.Valid(literal)
			return literal, plain
		case b == '\\':
			n := escape(c.text[i:])
			if n == 0 {
				c.odd, c.at = true, len(c.text)
				return nil, false
			}
			plain = false
			i += n
		case b < ' ':
			c.odd, c.at = true, len(c.text)
			return nil, false
		default:
			ascii = false
			i++
		}
	}
	c.odd, c.at = true, len(c.text)
	return nil, false
}

// ordinary is how many bytes come before a quote, a backslash, a control
// character or one that is not ASCII, eight at a time.
func ordinary(text []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote := w ^ '"'*ones
		slash := w ^ '\\'*ones
		// The high bit of a byte of each term is set where the byte is what is
		// looked for; above the first one found it may be set in error.
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
	case !ok, r >= 0xdc00 && r < 0xe000: // the second half of a pair, alone
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

// Null passes null.
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
		c.odd = true
		return
	}
	c.at += len(word)
}

// Count reads a whole number that is not negative and has at most 18 digits.
func (c *Cursor) Count() int64 {
	const most = 18
	c.space()
	var n int64
	start := c.at
	for c.at < len(c.text) && c.text[c.at]-'0' <= 9 {
		n = n*10 + int64(c.text[c.at]-'0')
		if c.at++; c.at-start > most {
			break
		}
	}
	digits := c.at - start
	c.odd = c.odd || digits == 0 || digits > most || digits > 1 && c.text[start] == '0'
	return n
}

// Number reads any number but one with an exponent.
func (c *Cursor) Number() float64 {
	c.space()
	start := c.at
	c.number()
	if c.odd {
		return 0
	}
	n, err := strconv.ParseFloat(string(c.text[start:c.at]), 64)
	c.odd = c.odd || err != nil
	return n
}

func (c *Cursor) number() {
	if c.at < len(c.text) && c.text[c.at] == '-' {
		c.at++
	}
	if c.at >= len(c.text) || c.text[c.at]-'0' > 9 {
		c.odd = true
		return
	}
	c.Count()
	if c.at < len(c.text) && c.text[c.at] == '.' {
		c.at++
		start := c.at
		for c.at < len(c.text) && c.text[c.at]-'0' <= 9 {
			c.at++
		}
		c.odd = c.odd || c.at == start
	}
	// An exponent is not passed: what comes next will be odd.
}

// Word reads null, true, false or a number, and is its part of the text.
func (c *Cursor) Word() []byte {
	b := c.Peek()
	c.odd = c.odd || b == '"' || b == '{' || b == '['
	start := c.at
	c.Skip()
	return c.text[start:c.at]
}

// Skip checks any value. Names that occur twice in it are not noticed.
func (c *Cursor) Skip() { c.skip(maxDepth) }

func (c *Cursor) skip(depth int) {
	switch b := c.Peek(); {
	case c.odd || depth == 0 || b == 0:
		c.odd = true
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
