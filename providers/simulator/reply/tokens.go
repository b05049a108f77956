package reply

import (
	"crypto/sha256"
	"hash"
	"strings"
	"unicode"
)

// MediaTokens is what an image or a file counts.
const MediaTokens = 85

func countTokens(s string) int { return len(strings.Fields(s)) }

// Split cuts a text into its tokens: a word each, with the space before it.
// Space at the end stays with the last word.
func Split(s string) []string {
	var tokens []string
	start, inWord := 0, false
	for i, r := range s {
		space := unicode.IsSpace(r)
		if space && inWord {
			tokens = append(tokens, s[start:i])
			start = i
		}
		inWord = !space
	}
	switch {
	case inWord:
		tokens = append(tokens, s[start:])
	case len(tokens) > 0:
		tokens[len(tokens)-1] += s[start:]
	}
	return tokens
}

// A transcript counts a prompt as it is read and remembers its prefixes, which
// are the keys of a prompt cache.
type transcript struct {
	sum      hash.Hash
	tokens   int
	media    int
	prefixes []prefix
}

// A prefix is the beginning of a prompt.
type prefix struct {
	sum       [sha256.Size]byte
	tokens    int
	cacheable bool
}

// Tokens counts the prompt as far as it has been added.
func (t *transcript) Tokens() int { return t.tokens }

// MediaTokens counts the images and files among the tokens.
func (t *transcript) MediaTokens() int { return t.media }

func (t *transcript) count(role, text string) {
	t.hash(role, text)
	t.tokens += countTokens(text)
}

func (t *transcript) countMedia(data string) {
	t.hash("media", data)
	t.tokens += MediaTokens
	t.media += MediaTokens
}

func (t *transcript) hash(role, text string) {
	if t.sum == nil {
		t.sum = sha256.New()
	}
	_, _ = t.sum.Write([]byte(role + "\x00" + text + "\x00")) // a hash never fails to write
}

// EndPrefix marks the end of a prefix, and whether the cache may keep it. It
// may read any prefix.
func (t *transcript) EndPrefix(cacheable bool) {
	t.hash("end", "")
	p := prefix{tokens: t.tokens, cacheable: cacheable}
	copy(p.sum[:], t.sum.Sum(nil))
	t.prefixes = append(t.prefixes, p)
}

// CacheLastPrefix lets the cache keep the last prefix.
func (t *transcript) CacheLastPrefix() {
	if last := len(t.prefixes) - 1; last >= 0 {
		t.prefixes[last].cacheable = true
	}
}

// CacheablePrefixes counts the prefixes that the cache may keep.
func (t *transcript) CacheablePrefixes() int {
	n := 0
	for _, p := range t.prefixes {
		if p.cacheable {
			n++
		}
	}
	return n
}
