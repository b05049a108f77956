package roundtrip

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// IDs gives each call of a request or an answer an id of its own that every provider
// accepts. It does not depend on what comes after the call, so that prompt caches find it.
type IDs struct {
	taken map[string]bool
	next  map[string]int // the number to try next, by what stands before it
}

// longestID is how many bytes of an id are kept.
const longestID = 64

// Unique is the id where it is legal and no other call has it, else one made of it.
func (ids *IDs) Unique(id string) string { return ids.Distinct(legal(id), longestID) }

// Distinct is a legal id where no other call has it, else one of at most longest bytes that is
// made of it.
func (ids *IDs) Distinct(id string, longest int) string {
	if ids.taken == nil {
		ids.taken, ids.next = map[string]bool{}, map[string]int{}
	}
	if ids.taken[id] {
		stem := id[:min(len(id), longest-len("_1000000"))] + "_"
		n := max(ids.next[stem], 2)
		for ; ids.taken[stem+strconv.Itoa(n)]; n++ {
		}
		ids.next[stem] = n + 1
		id = stem + strconv.Itoa(n)
	}
	ids.taken[id] = true
	return id
}

// legal is an id of letters, digits, _ and -. A piece of its hash distinguishes what had to
// be changed.
func legal(id string) string {
	const hashed = 8
	switch {
	case id == "":
		return "toolu_made"
	case len(id) <= longestID && !strings.ContainsFunc(id, illegal):
		return id
	}
	sum := sha256.Sum256([]byte(id))
	kept := strings.Map(func(r rune) rune {
		if illegal(r) {
			return '_'
		}
		return r
	}, id[:min(len(id), longestID-1-hashed)])
	return kept + "_" + hex.EncodeToString(sum[:hashed/2])
}

func illegal(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
