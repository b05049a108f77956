package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxNameLength is the most that Anthropic takes for an id or a name, in
// characters.
const maxNameLength = 64

// validName is the id of a tool call, or the name of its tool, in the form that
// Anthropic takes: letters, digits, _ and -. A piece of its hash distinguishes
// what had to be changed. The result is the same in call, result and every
// later request.
func validName(s string) string {
	valid := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	if valid == s && s != "" && len(s) <= maxNameLength {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return shorten(valid, maxNameLength-len(suffix)) + suffix
}

func shorten(s string, limit int) string { return s[:min(len(s), limit)] }

// uniqueNames gives each name once.
type uniqueNames struct {
	taken map[string]bool
	next  map[string]int // the number to try next, by what stands before it
}

func newUniqueNames() *uniqueNames {
	return &uniqueNames{taken: map[string]bool{}, next: map[string]int{}}
}

// uniqueName is the name itself, or where it is taken one with a number that is
// no longer than Anthropic takes.
func (u *uniqueNames) uniqueName(name string) string {
	const number = 8 // characters
	if !u.taken[name] {
		u.taken[name] = true
		return name
	}
	stem := shorten(name, maxNameLength-number)
	n := max(u.next[stem], 2)
	for ; u.taken[numbered(stem, n)]; n++ {
	}
	u.next[stem] = n + 1
	unique := numbered(stem, n)
	u.taken[unique] = true
	return unique
}

func numbered(stem string, n int) string { return stem + "_" + strconv.Itoa(n) }
