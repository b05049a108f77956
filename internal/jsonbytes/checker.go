package jsonbytes

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Checker is a Cursor for all of JSON, as strict as the decoder of requests: the names of
// an object differ, numbers have any form that JSON has, and no value is nested deeper
// than 100 levels. What it accepts needs no other check.
type Checker struct {
	Cursor

	// Room is asked before memory is taken for the names of an object with very many; if
	// it refuses, the reading fails. nil has no bound.
	Room Room

	Values int // members and elements so far, those of inner values included

	depth int
	names [][]byte // of the objects that are open, without quotes and escapes
	few   [2 * fewNames][]byte
}

// Room grants memory.
type Room interface{ Grant(bytes int64) bool }

const (
	fewNames     = 16   // of an object: compared one by one
	unaskedNames = 1024 // are kept without asking Room
	bytesPerName = 24   // of a slice
)

// Enter reads the bracket that opens an object or a list. Its result is for Name and
// Leave.
func (c *Checker) Enter(bracket byte) (mark int) {
	c.Open(bracket)
	c.depth++
	c.Assert(c.depth <= MaxDepth)
	return len(c.names)
}

// Leave is called after the last member or element has been read.
func (c *Checker) Leave(mark int) {
	if own := c.names[mark:]; len(own) > fewNames && !c.failed {
		slices.SortFunc(own, bytes.Compare)
		for i, name := range own[1:] {
			c.Assert(!bytes.Equal(own[i], name))
		}
	}
	c.names = c.names[:mark]
	c.depth--
}

// Name reads the name of a member of the object that Enter has opened, and the colon. It
// is valid as long as the text is.
func (c *Checker) Name(mark int) []byte {
	literal, plain := c.literal()
	if c.Peek() != ':' || c.failed {
		c.failed = true
		return nil
	}
	c.at++
	name := literal[1 : len(literal)-1]
	if !plain {
		var err error
		name, err = jsontext.AppendUnquote(nil, literal)
		c.Assert(err == nil)
	}
	if own := c.names[mark:]; len(own) < fewNames {
		for _, other := range own {
			c.Assert(len(other) != len(name) || !bytes.Equal(other, name))
		}
	}
	c.keep(name)
	c.Values++
	return name
}

func (c *Checker) keep(name []byte) {
	if n := len(c.names); n == cap(c.names) {
		if n == 0 {
			c.names = append(c.few[:0], name)
			return
		}
		room := 2 * n
		if room > unaskedNames && c.Room != nil && !c.Room.Grant(int64(room)*bytesPerName) {
			c.failed = true
			return
		}
		c.names = append(make([][]byte, 0, room), c.names...)
	}
	c.names = append(c.names, name)
}

// Value reads any value, and checks all of it.
func (c *Checker) Value() {
	switch c.Peek() {
	case '"':
		c.Literal()
	case '{':
		mark := c.Enter('{')
		for first := true; c.More('}', first); first = false {
			c.Name(mark)
			c.Value()
		}
		c.Leave(mark)
	case '[':
		mark := c.Enter('[')
		for first := true; c.More(']', first); first = false {
			c.Values++
			c.Value()
		}
		c.Leave(mark)
	case 'n':
		c.Null()
	case 't', 'f':
		c.Bool()
	default:
		c.anyNumber()
	}
}

// anyNumber reads a number in any form that JSON has.
func (c *Checker) anyNumber() {
	if c.at < len(c.text) && c.text[c.at] == '-' {
		c.at++
	}
	start := c.at
	digits := c.digits()
	c.Assert(digits > 0 && (digits == 1 || c.text[start] != '0'))
	if c.at < len(c.text) && c.text[c.at] == '.' {
		c.at++
		c.Assert(c.digits() > 0)
	}
	if c.at >= len(c.text) || c.text[c.at]|0x20 != 'e' {
		return
	}
	if c.at++; c.at < len(c.text) && (c.text[c.at] == '+' || c.text[c.at] == '-') {
		c.at++
	}
	c.Assert(c.digits() > 0)
}

// digits is how many there are, which are read.
func (c *Checker) digits() int {
	start := c.at
	for c.at < len(c.text) && c.text[c.at]-'0' <= 9 {
		c.at++
	}
	return c.at - start
}
