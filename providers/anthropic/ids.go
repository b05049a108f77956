package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// longestID is the most that Anthropic takes, in characters.
const longestID = 64

// toolID is an id in the form Anthropic takes: letters, digits, _ and -. Ids
// that must be changed keep apart by a piece of their hash, and come out the
// same in call and result, and in every later request.
func toolID(id string) string { return named(id) }

// toolName is toolID for the names in old tool calls, which clients are free to
// change afterwards.
func toolName(name string) string { return named(name) }

func named(s string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	if clean == s && s != "" && len(s) <= longestID {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return shorten(clean, longestID-len(suffix)) + suffix
}

func shorten(s string, most int) string { return s[:min(len(s), most)] }

// distinct gives names that were not given before.
type distinct struct {
	taken map[string]bool
	next  map[string]int // the number to try next, by what stands before it
}

func newDistinct() *distinct {
	return &distinct{taken: map[string]bool{}, next: map[string]int{}}
}

// name is the name itself, or where it is taken one with a number, and no
// longer than Anthropic takes.
func (d *distinct) name(name string) string {
	const number = 8 // characters
	if !d.taken[name] {
		d.taken[name] = true
		return name
	}
	stem := shorten(name, longestID-number)
	n := max(d.next[stem], 2)
	for ; d.taken[numbered(stem, n)]; n++ {
	}
	d.next[stem] = n + 1
	made := numbered(stem, n)
	d.taken[made] = true
	return made
}

func numbered(stem string, n int) string { return stem + "_" + strconv.Itoa(n) }
