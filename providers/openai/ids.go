package openai

import (
	"strconv"
	"strings"
)

// callIDs gives each tool call of a request an id of its own that OpenAI accepts.
// Clients bring ids of other providers, and some repeat them. The id of a call does
// not depend on what comes after it: it is the same in every later request.
type callIDs struct {
	taken map[string]bool
	next  map[string]int // the number to try next, by what stands before it
}

func (ids *callIDs) unique(id string) string {
	const number = 8 // bytes, with what separates it
	// A long id becomes the one that it has where the client's bytes travel.
	out := short(legal(short(id)))
	if ids.taken == nil {
		ids.taken, ids.next = map[string]bool{}, map[string]int{}
	}
	if ids.taken[out] {
		stem := out[:min(len(out), longestID-number)] + "_"
		n := max(ids.next[stem], 2)
		for ; ids.taken[stem+strconv.Itoa(n)]; n++ {
		}
		ids.next[stem] = n + 1
		out = stem + strconv.Itoa(n)
	}
	ids.taken[out] = true
	return out
}

// legal is an id or a name of letters, digits, _ and -. A piece of its hash
// distinguishes what had to be changed.
func legal(text string) string {
	if text != "" && !strings.ContainsFunc(text, illegal) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if illegal(r) {
			return '_'
		}
		return r
	}, text) + "_" + hashed(text)[:8]
}

func illegal(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
