package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"modelgateway/llm/roundtrip"
)

// CallIDs gives each tool call of a request an id of its own that OpenAI accepts.
// Clients bring ids of other providers, and some repeat them. The id of a call does
// not depend on what comes after it: it is the same in every later request.
type CallIDs struct{ roundtrip.IDs }

// Unique makes of a long id the one that it has where the client's bytes travel.
func (ids *CallIDs) Unique(id string) string {
	return ids.Distinct(ShortID(legal(ShortID(id))), LongestID)
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
	}, text) + "_" + Hash(text)[:8]
}

func illegal(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// LongestID is the longest id of a tool call that OpenAI accepts, in bytes.
const LongestID = 40

// ShortID shortens an id to one that OpenAI accepts; the result is the same for
// the same id.
func ShortID(id string) string {
	if len(id) <= LongestID {
		return id
	}
	return "call_" + Hash(id)[:LongestID-len("call_")]
}

// Hash is the hash of a text in hexadecimal digits, of which there are 64.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
